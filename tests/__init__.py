"""Tests of the library, the zoo and the course; beside them, of what the repository says and measures."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
