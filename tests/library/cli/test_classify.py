"""Classifiers by the command: train classify, evaluate, classify, attention and the report."""

import gzip
import json
import re
import shutil

import matplotlib.image
import numpy as np
import pytest

from minitransformer import Run
from minitransformer.data.labelled import read_labelled
from tests.helpers.command import SENTIMENTS, rewrite

pytestmark = pytest.mark.slow


def test_it_learns_and_is_measured(run_cli, classify_run):
    """Accuracy is the fraction that `classify` gets right; majority is that of the most common
    class, 5 of 10.
    """
    code, out, _ = run_cli("evaluate", classify_run, "--json")
    scores, run = json.loads(out), Run.load(classify_run)
    examples = read_labelled(classify_run.parent / "valid.tsv", "--valid")
    assert code == 0 and list(scores) == ["accuracy", "majority", "examples", "nats"]
    assert run.task.labels == sorted(SENTIMENTS) and run.model.config.num_classes == 3
    right = [run.answer([text])[0] == label for text, label in examples]
    assert (
        scores["accuracy"] == np.mean(right) > 0.8
        and scores["majority"] == 0.5
        and scores["examples"] == 10
    )
    p = run.task.probabilities(run, [text for text, _ in examples])
    nats = -np.log([row[run.task.labels.index(label)] for row, (_, label) in zip(p, examples)])
    assert scores["nats"] == pytest.approx(nats.mean(), rel=1e-4)
    last = json.loads((classify_run / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["valid_accuracy"] == scores["accuracy"] and last["valid_nll"] == pytest.approx(
        scores["nats"], rel=1e-5
    )


def test_evaluate_another_file(run_cli, classify_run, tmp_path):
    """A test file with only one of the three classes, a header and an empty line."""
    (tmp_path / "test.gz").write_bytes(
        gzip.compress(b"sentence\tlabel\na fine good film xu\tvery good\n\n")
    )
    scores = json.loads(
        run_cli("evaluate", classify_run, "--test", tmp_path / "test.gz", "--json")[1]
    )
    assert scores["majority"] == 1 and scores["examples"] == 1 and scores["accuracy"] in (0, 1)


def test_evaluate_says_what_the_vocabulary_lacks(run_cli, classify_run, tmp_path):
    (tmp_path / "test").write_text(
        "a fine 漢 film\tvery good\na ☃ film 漢\tvery good\n", encoding="utf-8"
    )
    code, _, error = run_cli("evaluate", classify_run, "--test", tmp_path / "test")
    assert (
        code == 0
        and error.splitlines()[0]
        == f"{tmp_path / 'test'}: not in the vocabulary, read as <unk>: '漢', '☃'"
    )


def test_what_was_taken_for_text_and_label_is_said(run_cli, tmp_path):
    """Of a file with a header, such as NSMC's."""
    (tmp_path / "nsmc.txt").write_text(
        "id\tdocument\tlabel\n1\t아 더빙\t0\n2\t\t1\n3\t재밌다\t1\n4\t굳\t1\n", encoding="utf-8"
    )
    code, _, error = run_cli(
        "train classify --steps 1 --vocab-size 60 --config toy --train",
        tmp_path / "nsmc.txt",
        "--valid",
        tmp_path / "nsmc.txt",
        "--run",
        tmp_path / "run",
    )
    assert code == 0 and "nsmc.txt: 1 line without a document or a label, left out" in error
    assert (
        "nsmc.txt: 3 sentences, such as '아 더빙' with the label '0'; classes: 0 (1), 1 (2)\n"
        in error
    )


@pytest.mark.parametrize(
    "sentence", ["a fine good film xu", "a dull bad film", "something else 漢", "film " * 50]
)
def test_classify_a_text(run_cli, classify_run, sentence):
    code, out, _ = run_cli("classify", classify_run, sentence, "--json")
    found, run = json.loads(out), Run.load(classify_run)
    p = found["probabilities"]
    assert (
        code == 0 and list(p) == run.task.labels and sum(p.values()) == pytest.approx(1, abs=1e-5)
    )
    assert found["class"] == max(p, key=p.get) == run.answer([sentence])[0]
    best, *rest = run_cli("classify", classify_run, sentence)[1].removesuffix("\n").split("\t")
    assert best == found["class"] and rest == [f"{label} {q:.4f}" for label, q in p.items()]


def test_classify_lines_of_standard_input(run_cli, classify_run, typed):
    """Each as if it were alone, in order, although sentences of equal length are read together."""
    lines = [
        "a dull bad film zw, zw, zw and zw",
        "a fine good film",
        "xu is just a film",
        "bad",
        "a fine good film zw zw zw zw",
    ]
    alone = [json.loads(run_cli("classify", classify_run, line, "--json")[1]) for line in lines]
    typed("\n".join(lines).encode())
    code, out, _ = run_cli("classify", classify_run, "--json")
    together = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and [found["class"] for found in together] == [
        found["class"] for found in alone
    ]
    for one, other in zip(together, alone):
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-5)
    assert len({found["class"] for found in together}) > 1
    typed(b"")
    assert run_cli("classify", classify_run)[:2] == (0, "")


def test_an_empty_line_stays_empty(run_cli, classify_run, typed):
    lines = ["a dull bad film", "", " ", "a fine good film"]
    typed("\n".join(lines).encode())
    code, out, error = run_cli("classify", classify_run)
    first, second, third, last = out.removesuffix("\n").split("\n")
    assert code == 0 and not error and not second and not third
    assert [first + "\n", last + "\n"] == [
        run_cli("classify", classify_run, line)[1] for line in (lines[0], lines[3])
    ]
    typed("\n".join(lines).encode())
    out = run_cli("classify", classify_run, "--json")[1]
    assert [json.loads(line) and "object" for line in out.splitlines()] == [
        "object",
        None,
        None,
        "object",
    ]
    assert Run.load(classify_run).answer(lines)[1:3] == ["", ""]


def test_what_is_cut_or_not_known_is_named(run_cli, classify_run, typed, tmp_path):
    typed(f"a fine film\n{'film ' * 50}\na 漢 film".encode())
    code, out, error = run_cli("classify", classify_run)
    assert code == 0 and len(out.splitlines()) == 3
    assert re.fullmatch(
        "line 2 has [0-9]+ tokens: what follows the first 20 is not read .max_length in training.\n"
        "line 3: not in the vocabulary, read as <unk>: '漢'\n",
        error,
    )
    (tmp_path / "test.tsv").write_text("film " * 50 + "\tvery good\na fine film\tvery good\n")
    code, _, error = run_cli("evaluate", classify_run, "--test", tmp_path / "test.tsv")
    assert code == 0 and error.splitlines()[0] == (
        f"{tmp_path / 'test.tsv'}: 1 sentence is longer than 20 tokens: what follows is "
        "not read (--max-length in training)"
    )


def test_what_was_not_given_is_not_named(refused, classify_run, tmp_path):
    folder = shutil.copytree(classify_run.parent, tmp_path / "copy")
    settings = json.loads((folder / "run" / "config.json").read_text())
    settings["task"]["valid"] = [str(folder / "valid.tsv")]
    rewrite(folder / "run", settings)
    (folder / "valid.tsv").write_text("sentence\tlabel\n")
    error = refused("evaluate", folder / "run")
    assert f"validation file {folder / 'valid.tsv'}: no sentence" in error and "--test" not in error


def test_attention(run_cli, classify_run, tmp_path):
    run, text = classify_run, "a fine film"
    code, _, error = run_cli(
        "attention", run, text, "--kind", "encoder", "--output", tmp_path / "a.png"
    )
    assert code == 0 and not error and matplotlib.image.imread(tmp_path / "a.png").std() > 0.01
    weights, queries, keys, predicted = Run.load(run).task.attention(Run.load(run), text)["encoder"]
    assert (
        predicted is None and queries == keys and weights[0].shape[2:] == (len(queries), len(keys))
    )
    assert np.allclose(weights[-1].sum(axis=-1), 1, atol=1e-5)
