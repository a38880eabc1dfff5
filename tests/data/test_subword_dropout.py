"""Words cut at random: the same text, in other pieces each epoch, and the same ones for the same seed."""

import pytest

from minitransformer.data.subword_dropout import SubwordDropout, cut
from minitransformer.data.subwords import SubwordVocabulary

TEXTS = [("a young man is walking a dog", "ein junger mann führt einen hund"),
         ("two men walk", "zwei männer laufen fa\u0308hrt"), ("남자 두 명이 걷는다", "")] * 4


@pytest.fixture(scope="module")
def vocabulary():
    return SubwordVocabulary.learn([text for pair in TEXTS for text in pair], 120)


def test_without_dropout_it_is_the_library(vocabulary):
    """Rate 0: the tokenizer's own cut of every text, of characters never seen too."""
    for text in [text for pair in TEXTS for text in pair] + ["dogwalker 漢字", "ä a\u0308  b"]:
        pieces = [cut(word, vocabulary.merges()) for word in vocabulary.words(text)]
        assert [i for piece in pieces for i in vocabulary.ids(piece)] == vocabulary.encode(text)


def test_every_epoch_cuts_the_same_text_anew(vocabulary):
    dropout = SubwordDropout(vocabulary, TEXTS, 0.3, seed=1)
    epochs = [dropout(epoch) for epoch in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    whole = [tuple(map(vocabulary.encode, pair)) for pair in TEXTS]
    for pairs in epochs:
        assert [tuple(map(vocabulary.decode, pair)) for pair in pairs] == [
            tuple(map(vocabulary.decode, pair)) for pair in whole]
    assert sum(len(s) for s, _ in epochs[0]) > sum(len(s) for s, _ in whole)


def test_the_seed_and_the_epoch_decide(vocabulary):
    once, again, other = (SubwordDropout(vocabulary, TEXTS, 0.3, seed) for seed in (1, 1, 2))
    assert once(5) == again(5) != other(5)


def test_a_high_rate_leaves_characters(vocabulary):
    assert cut("▁man", vocabulary.merges(), 0.999, lambda: 0.5) == ["▁", "m", "a", "n"]
