"""minitransformer data: what it prints, where, and its exit code. The download itself is tested in
tests/library/data.
"""

import shlex

import pytest

from minitransformer.cli.parser import make_parser
from minitransformer.data.parallel import read_pairs
from minitransformer.data.registry import CORPORA
from minitransformer.tasks import TASKS
from tests.helpers.small_corpus import FILES


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_line_for_each_file_then_what_to_do_next(run_cli, server):
    code, out, error = run_cli("data small")
    assert code == 0 and error.splitlines() == [f"{name}: downloaded" for name in FILES]
    where, terms, following = out.splitlines()
    assert where == "small: intact, in data/small" and terms == "Terms: none."
    words = shlex.split(following.partition(": ")[2])
    args = make_parser(words[1:]).parse_args(words[1:])
    assert words[0] == "minitransformer" and read_pairs(args.train) == read_pairs(args.valid) == [
        ("a dog .", "a dog .")
    ]


@pytest.mark.parametrize(
    "corpus, task",
    [("tinyshakespeare", "language"), ("sst2", "classify"), ("multi30k", "translate")],
)
def test_the_line_that_trains_on_it_is_one_of_its_task(run_cli, monkeypatch, corpus, task):
    """Whatever the folder's name; only the download itself is skipped."""
    monkeypatch.setattr("minitransformer.cli.data.download", lambda *_: None)
    code, out, _ = run_cli("data", corpus, "--folder", "my data")
    where, _, following = out.splitlines()
    words = shlex.split(following.partition(": ")[2])
    args = make_parser(words[1:]).parse_args(words[1:])
    known = CORPORA[corpus]
    assert code == 0 and f"{corpus}: intact, in my data" == where and args.task == task
    assert (args.train, args.valid) == tuple(
        [f"my data/{name}" for name in names] for names in (known.train, known.valid)
    )
    assert getattr(args, "preset", None) == (corpus if corpus in TASKS[task].presets else None)


def test_a_corpus_without_a_split_is_trained_on(run_cli, server):
    """The printed line, unchanged."""
    code, out, error = run_cli("data poem")
    assert code == 0 and "poem: intact, in data/poem" in out
    assert error.splitlines() == [
        "poem.txt: downloaded",
        "train.txt: split off",
        "valid.txt: split off",
    ]
    words = shlex.split(out.splitlines()[-1].partition(": ")[2])
    code, out, error = run_cli(*words[1:], "--steps", 1, "--window", 8, "--config", "toy")
    assert code == 0 and "saved in runs/poem" in out, error


def test_folder(run_cli, server, tmp_path):
    code, out, _ = run_cli("data small --folder", "my data")
    assert code == 0 and "intact, in my data" in out and "--train 'my data/tok/train.en' " in out
    code, _, error = run_cli("data small --folder", tmp_path / "my data")
    assert code == 0 and error.splitlines() == [f"{name}: already there" for name in FILES]


def test_what_fails_is_one_line_and_2(refused, server):
    server.files.clear()
    assert "the server answered 404 Not Found" in refused("data small")


def test_ctrl_c_leaves_no_half_file(run_cli, server, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(
        "pooch.core.hash_matches", interrupt
    )  # the file is there, under another name
    code, _, error = run_cli("data small")
    assert code == 130 and error == "minitransformer: interrupted\n"
    assert server.asked and not [path for path in tmp_path.rglob("*") if path.is_file()]
