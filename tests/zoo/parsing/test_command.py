"""A parser by the command: train, evaluate, parse, the report; and files that are not trees."""

import io
import json
import re
import sys

import matplotlib.image
import pytest

from minitransformer import Run
from minitransformer.zoo.parsing.task import Parse
from minitransformer.zoo.parsing.brackets import NotATree
from minitransformer.zoo.parsing.treebank import read_trees
from tests.library.cli.conftest import QUICK, one_line

pytestmark = pytest.mark.slow

NOUNS, VERBS = ["cat", "dog", "bird", "man", "tree"], ["saw", "liked", "heard"]
DRAWING = "S\n├─ NP  the cat\n├─ VP\n│  ├─ saw\n│  └─ NP  a dog\n└─ .\n"


def write_trees(folder):
    """train.trees and valid.trees: forty sentences, of which eight are held out, with a function tag and a trace."""
    lines = [f"( (S (NP-SBJ (DT the) (NN {noun})) (VP (VBD {verb}) {rest}) (. .)) )\n" for noun in NOUNS for verb in VERBS
             for rest in ("(NP (DT a) (NN dog))", "(S (NP (-NONE- *)))", "(PP (IN at) (NP (DT a) (NN tree)))")][:40]
    (folder / "train.trees").write_text("".join(lines[:4] + lines[8:20] + lines[24:]))
    (folder / "valid.trees").write_text("".join(lines[4:8] + lines[20:24]))
    return folder


def train(folder, *options):
    return ["train", "parse", "--train", str(folder / "train.trees"), "--valid", str(folder / "valid.trees"), *QUICK,
            "--peak-rate", "0.01", "--dropout", "0", "--batch", "300", *map(str, options)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run folder of 150 steps, beside its trees."""
    from minitransformer.cli import main

    folder = write_trees(tmp_path_factory.mktemp("parse"))
    assert main([*train(folder), "--steps", "150", "--run", str(folder / "run")]) == 0
    return folder / "run"


def lines_of(monkeypatch, *lines):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))


def test_it_learns_and_is_measured(run_cli, run):
    code, out, _ = run_cli("evaluate", run, "--json")
    scores = json.loads(out)
    assert code == 0 and list(scores) == ["f1", "precision", "recall", "f1_of_trees", "complete", "well_formed", "sentences",
                                          "perplexity"]
    assert scores["f1"] > 80 and scores["sentences"] == 8 and 1 < scores["perplexity"] < 1.5
    golds = [tree for _, tree in read_trees(run.parent / "valid.trees")]
    loaded = Run.load(run)
    found = loaded.task.trees(loaded, [" ".join(tree.words) for tree in golds])
    well_formed = [not isinstance(tree, NotATree) for tree in found]
    assert scores["well_formed"] == sum(well_formed)
    assert scores["complete"] == sum(isinstance(tree, tuple) and bare(tree) == bare(gold) for tree, gold in zip(found, golds))
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["valid_perplexity"] == pytest.approx(scores["perplexity"], rel=1e-5) and 0 < last["valid_well_formed"] <= 1


def bare(tree):
    """The brackets of a tree without its tags."""
    return re.sub(r"\(\S+ ([^ ()]+)\)", r"\1", str(tree))


def test_punctuation_is_known_from_the_gold_tags(run_cli, run, tmp_path):
    """Where the full stop belongs is no mistake, although an output has no tags of its own."""
    tree = "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT a) (NN dog)){}){})"
    assert run_cli("parse", run, "the cat saw a dog .")[1] == DRAWING
    for places, f1 in (((" (. .)", ""), 100), ((" (NN .)", ""), 75)):
        (tmp_path / "test").write_text(tree.format(*places))
        assert json.loads(run_cli("evaluate", run, "--test", tmp_path / "test", "--json")[1])["f1"] == f1


def test_parse_draws(run_cli, run, monkeypatch):
    code, out, error = run_cli("parse", run, "the cat saw a dog .")
    assert code == 0 and out == DRAWING and not error
    lines_of(monkeypatch, "the cat saw a dog .", "", "the cat saw .")
    code, out, _ = run_cli("parse", run, "--brackets")
    first, second, third = out.splitlines()
    assert first == "(S (NP (XX the) (XX cat)) (VP (XX saw) (NP (XX a) (XX dog))) (XX .))" and not second
    assert code == 0 and third == "(S (NP (XX the) (XX cat)) (VP (XX saw)) (XX .))"
    assert Run.load(run).answer(["the cat saw a dog .", " "]) == [first, ""]


def test_what_is_not_a_tree_is_said(run_cli, run, monkeypatch):
    """Sentences unlike all in training, with words that it never saw; nothing crashes, and each line has its place."""
    lines = ["tree " * 9, "the cat saw a dog .", "漢字 (S XX )NP"]
    lines_of(monkeypatch, *lines)
    code, out, error = run_cli("parse", run, "--brackets")
    shown = out.split("\n")[:-1]
    assert code == 0 and len(shown) == 3 and shown[1].startswith("(S ")
    found = Run.load(run).answer(lines)
    bad = [number for number, answer in enumerate(found, 1) if answer.startswith("not a tree: ")]
    assert bad and [line for line in shown if not line] == [""] * len(bad)
    assert re.fullmatch("".join(f"line {number}: the output is not a tree: .+\n" for number in bad), error)


def test_a_long_sentence_is_cut_and_named(run_cli, run, tmp_path):
    """It is no tree of its sentence then."""
    code, out, error = run_cli("parse", run, "the " * 257)
    assert code == 0 and out == "\n"
    assert error.splitlines()[0] == "line 1 has 257 tokens: only the first 256 are read (max_length in training)"
    assert "line 1: the output is not a tree: " in error.splitlines()[1]


def test_evaluate_another_file(run_cli, run, tmp_path):
    """Of one tree, with a label that training did not know: it is missed, and its line is named."""
    (tmp_path / "test").write_text("\n(S (NP (DT the) (NN cat)) (WHADJP (VBD saw)) (. .))\n")
    code, out, error = run_cli("evaluate", run, "--test", tmp_path / "test", "--json")
    scores = json.loads(out)
    assert code == 0 and scores["sentences"] == 1 and scores["recall"] < 100 and scores["complete"] == 0
    assert error == (f"{tmp_path / 'test'}, line 2: no training tree has the label WHADJP; its probability is measured as that "
                     "of X\n")
    code, out, _ = run_cli("evaluate", run, "--beam", 1, "--length-penalty", 0)
    assert code == 0 and out.startswith("f1: ")


def test_resume_attention_and_the_report(run_cli, run, tmp_path):
    assert run_cli("train", "--resume", run)[0] == 0
    report = (run / "report.html").read_text()
    assert "(S (NP (XX the) (XX" in report and "f1" in report
    code, _, error = run_cli("attention", run, "the cat saw a dog .", "--output", tmp_path / "a.png")
    assert code == 0 and not error and matplotlib.image.imread(tmp_path / "a.png").std() > 0.01


def test_with_tags(run_cli, tmp_path):
    """The model tags the words, too; brackets alone decide its score."""
    write_trees(tmp_path)
    code, _, error = run_cli(*train(tmp_path, "--tags", "--steps", 150, "--run", tmp_path / "run"))
    assert code == 0, error
    code, out, _ = run_cli("parse", tmp_path / "run", "the cat saw a dog .", "--brackets")
    assert code == 0 and out == "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT a) (NN dog))) (. .))\n"
    assert run_cli("parse", tmp_path / "run", "the cat saw a dog .")[1] == DRAWING
    assert json.loads(run_cli("evaluate", tmp_path / "run", "--json")[1])["f1"] > 80
    assert "(S (NP (DT the) (NN" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("model", [
    model if model == "lstm-attention" else pytest.param(model, marks=pytest.mark.campaign)
    for model in Parse.models if model != "transformer"])
def test_another_model(run_cli, tmp_path, model):
    """It has logits for brackets only."""
    write_trees(tmp_path)
    code, _, error = run_cli("train", "parse", "--model", model, "--config", "toy", "--steps", 2, "--run", tmp_path / "run",
                             "--train", tmp_path / "train.trees", "--valid", tmp_path / "valid.trees")
    assert code == 0, error
    loaded = Run.load(tmp_path / "run")
    assert loaded.model.config.target_vocab == loaded.vocabulary.target_size < loaded.model.config.source_vocab
    assert run_cli("evaluate", tmp_path / "run")[0] == run_cli("parse", tmp_path / "run", "the cat")[0] == 0


def test_one_tree_only(run_cli, tmp_path):
    for name in ("train.trees", "valid.trees"):
        (tmp_path / name).write_text("(NN cat)")
    code, _, error = run_cli(*train(tmp_path, "--steps", 2, "--run", tmp_path / "run"))
    assert code == 0, error
    code, out, _ = run_cli("evaluate", tmp_path / "run", "--json")
    assert code == 0 and json.loads(out)["sentences"] == 1


def test_sentences_that_are_too_long_are_left_out(run_cli, tmp_path):
    write_trees(tmp_path)
    code, _, error = run_cli(*train(tmp_path, "--max-length", 5, "--steps", 1, "--run", tmp_path / "run"))
    assert code == 0 and re.search(r"train.trees: \d+ sentences of more than 5 words left out \(--max-length\)", error)
    code, out, error = run_cli(*train(tmp_path, "--max-length", 2, "--steps", 1, "--run", tmp_path / "no"))
    assert code == 2 and "no sentence of at most 2 words; train with a larger --max-length" in error and one_line(error)
    assert not out and not (tmp_path / "no").exists()


@pytest.mark.parametrize("text, words", [
    ("", "empty, expected text"), ("no trees here", "line 1: 'no' stands outside all brackets"),
    ("(S (NN a))\n(S (NN b)", "line 2: the tree that begins here lacks 1 closing bracket"),
    ("(NN a))", "line 1: a closing bracket without its opening one"),
])
@pytest.mark.parametrize("name", ["train.trees", "valid.trees"])
def test_files_that_are_not_trees(run_cli, run, tmp_path, name, text, words):
    write_trees(tmp_path)
    (tmp_path / name).write_text(text)
    code, out, error = run_cli(*train(tmp_path, "--steps", 1, "--run", tmp_path / "run"))
    assert code == 2 and not out and f"{tmp_path / name}" in error and words in error and one_line(error)
    assert not (tmp_path / "run").exists()
    code, out, error = run_cli("evaluate", run, "--test", tmp_path / name)
    assert code == 2 and not out and words in error and one_line(error)


@pytest.mark.parametrize("options, words", [
    (("evaluate", "RUN", "--tokenize", "none"), "which does not use --tokenize"),
    (("evaluate", "RUN", "--max-length", 9), "which does not use --max-length"),
    (("evaluate", "RUN", "--test", "a", "b"), "--test names 2 files, expected one file of trees"),
    (("translate", "RUN", "a"), "was trained on the task parse: use minitransformer parse instead"),
    (("parse", "RUN", " "), "the sentence is empty, expected one to parse"),
    (("parse", "no/such/run", "a"), "no run here"), (("parse",), "required: RUN"),
    (("parse", "RUN", "a", "--bracket-style"), "unrecognized arguments: --bracket-style; did you mean --brackets?"),
])
def test_what_means_nothing(run_cli, run, options, words):
    code, out, error = run_cli(*(run if option == "RUN" else option for option in options))
    assert code == 2 and not out and words in error and one_line(error)


def test_a_run_of_another_task_is_refused(run_cli, trained):
    code, _, error = run_cli("parse", trained, "a b")
    assert code == 2 and "was trained on the task copy: use minitransformer translate instead" in error and one_line(error)
