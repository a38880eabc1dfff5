"""A file of trees, and what is read from it."""

import pytest

from research.experiments.parsing.treebank import read_trees


@pytest.fixture
def read(tmp_path):
    def read(text):
        (tmp_path / "a.trees").write_text(text, encoding="utf-8")
        return read_trees(tmp_path / "a.trees")

    return read
