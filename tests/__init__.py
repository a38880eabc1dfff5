"""Tests of the library, the zoo and the course; beside them, of what the repository says and
measures.
"""

from pathlib import Path

ROOT = Path(__file__).parents[1]


def campaign_but(names, *kept):
    """Parameters of a test: README's command tries those kept, the campaigns all others."""
    import pytest

    return [
        name if name in kept else pytest.param(name, marks=pytest.mark.campaign) for name in names
    ]
