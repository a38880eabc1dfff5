"""The zoo's commands are tested with the same small corpora and runs as the library's."""

from tests.library.cli.conftest import *  # noqa: F403 - fixtures
