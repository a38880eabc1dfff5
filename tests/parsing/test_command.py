"""python -m research.experiments.parsing: training, the search, the score of a run, and the
treebank.
"""

import gzip
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from hashlib import sha256

import pytest

from research.experiments.parsing.brackets import build_tree, linearise
from research.experiments.parsing.task import Parse
from research.experiments.parsing.treebank import read_trees, split_treebank
from minitransformer.cli.parser import make_parser
from minitransformer.data.registry import CORPORA
from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.decoding import decode_all
from minitransformer.files import write_manifest
from minitransformer.tasks import TASKS
from tests import ROOT
from tests.helpers.command import few_examples, one_line
from tests.helpers.decoding import random_model
from tests.helpers.models import make_model
from tests.helpers.documents import commands

FIXTURES = ROOT / "tests" / "fixtures"
SCORES = {
    "f1": 100,
    "precision": 100,
    "recall": 100,
    "f1_of_trees": 100,
    "complete": 8,
    "well_formed": 8,
    "sentences": 8,
    "perplexity": 1.026147,
}  # of fixtures/parsing/run, which was trained when the task was a part of the package


@pytest.mark.parametrize(
    "model, lengths",
    [
        (random_model(0), [305, 301, 304]),
        (make_model("lstm-attention"), [305, 301, 304]),
        (random_model(0, positions="learned", max_length=200), [199, 199, 199]),
    ],
)  # EOS needs the last of them
def test_a_tree_may_have_300_symbols_more_than_its_sentence_has_words(model, lengths):
    """A model that never ends writes as many."""
    found = decode_all(model, [[3, 4, 5, 6, 7], [8], [5, 5, 8, 3]], replace(Parse.search, beam=1))
    assert [len(best.ids) for best, *_ in found] == lengths


@pytest.fixture
def parsing(run_cli):
    """run_cli with what `python -m research.experiments.parsing` adds to the tables."""
    tables = TASKS, VOCABULARIES, CORPORA
    before = [set(table) for table in tables]
    runpy.run_module("research.experiments.parsing.__main__")
    with few_examples():
        yield run_cli
    for table, kept in zip(tables, before):
        for name in set(table) - kept:
            del table[name]


@pytest.fixture
def old(tmp_path, monkeypatch):
    """The current folder has an old run and its trees."""
    shutil.copytree(FIXTURES / "parsing", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


TRAIN = (
    "train parse --train trees.txt --valid trees.txt --config toy --steps 4 --warmup 1"
).split()


@pytest.mark.slow
def test_the_command(old, run_cli):
    """Of the clone; the command of the package alone does not know the task."""

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "research.experiments.parsing", *arguments],
            capture_output=True,
            text=True,
            cwd=old,
            env={**os.environ, "PYTHONPATH": str(ROOT), "MINITRANSFORMER_FAST": "0"},
        )

    done = run("evaluate", "run", "--beam", "1", "--json")
    assert done.returncode == 0 and json.loads(done.stdout).keys() == SCORES.keys(), done.stderr
    done = run("evaluate", "no/such/run")
    assert done.returncode == 2 and "no run here" in done.stderr and one_line(done.stderr)
    code, out, error = run_cli("evaluate run")
    assert (
        code == 2
        and not out
        and one_line(error)
        and "run: the run cannot be read: unknown task 'parse'; choose from " in error
    )


@pytest.mark.slow
def test_an_old_run(parsing, old):
    """It is measured as it was, and writes brackets."""
    code, out, _ = parsing("evaluate", "run", "--beam", 1, "--json")
    assert (
        code == 0
        and json.loads(out) == pytest.approx(SCORES, rel=1e-4)
        and list(json.loads(out)) == list(SCORES)
    )
    code, out, error = parsing("translate", "run", "the dog liked a tree .")
    assert code == 0 and out == "(S (NP XX XX )NP (VP XX (NP XX XX )NP )VP XX )S\n" and not error


@pytest.mark.slow
def test_punctuation_is_known_from_the_gold_tags(parsing, old):
    """Where the full stop belongs is no mistake, although an output has no tags of its own; a word
    there is one.
    """
    tree = "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT a) (NN tree)){}){})"
    for places, f1 in (((" (. .)", ""), 100), ((" (NN .)", ""), 75)):
        (old / "test").write_text(tree.format(*places))
        assert json.loads(parsing("evaluate", "run", "--test", "test", "--json")[1])["f1"] == f1


@pytest.mark.slow
def test_a_label_that_training_did_not_know_is_missed_and_named(parsing, old):
    (old / "test").write_text("\n(S (NP (DT the) (NN cat)) (WHADJP (VBD saw)) (. .))\n")
    code, out, error = parsing("evaluate", "run", "--test", "test", "--json")
    scores = json.loads(out)
    assert (
        code == 0
        and scores["sentences"] == 1
        and scores["recall"] < 100
        and scores["complete"] == 0
    )
    assert (
        error
        == "test: no training tree has the label WHADJP; its probability is measured as that of X\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "options, shown",
    [(["--tags"], "(S (NP DT NN )NP"), (["--model", "lstm-attention"], "(S (NP XX XX )NP")],
)
def test_train_resume_and_the_report(parsing, old, options, shown):
    code, _, error = parsing(*TRAIN, *options, "--validate-every", 2, "--run", "new")
    assert code == 0 and shown in (old / "new" / "report.html").read_text(), error
    shutil.rmtree(old / "new" / "checkpoints" / "step-00000004")
    (old / "new" / "weights.safetensors").unlink()
    write_manifest(old / "new", ["config.json", "vocabulary.json"])
    code, _, error = parsing("train", "--resume", "new")
    assert code == 0 and "resuming after step 2" in error
    last = json.loads((old / "new" / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["step"] == 4 and last["valid_well_formed"] == last["valid_f1"] == 0


@pytest.mark.slow
def test_sentences_that_are_too_long_are_left_out(parsing, old):
    (old / "trees.txt").write_text(
        (old / "trees.txt").read_text() + "(S (NP (DT the) (NN cat)) (VP (VBD saw)) (. .))"
    )
    code, _, error = parsing(*TRAIN, "--max-length", 5, "--steps", 1, "--run", "new")
    assert (
        code == 0 and "trees.txt: 8 sentences of more than 5 words left out (--max-length)" in error
    )
    code, out, error = parsing(*TRAIN, "--max-length", 2, "--steps", 1, "--run", "no")
    assert (
        code == 2
        and "no sentence of at most 2 words; train with a larger --max-length" in error
        and one_line(error)
    )
    assert not out and not (old / "no").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options, words",
    [
        (("evaluate", "run", "--tokenize", "none"), "which does not use --tokenize"),
        (("evaluate", "run", "--max-length", 9), "which does not use --max-length"),
        (
            ("evaluate", "run", "--test", "a", "b"),
            "--test names 2 files, expected one file of trees",
        ),
        (("evaluate", "run", "--test", "text"), "text, line 1: 'no' stands outside all brackets"),
        (
            ("generate", "run", "a"),
            "was trained on the task parse: use minitransformer translate instead",
        ),
        ((*TRAIN, "--train", "text"), "text, line 1: 'no' stands outside all brackets"),
        ((*TRAIN, "--valid", "empty"), "empty: empty, expected text"),
        ((*TRAIN, "--tag", "no"), "unrecognized arguments"),
        (("parse", "run", "a"), "parse is a task: minitransformer train parse"),
    ],
)
def test_what_means_nothing(parsing, old, options, words):
    (old / "text").write_text("no trees here")
    (old / "empty").touch()
    code, out, error = parsing(*options)
    assert code == 2 and not out and words in error and one_line(error)


def as_nltk_has_them(trees, files):
    """treebank.zip: trees, one a line, as wsj_0001.mrg and so on with their brackets on several
    lines, and other files.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("treebank/README", "( (S (NN readme)) )")
        archive.writestr("treebank/raw/wsj_0001", "raw")
        for i in reversed(range(files)):
            part = trees[i * len(trees) // files : (i + 1) * len(trees) // files]
            text = "".join(
                f"\n{tree[:-1]} )\n".replace(" (VP", "\n    (VP").replace(") (", ")\n  (")
                for tree in part
            )
            archive.writestr(f"treebank/combined/wsj_{i + 1:04}.mrg", text)
    return packed.getvalue()


def test_the_treebank_is_downloaded_and_split(parsing, server, tmp_path, monkeypatch):
    """In the order of the files' names, one reduced tree a line; 80, 10 and 10 %. The printed line
    is accepted.
    """
    monkeypatch.chdir(tmp_path)
    trees = [f"( (S (NP-SBJ (NN w{i})) (VP (VBZ is) (NP (-NONE- *))) (. .)))" for i in range(27)]
    packed = server.files["treebank.zip"] = as_nltk_has_them(trees, 4)
    CORPORA["ptb"] = CORPORA["ptb"]._replace(
        base=server.address, sha256={"treebank.zip": sha256(packed).hexdigest()}
    )
    code, out, error = parsing("data", "ptb")
    assert (
        code == 0
        and "non-commercial use only" in out
        and error.splitlines()
        == [
            "treebank.zip: downloaded",
            *(f"{name}.trees: split off" for name in ("train", "valid", "test")),
        ]
    )
    parts = [
        (tmp_path / "data" / "ptb" / f"{name}.trees").read_text().splitlines()
        for name in ("train", "valid", "test")
    ]
    assert list(map(len, parts)) == [21, 3, 3]
    assert [tree for part in parts for tree in part] == [
        f"(S (NP (NN w{i})) (VP (VBZ is)) (. .))" for i in range(27)
    ]
    words = out.splitlines()[-1].partition("minitransformer ")[2].split()
    args = make_parser(words).parse_args(words)
    assert args.task == "parse" and args.preset == "ptb" and args.valid == ["data/ptb/valid.trees"]


def test_the_commands_of_the_page_are_accepted(parsing):
    found = [
        words[3:]
        for words in commands(ROOT / "research" / "experiments" / "parsing.md")
        if words[2] == "research.experiments.parsing"
    ]
    assert len(found) > 4 and {words[0] for words in found} == {
        "data",
        "train",
        "evaluate",
        "translate",
    }
    for words in found:
        make_parser(words).parse_args(words)


@pytest.mark.campaign
def test_a_parser_learns_from_the_treebank(multi30k, parsing, tmp_path):
    """All its trees go to brackets and back; sixty small updates know what often follows what, 3
    equally likely symbols.
    """
    path = multi30k.with_name("ptb-sample") / "trees.txt.gz"
    if not path.is_file():
        pytest.skip(f"{path} does not exist: no real data here")
    trees, lines = read_trees(path), gzip.decompress(path.read_bytes()).decode().splitlines()
    assert len(trees) == 3914 and sum(len(tree.words) for tree in trees) == 94_084
    assert all(build_tree(linearise(tree), tree.words, tree.tags) == tree for tree in trees)
    parts = {
        name: data.decode().splitlines()
        for name, data in split_treebank(as_nltk_has_them(lines, 199)).items()
    }
    assert [tree for part in parts.values() for tree in part] == [*map(str, trees)]
    assert [len(part) for part in parts.values()] == [3131, 391, 392]
    short = [line for line in parts["valid.trees"] if line.count(" ") < 40][:30]
    for name, part in (("train", parts["train.trees"][:600]), ("valid", short)):
        (tmp_path / name).write_text("\n".join(part))
    code, _, error = parsing(
        "train",
        "parse",
        "--train",
        tmp_path / "train",
        "--valid",
        tmp_path / "valid",
        "--config",
        "toy",
        "--run",
        tmp_path / "run",
        "--steps",
        60,
        "--warmup",
        20,
        "--batch",
        1024,
    )
    assert code == 0, error
    scores = json.loads(parsing("evaluate", tmp_path / "run", "--beam", 1, "--json")[1])
    assert (
        scores["sentences"] == 30
        and 1.5 < scores["perplexity"] < 5
        and 0 <= scores["well_formed"] <= 30
    )
