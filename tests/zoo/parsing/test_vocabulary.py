"""The vocabulary of a parser: brackets first, rare words by their form, and the same after it was kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitransformer import InputError
from minitransformer.zoo.parsing.vocabulary import CLASSES, TreebankVocabulary, word_class
from minitransformer.functional.special import BOS, EOS, PAD
from minitransformer.zoo.parsing.brackets import linearise
from minitransformer.zoo.parsing.tree import Tree
from tests.zoo.parsing.trees import PHRASES

CAT = Tree("S", (Tree("NP", (Tree("DT", ("the",)), Tree("NN", ("cat",)))), Tree("VP", (Tree("VBD", ("the",)),))))
VOCABULARY = TreebankVocabulary.learn([CAT])


def test_what_is_learned():
    """Words that occur twice, every label and tag, and X."""
    assert VOCABULARY.words == ["the"] and VOCABULARY.labels == ["NP", "S", "VP", "X"] and VOCABULARY.tags == ["DT", "NN", "VBD"]
    assert VOCABULARY.size == VOCABULARY.target_size + len(CLASSES) + 1 and VOCABULARY.target_size == 3 + 1 + 3 + 8


def test_words_and_symbols():
    ids = VOCABULARY.encode("the  XX (NP Running")
    assert VOCABULARY.tokens(ids) == ["the", "<Word>", "<word>", "<Wording>"] and min(ids) >= VOCABULARY.target_size
    for symbols in (linearise(CAT), linearise(CAT, tags=True)):
        ids = VOCABULARY.encode_symbols(symbols)
        assert VOCABULARY.tokens(ids) == symbols and min(ids) > EOS and max(ids) < VOCABULARY.target_size
        assert VOCABULARY.decode([BOS, *ids, EOS, PAD]) == " ".join(symbols)


def test_a_label_that_is_not_known_is_read_as_x():
    """And a tag as XX."""
    odd = Tree("S", (Tree("QQ", (Tree("FW", ("cat",)),)),))
    assert VOCABULARY.tokens(VOCABULARY.encode_symbols(linearise(odd, tags=True))) == ["(S", "(X", "XX", ")X", ")S"]
    assert VOCABULARY.unknown_labels(odd) == {"QQ"} and VOCABULARY.unknown_labels(CAT) == set()
    assert VOCABULARY.tokens(VOCABULARY.encode_symbols(linearise(odd))) == ["(S", "(X", "XX", ")X", ")S"]


@pytest.mark.parametrize("word, found", [
    ("1,000", "<number>"), ("Johnson-1", "<number>"), ("running", "<wording>"), ("Vinken", "<Word>"), ("well-known", "<word->"),
    ("Wide-Ranging", "<Word-ing>"), ("boxes", "<wordes>"), ("漢字", "<word>"), ("ÄRGER", "<Worder>"), ("-", "<word->"),
    ("s", "<words>")])
def test_the_class_of_a_word(word, found):
    assert word_class(word) == found and found in CLASSES


@given(st.text(min_size=1))
def test_every_word_has_a_class(word):
    assert word_class(word) in CLASSES


@given(st.lists(PHRASES, min_size=1, max_size=3))
def test_kept_and_loaded(tmp_path_factory, trees):
    made, path = TreebankVocabulary.learn(trees), tmp_path_factory.getbasetemp() / "v.json"
    path.write_text(made.to_json(), encoding="utf-8")
    loaded = TreebankVocabulary.load(path)
    assert loaded.tokens(range(loaded.size)) == made.tokens(range(made.size))
    for tree in trees:
        assert loaded.encode_words(tree.words) == made.encode_words(tree.words)
        for tags in (False, True):
            assert loaded.tokens(loaded.encode_symbols(linearise(tree, tags))) == linearise(tree, tags)


def test_what_is_no_vocabulary():
    with pytest.raises(InputError, match="needs its words, labels and tags as strings"):
        TreebankVocabulary(["a", 1], ["S"], [])
