"""The zoo's commands are tested with the same small corpora and runs as the library's."""

from tests.helpers.trained_runs import *  # noqa: F403 - fixtures
