"""A language model by the command: train, evaluate, generate, attention and the report."""

import gzip
import json
import math

import matplotlib.image
import numpy as np
import pytest

from minitransformer import InputError, Run, Search
from minitransformer.decoding import generate

pytestmark = pytest.mark.slow

WINDOW = 16


def nats_by_hand(model, ids, window):
    """The mean of -log p of every token but the first, each window on its own."""
    total = 0.0
    for start in range(0, len(ids) - 1, window):
        read = ids[start : start + window][: len(ids) - 1 - start]
        logits = model.forward(np.array([read]))[0][0].astype(np.float64)
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        total -= sum(log_p[i, ids[start + 1 + i]] for i in range(len(read)))
    return total / (len(ids) - 1)


def test_evaluate_is_over_all_of_the_text(run_cli, language_run):
    code, out, _ = run_cli("evaluate", language_run, "--json")
    scores, run = json.loads(out), Run.load(language_run)
    text = (language_run.parent / "valid").read_text()
    ids = run.vocabulary.encode(text)
    assert (
        code == 0
        and list(scores)
        == (
            "perplexity nats_per_token bits_per_character tokens characters unknown_characters"
        ).split()
    )
    assert scores["unknown_characters"] == 0
    assert scores["tokens"] == scores["characters"] == len(text) - 1 and (len(text) - 1) % WINDOW
    assert scores["nats_per_token"] == pytest.approx(nats_by_hand(run.model, ids, WINDOW), rel=1e-5)
    assert scores["bits_per_character"] == pytest.approx(
        scores["nats_per_token"] / math.log(2), rel=1e-12
    )
    assert scores["perplexity"] == pytest.approx(math.exp(scores["nats_per_token"]), rel=1e-12)
    last = json.loads((language_run / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["valid_nll"] == pytest.approx(
        scores["nats_per_token"], rel=1e-6
    )  # what training was measured by


@pytest.mark.parametrize("length", [2, 5, WINDOW, WINDOW + 1])
def test_evaluate_a_text_that_is_shorter_than_a_window(run_cli, language_run, tmp_path, length):
    text = (language_run.parent / "en").read_text()[:length]
    (tmp_path / "test").write_text(text)
    code, out, _ = run_cli("evaluate", language_run, "--test", tmp_path / "test", "--json")
    run, scores = Run.load(language_run), json.loads(out)
    assert code == 0 and scores["tokens"] == length - 1
    assert scores["nats_per_token"] == pytest.approx(
        nats_by_hand(run.model, run.vocabulary.encode(text), WINDOW), rel=1e-5
    )


def test_evaluate_another_text(run_cli, language_run, tmp_path):
    text = (language_run.parent / "en").read_text()[:50]
    (tmp_path / "test.gz").write_bytes(gzip.compress(text.encode()))
    scores = json.loads(
        run_cli("evaluate", language_run, "--test", tmp_path / "test.gz", "--json")[1]
    )
    run = Run.load(language_run)
    assert scores["characters"] == 49
    assert scores["nats_per_token"] == pytest.approx(
        nats_by_hand(run.model, run.vocabulary.encode(text), WINDOW), rel=1e-5
    )
    code, out, _ = run_cli("evaluate", language_run, "--test", tmp_path / "test.gz")
    assert (
        code == 0
        and out.splitlines()[2] == f"bits per character: {scores['bits_per_character']:.4g}"
    )


def test_bits_of_a_character_where_a_token_is_several(run_cli, subword_run):
    """The total bits of the text, divided by the number of characters after the first token."""
    code, out, _ = run_cli("evaluate", subword_run, "--json")
    scores, run = json.loads(out), Run.load(subword_run)
    text = (subword_run.parent / "en").read_text()
    ids = run.vocabulary.encode(text)
    first = run.vocabulary.decode(ids[:1])
    assert code == 0 and text.startswith(first)
    assert scores["tokens"] == len(ids) - 1 < scores["characters"] == len(text) - len(first)
    bits = scores["tokens"] * nats_by_hand(run.model, ids, 12) / math.log(2)
    assert scores["bits_per_character"] == pytest.approx(bits / scores["characters"], rel=1e-5)


def test_generate_prints_the_prompt_and_its_continuation(run_cli, language_run):
    """Seventy characters, of a model that has learned 16 positions."""
    run = Run.load(language_run)
    options = dict(temperature=0.9, top_k=9, top_p=0.95)
    ids = generate(
        run.model, run.vocabulary.encode("the dog "), 70, np.random.default_rng(3), **options
    )
    code, out, error = run_cli(
        "generate",
        language_run,
        "the dog ",
        "--max-length",
        70,
        "--seed",
        3,
        "--temperature",
        0.9,
        "--top-k",
        9,
        "--top-p",
        0.95,
    )
    assert code == 0 and not error and out == "the dog " + run.vocabulary.decode(list(ids)) + "\n"
    assert len(out) == 8 + 70 + 1


def test_a_seed_repeats_its_text(run_cli, language_run):
    drawn = [
        run_cli("generate", language_run, "the", "--max-length", 40, *seed)[1]
        for seed in (("--seed", 1), ("--seed", 1), ("--seed", 2), ("--seed", 0), ())
    ]
    assert drawn[0] == drawn[1] and drawn[3] == drawn[4] and len(set(drawn)) == 3


def test_each_token_is_shown_as_soon_as_it_is_drawn(run_cli, language_run, monkeypatch, capsys):
    shown = []

    def slowly(model, prompt, *_, **__):
        for i in Run.load(language_run).vocabulary.encode("cat"):
            shown.append(capsys.readouterr().out)
            yield i

    monkeypatch.setattr("minitransformer.cli.generate.generate", slowly)
    code, out, _ = run_cli("generate", language_run, "the ")
    assert code == 0 and [*shown, out] == ["the ", "c", "a", "t\n"]


@pytest.mark.parametrize(
    "prompt", ["the dog", "the dog ", "the", "th", "t", "red  and", "blue .\nthe cat"]
)
def test_subwords_keep_their_spacing(run_cli, subword_run, prompt):
    run = Run.load(subword_run)
    ids = run.vocabulary.encode(prompt)
    code, out, _ = run_cli("generate", subword_run, prompt, "--max-length", 25, "--seed", 5)
    drawn = list(generate(run.model, ids, 25, np.random.default_rng(5)))
    assert (
        code == 0 and out.startswith(prompt) and out == run.vocabulary.decode([*ids, *drawn]) + "\n"
    )
    assert len(drawn) == 25 > 12


def test_the_text_is_not_decoded_anew_for_each_token(run_cli, subword_run, monkeypatch):
    from minitransformer.data.vocabularies.subwords import SubwordVocabulary

    run = Run.load(subword_run)
    ids = run.vocabulary.encode("the dog")
    whole = run.vocabulary.decode([*ids, *generate(run.model, ids, 50, np.random.default_rng(1))])
    lengths, usual = [], SubwordVocabulary.decode
    monkeypatch.setattr(
        SubwordVocabulary, "decode", lambda own, ids: lengths.append(len(ids)) or usual(own, ids)
    )
    code, out, _ = run_cli("generate", subword_run, "the dog", "--max-length", 50, "--seed", 1)
    assert code == 0 and out == whole + "\n"
    assert (
        len(lengths) > 50 and max(lengths[1:]) <= 4
    )  # a token that is part of a character waits for the next


def test_characters_of_a_prompt_that_are_not_known_are_named(run_cli, subword_run):
    code, out, error = run_cli("generate", subword_run, "the 漢 dog 字漢", "--max-length", 3)
    assert code == 0 and out.startswith("the \ufffd dog \ufffd\ufffd")
    assert error == "PROMPT: not in the vocabulary, read as <unk>: '漢', '字'\n"


def test_characters_of_a_text_that_are_not_known_are_counted(run_cli, subword_run, tmp_path):
    (tmp_path / "text").write_text(
        "the dog is red and blue .\n" * 3 + "漢字漢 the dog\n", encoding="utf-8"
    )
    code, out, error = run_cli("evaluate", subword_run, "--test", tmp_path / "text", "--json")
    assert code == 0 and json.loads(out)["unknown_characters"] == 3
    assert error == f"{tmp_path / 'text'}: not in the vocabulary, read as <unk>: '漢', '字'\n"


def test_line_ends_and_accents_are_read_alike_everywhere(run_cli, language_run, tmp_path):
    """\\r\\n as \\n, and a letter with its accent in one or two characters: as a file and as a
    prompt.
    """
    text = (language_run.parent / "en").read_text()[:80]
    for name, ends in (("unix", "\n"), ("windows", "\r\n")):
        (tmp_path / name).write_bytes(text.replace("\n", ends).encode())
    scores = [
        run_cli("evaluate", language_run, "--test", tmp_path / name, "--json")[1]
        for name in ("unix", "windows")
    ]
    assert scores[0] == scores[1] and "characters" in scores[0]
    windows, unix = (
        run_cli("generate", language_run, f"blue .{end}the", "--max-length", 5)
        for end in ("\r\n", "\n")
    )
    assert windows == unix
    (tmp_path / "accent").write_text("café " * 20, encoding="utf-8")
    run = tmp_path / "run"
    assert (
        run_cli(
            "train language --steps 1 --config toy --window 8 --batch 2 --train",
            tmp_path / "accent",
            "--valid",
            tmp_path / "accent",
            "--run",
            run,
        )[0]
        == 0
    )
    assert run_cli("generate", run, "cafe\u0301", "--max-length", 1)[1].startswith("café")


def test_a_language_model_is_not_searched(language_run, classify_run):
    for run in (Run.load(language_run), Run.load(classify_run)):
        with pytest.raises(
            InputError,
            match=f"the task {run.task.name} does not search for its outputs; leave `search` out",
        ):
            run.answer(["the"], Search(beam=2))


def test_attention(run_cli, language_run, tmp_path):
    code, out, error = run_cli(
        "attention", language_run, "the dog is red", "--output", tmp_path / "a.png", "--layer", 0
    )
    assert code == 0 and not error and matplotlib.image.imread(tmp_path / "a.png").std() > 0.01
    weights, queries, keys, predicted = Run.load(language_run).task.attention(
        Run.load(language_run), "the dog"
    )["decoder"]
    assert predicted == [*"he dog", "…"]
    assert (
        len(weights) == 2
        and weights[0].shape == (1, 2, 7, 7)
        and queries == keys == list("the dog")
    )
    assert (
        np.allclose(weights[0].sum(axis=-1), 1, atol=1e-5)
        and not np.triu(weights[0][0, 0], 1).any()
    )


@pytest.mark.parametrize(
    "options, said",
    [
        (("--vocab-size", 50), "--vocab-size 50 is for subwords; the characters make 7 tokens"),
        (
            ("--vocabulary", "subwords", "--vocab-size", 3),
            "--vocab-size 3 is too small: the characters alone make ",
        ),
        (("--vocabulary", "subwords", "--vocab-size", 30), None),
        ((), None),
    ],
)
def test_a_size_of_the_vocabulary_that_cannot_be_had_is_said(run_cli, tmp_path, options, said):
    (tmp_path / "text").write_text("abc ab " * 30)
    code, _, error = run_cli(
        "train language --window 8 --config toy --num-layers 1 --steps 1 --train",
        tmp_path / "text",
        "--valid",
        tmp_path / "text",
        *options,
        "--run",
        tmp_path / "run",
    )
    assert code == 0 and ", 1 layer of width" in error
    assert said in error if said else "--vocab-size" not in error
