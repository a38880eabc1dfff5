"""The times of a chapter's cells, in its page and installed."""

from types import SimpleNamespace

import pytest

from minitransformer.errors import InputError
from research.benchmarks import pages
from tests.helpers import in_node

TEXT = """# %%
x = 1

# %% exercise
# %% [derivation]
# words

# %% [derivation] code
x += 1

# %% [markdown]
# words

# %%
assert x == 2
"""
CHAPTER = SimpleNamespace(
    name="one", exercises=[], text=TEXT.replace("# %% exercise", "# %% [exercise] two")
)


@pytest.fixture
def asked(monkeypatch):
    """What the page is asked; each answer takes 22 seconds, and a cell with `wrong` fails."""
    found = []

    class Page:
        seconds = 22.0

        def __init__(self, *_given):
            pass

        __enter__, __exit__ = lambda self: self, lambda *_given: None

        def call(self, name, *given, seconds=0):
            found.append((name, *given))
            return {"line": "wrong" in str(given), "printed": "Traceback"}

    for name, value in {"PageInNode": Page, "engine": lambda: True, "node": lambda: "node"}.items():
        monkeypatch.setattr(in_node, name, value)
    return found


def test_each_cell_runs_once_in_the_page_and_once_here_with_its_number_on_the_page(asked, tmp_path):
    found = pages.measured(CHAPTER, tmp_path)
    assert found["installed"] < 1 and [found[one] for one in ("cells", "page")] == [3, 66.0]
    assert found["long"] == {1: 22, 3: 22, 4: 22}
    assert asked[0] == ("begin", "en", []) and asked[2] == ("run", "3", "x += 1")


def test_a_cell_that_fails_is_named_and_what_is_missing_too(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "LONG", 22.0)
    assert pages.measured(CHAPTER, tmp_path)["long"] == {}
    wrong = SimpleNamespace(name="one", exercises=[], text="# %%\nwrong = 1\n")
    with pytest.raises(InputError, match="cell 1 of one fails: Traceback"):
        pages.measured(wrong, tmp_path)
    monkeypatch.setattr(in_node, "node", lambda: None)
    with pytest.raises(InputError, match="needs node"):
        pages.measured(wrong, tmp_path)
