"""Shared by the tests of the command: a trained run, a small corpus, and the form of an error."""

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


QUICK = ["--config", "toy", "--d-model", "16", "--num-heads", "2", "--d-ff", "32", "--warmup", "4", "--threads", "1"]


@pytest.fixture(scope="session")
def language_run(tmp_path_factory):
    """A run folder of 60 steps on the characters of that English text, with 16 learned positions, beside the text."""
    from minitransformer.cli import main

    folder = write_corpus(tmp_path_factory.mktemp("language"))
    text = (folder / "en").read_text()
    (folder / "valid").write_text(text[107:400])    # 293 characters: the last window is not full
    assert main(["train", "language", "--train", str(folder / "en"), "--valid", str(folder / "valid"), *QUICK, "--steps", "60",
                 "--window", "16", "--batch", "8", "--positions", "learned", "--peak-rate", "0.02",
                 "--run", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture(scope="session")
def subword_run(tmp_path_factory):
    """The same for 10 steps on subwords, with 12 learned positions."""
    from minitransformer.cli import main

    folder = write_corpus(tmp_path_factory.mktemp("subwords"))
    assert main(["train", "language", "--train", str(folder / "en"), "--valid", str(folder / "en"), *QUICK, "--steps", "10",
                 "--vocabulary", "subwords", "--vocab-size", "60", "--window", "12", "--batch", "4",
                 "--positions", "learned", "--run", str(folder / "run")]) == 0
    return folder / "run"


SENTIMENTS = {"very good": "a fine good film {}", "0": "a dull bad film {}", "시시하다": "{} is just a film"}    # {label: sentence}


@pytest.fixture(scope="session")
def classify_run(tmp_path_factory):
    """A run folder of 80 steps on sentences of three classes, beside train.tsv and valid.tsv, of which 5, 3 and 2."""
    from minitransformer.cli import main

    folder = tmp_path_factory.mktemp("classify")
    words = [f"{a}{b}" for a in "xyz" for b in "uvw"]
    lines = [f"{sentence.format(word)}\t{label}\n" for word in words for label, sentence in SENTIMENTS.items()]
    (folder / "train.tsv").write_text("sentence\tlabel\n" + "".join(lines), encoding="utf-8")
    valid = [f"{SENTIMENTS[label].format(word)}\t{label}\n" for label, count in zip(SENTIMENTS, (3, 5, 2))
             for word in words[:count]]
    (folder / "valid.tsv").write_text("".join(valid), encoding="utf-8")
    assert main(["train", "classify", "--train", str(folder / "train.tsv"), "--valid", str(folder / "valid.tsv"), *QUICK,
                 "--steps", "80", "--vocab-size", "60", "--max-length", "20", "--batch", "200", "--dropout", "0",
                 "--peak-rate", "0.01", "--run", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture(scope="session")
def brackets_run(tmp_path_factory):
    """A run folder of a few steps on the task brackets."""
    from minitransformer.cli import main

    run = tmp_path_factory.mktemp("brackets") / "run"
    assert main(["train", "brackets", "--steps", "10", "--batch", "8", *QUICK, "--run", str(run)]) == 0
    return run


@pytest.fixture
def runs(trained, text_run, language_run, subword_run, classify_run, brackets_run):
    """{name: run folder}: one of each kind."""
    return {"copy": trained, "translate": text_run, "language": language_run, "subwords": subword_run,
            "classify": classify_run, "brackets": brackets_run}


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
