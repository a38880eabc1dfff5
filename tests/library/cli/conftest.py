"""Trained runs, which no test changes, small corpora, and the form of an error."""

from tests.helpers.trained_runs import *  # noqa: F403 - fixtures
