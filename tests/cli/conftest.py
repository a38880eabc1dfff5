"""What the tests of the command share: a trained run, a small corpus, and what an error looks like."""

import pytest


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run folder of a few steps on the copy task."""
    from minitransformer.cli import main

    folder = tmp_path_factory.mktemp("runs") / "copy"
    assert main(["train", "copy", "--steps", "12", "--batch", "8", "--run", str(folder)]) == 0
    return folder


@pytest.fixture
def corpus(tmp_path):
    """Forty-five aligned sentences in two files, and in one TSV."""
    colours, things = ["red", "blue", "green"], ["dog", "cat", "bird", "house", "tree"]
    farben, dinge = ["rot", "blau", "grün"], ["hund", "katze", "vogel", "haus", "baum"]
    pairs = [(f"the {thing} is {colour} and {other} .", f"{ding} ist {farbe} und {andere} .")
             for thing, ding in zip(things, dinge) for colour, farbe in zip(colours, farben)
             for other, andere in zip(colours, farben)]
    (tmp_path / "en").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    (tmp_path / "de").write_text("".join(f"{target}\n" for _, target in pairs), encoding="utf-8")
    (tmp_path / "tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return tmp_path


def one_line(error):
    """The error is one line without a traceback."""
    assert error.endswith("\n") and error.count("\n") == 1 and "Traceback" not in error
    return True
