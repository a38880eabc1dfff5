"""The vocabulary of words, tags and brackets."""

import pytest
from hypothesis import given, strategies as st

from research.experiments.parsing.brackets import Tree, linearise
from research.experiments.parsing.vocabulary import CLASSES, TreebankVocabulary, word_class
from minitransformer import InputError
from minitransformer.data.special import BOS, EOS, PAD
from tests.parsing.trees import CAT, TREES


def test_the_vocabulary():
    """Words that occur twice, every label and tag, and X; an unknown label is read as X, an unknown
    tag as XX.
    """
    known = TreebankVocabulary.learn([CAT, Tree("NN", ("cat",))])
    assert (
        known.words == ["cat"]
        and known.labels == ["NP", "S", "VP", "X"]
        and known.tags == [".", "DT", "NN", "VBD"]
    )
    assert known.size == known.target_size + len(CLASSES) + 1 and known.target_size == 3 + 1 + 4 + 8
    ids = known.encode("cat  XX (NP Running")
    assert (
        known.tokens(ids) == ["cat", "<Word>", "<word>", "<Wording>"]
        and min(ids) >= known.target_size
    )
    for symbols in (linearise(CAT), linearise(CAT, tags=True)):
        ids = known.encode_symbols(symbols)
        assert known.tokens(ids) == symbols and min(ids) > EOS and max(ids) < known.target_size
        assert known.decode([BOS, *ids, EOS, PAD]) == " ".join(symbols)
    odd = Tree("S", (Tree("QQ", (Tree("FW", ("cat",)),)),))
    assert known.tokens(known.encode_symbols(linearise(odd, tags=True))) == [
        "(S",
        "(X",
        "XX",
        ")X",
        ")S",
    ]
    assert known.unknown_labels([CAT, odd]) == {"QQ"}
    with pytest.raises(InputError, match="needs its words, labels and tags as strings"):
        TreebankVocabulary(["a", 1], ["S"], [])


@pytest.mark.parametrize(
    "word, found",
    [
        ("1,000", "<number>"),
        ("Johnson-1", "<number>"),
        ("running", "<wording>"),
        ("Vinken", "<Word>"),
        ("well-known", "<word->"),
        ("Wide-Ranging", "<Word-ing>"),
        ("boxes", "<wordes>"),
        ("漢字", "<word>"),
        ("ÄRGER", "<Worder>"),
        ("-", "<word->"),
    ],
)
def test_the_class_of_a_word(word, found):
    assert word_class(word) == found and found in CLASSES


@given(st.lists(TREES, min_size=1, max_size=3))
def test_a_vocabulary_is_kept_and_loaded(tmp_path_factory, trees):
    made, path = TreebankVocabulary.learn(trees), tmp_path_factory.getbasetemp() / "v.json"
    path.write_text(made.to_json(), encoding="utf-8")
    loaded = TreebankVocabulary.load(path)
    assert loaded.listed == made.listed
    for tree in trees:
        assert loaded.encode_words(tree.words) == made.encode_words(tree.words)
        for tags in (False, True):
            assert loaded.tokens(loaded.encode_symbols(linearise(tree, tags))) == linearise(
                tree, tags
            )
