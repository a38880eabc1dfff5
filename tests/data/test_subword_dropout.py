"""Splits of words at random: of the same text, as often as they should, and the same again from the same seed."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitransformer.data.corpus import CorpusBatches
from minitransformer.data.subword_dropout import SPLITS, SubwordDropout
from minitransformer.data.subwords import SubwordVocabulary

TEXTS = ["a man rides a bike .", "the man reads a book", "ein mann fährt rad .", "소녀가 책을 읽는다"] * 3
VOCABULARY = SubwordVocabulary.learn(TEXTS, 60)
SENTENCES = st.one_of(st.sampled_from(TEXTS), st.text("amnribkeä▁ .책을<unk>?", min_size=1))


def split(ids, rate, seed=0, max_length=256):
    return SubwordDropout(VOCABULARY, rate, max_length, seed)(ids, np.random.default_rng(seed))


@given(SENTENCES)
def test_without_dropout_it_is_the_usual_split(text):
    ids = VOCABULARY.encode(text)
    assert split(ids, 0.0) == ids


@given(SENTENCES, st.floats(0, 0.99), st.integers(0, 99))
def test_the_text_stays(text, rate, seed):
    ids = VOCABULARY.encode(text)
    assert "".join(VOCABULARY.tokens(split(ids, rate, seed))) == "".join(VOCABULARY.tokens(ids))


def test_without_merges_there_are_characters():
    tokens = VOCABULARY.tokens(split(VOCABULARY.encode("a man"), 1.0))
    assert tokens == ["▁", "a", "▁", "m", "a", "n"]


def test_how_often_a_merge_is_missed():
    """"▁b" needs one merge, so a share `rate` of its splits has two parts; 400 seeds, 32 splits each."""
    ids, rate = VOCABULARY.encode("b"), 0.3
    assert VOCABULARY.tokens(ids) == ["▁b"]
    missed = sum(len(word) == 2 for seed in range(400)
                 for word in SubwordDropout(VOCABULARY, rate, 9, seed)._splits(tuple(ids)))
    draws = 400 * SPLITS
    assert abs(missed - rate * draws) < 5 * np.sqrt(draws * rate * (1 - rate))


def test_every_epoch_has_splits_of_its_own_and_repeats_them():
    pairs = [(VOCABULARY.encode(text), VOCABULARY.encode(text)) for text in TEXTS]

    once, again = (CorpusBatches(pairs, 1000, 4, SubwordDropout(VOCABULARY, 0.3, 256, 4)) for _ in range(2))
    epochs = [next(once).source.tolist() for _ in range(2)]    # a batch holds them all
    for epoch in epochs:
        assert sorted(map(VOCABULARY.decode, epoch)) == sorted(TEXTS)
    assert sorted(epochs[0]) != sorted(epochs[1])
    again.position = [1, 0]
    assert next(again).source.tolist() == epochs[1]


def test_a_sentence_does_not_outgrow_the_longest():
    ids = VOCABULARY.encode("a man rides a bike .")
    assert split(ids, 0.99, max_length=len(ids)) == ids
