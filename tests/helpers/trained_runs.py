"""Shared by the tests of the command: trained runs, which no test changes, a small corpus, and the
form of an error.
"""

import io
import sys

import pytest

from tests.helpers.command import few_examples, train, write_corpus, one_line, QUICK, SENTIMENTS


@pytest.fixture(autouse=True)
def quick():
    with few_examples():
        yield


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A run folder of a few steps on the copy task."""
    folder = tmp_path_factory.mktemp("runs") / "copy"
    train("copy --steps 12 --batch 8 --run", folder)
    return folder


@pytest.fixture(scope="session")
def numbers_run(tmp_path_factory):
    """A run folder of three steps on Korean number words."""
    folder = tmp_path_factory.mktemp("runs") / "numbers"
    train("numbers --language korean --steps 3 --batch 4 --run", folder, curves=True)
    return folder


@pytest.fixture
def corpus(tmp_path):
    """Forty-five aligned sentences in two files, and in one TSV."""
    return write_corpus(tmp_path)


@pytest.fixture(scope="session")
def text_run(tmp_path_factory):
    """A run folder of 12 steps on that text, with dropout everywhere, and an average."""
    folder = write_corpus(tmp_path_factory.mktemp("text"))
    text, run = folder / "tsv", folder / "run"
    train(
        "translate --config toy --steps 12 --batch 400 --max-length 60 --vocab-size 90 "
        "--warmup 4 --validate-every 4 --dropout 0.1 --embedding-dropout 0.2 "
        "--attention-dropout 0.15 --feed-forward-dropout 0.05 --schedule inverse-sqrt "
        "--peak-rate 0.01 --average 2 --accumulate 2 --train",
        text,
        "--valid",
        text,
        "--run",
        run,
    )
    return run


@pytest.fixture(scope="session")
def language_run(tmp_path_factory):
    """A run folder of 60 steps on the characters of that English text, with 16 learned positions,
    beside the text.
    """
    folder = write_corpus(tmp_path_factory.mktemp("language"))
    text = (folder / "en").read_text()
    (folder / "valid").write_text(text[107:400])  # 293 characters: the last window is not full
    train(
        "language --steps 60 --validate-every 40 --window 16 --batch 8 --positions "
        "learned --peak-rate 0.02 --train",
        folder / "en",
        "--valid",
        folder / "valid",
        *QUICK,
        "--run",
        folder / "run",
        curves=True,
    )
    return folder / "run"


@pytest.fixture(scope="session")
def subword_run(tmp_path_factory):
    """The same for 10 steps on subwords, with 12 learned positions."""
    folder = write_corpus(tmp_path_factory.mktemp("subwords"))
    train(
        "language --steps 10 --vocabulary subwords --vocab-size 60 --window 12 --batch "
        "4 --positions learned --train",
        folder / "en",
        "--valid",
        folder / "en",
        *QUICK,
        "--run",
        folder / "run",
        curves=True,
    )
    return folder / "run"


@pytest.fixture(scope="session")
def classify_run(tmp_path_factory):
    """A run folder of 80 steps on sentences of three classes, beside train.tsv and valid.tsv, of
    which 5, 3 and 2.
    """
    folder = tmp_path_factory.mktemp("classify")
    words = [f"{a}{b}" for a in "xyz" for b in "uvw"]
    lines = [
        f"{sentence.format(word)}\t{label}\n"
        for word in words
        for label, sentence in SENTIMENTS.items()
    ]
    (folder / "train.tsv").write_text("sentence\tlabel\n" + "".join(lines), encoding="utf-8")
    valid = [
        f"{SENTIMENTS[label].format(word)}\t{label}\n"
        for label, count in zip(SENTIMENTS, (3, 5, 2))
        for word in words[:count]
    ]
    (folder / "valid.tsv").write_text("".join(valid), encoding="utf-8")
    train(
        "classify --steps 80 --validate-every 60 --vocab-size 60 --max-length 20 "
        "--batch 200 --dropout 0 --peak-rate 0.01 --train",
        folder / "train.tsv",
        "--valid",
        folder / "valid.tsv",
        *QUICK,
        "--run",
        folder / "run",
    )
    return folder / "run"


@pytest.fixture
def refused(run_cli, capsys):
    """refused(words, *arguments) -> what the command says that refuses them: one line, exit code 2,
    and no output.
    """

    def run(*arguments):
        capsys.readouterr()  # what was printed before
        code, out, error = run_cli(*arguments)
        assert code == 2 and not out and one_line(error), (arguments, code, out, error)
        return error

    return run


@pytest.fixture
def typed(monkeypatch):
    """typed(data): what standard input then gives; None if it is closed."""
    return lambda data: monkeypatch.setattr(
        sys, "stdin", None if data is None else io.TextIOWrapper(io.BytesIO(data))
    )


@pytest.fixture
def runs(trained, text_run, language_run, subword_run, classify_run):
    """{name: run folder}: one of each kind."""
    return {
        "copy": trained,
        "translate": text_run,
        "language": language_run,
        "subwords": subword_run,
        "classify": classify_run,
    }
