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
    return write_corpus(tmp_path)


@pytest.fixture(scope="module")
def text_run(tmp_path_factory):
    """A run folder of 12 steps on that text, with dropout everywhere, and an average."""
    from minitransformer.cli import main

    folder = write_corpus(tmp_path_factory.mktemp("text"))
    text, run = str(folder / "tsv"), folder / "run"
    assert main(["train", "translate", "--train", text, "--valid", text, "--run", str(run), "--config", "toy", "--steps", "12",
                 "--batch", "400", "--max-length", "60", "--vocab-size", "90", "--warmup", "4", "--validate-every", "4",
                 "--dropout", "0.1", "--embedding-dropout", "0.2", "--attention-dropout", "0.15", "--feed-forward-dropout",
                 "0.05", "--schedule", "inverse-sqrt", "--peak-rate", "0.01", "--average", "2",
                 "--accumulate", "2"]) == 0
    return run


def write_corpus(folder):
    colours, things = ["red", "blue", "green"], ["dog", "cat", "bird", "house", "tree"]
    farben, dinge = ["rot", "blau", "grün"], ["hund", "katze", "vogel", "haus", "baum"]
    pairs = [(f"the {thing} is {colour} and {other} .", f"{ding} ist {farbe} und {andere} .")
             for thing, ding in zip(things, dinge) for colour, farbe in zip(colours, farben)
             for other, andere in zip(colours, farben)]
    (folder / "en").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    (folder / "de").write_text("".join(f"{target}\n" for _, target in pairs), encoding="utf-8")
    (folder / "tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return folder


def one_line(error):
    """The error is one line without a traceback."""
    assert error.endswith("\n") and error.count("\n") == 1 and "Traceback" not in error
    return True
