"""Brackets are counted as EVALB counts them: the same counts as PYEVALB's, and its rules one by one."""

import json

import pytest
from hypothesis import given

from minitransformer.zoo.parsing.brackets import build_tree, linearise
from minitransformer.zoo.parsing.score import brackets, score_trees
from minitransformer.zoo.parsing.treebank import read_trees
from tests import ROOT
from tests.zoo.parsing.trees import PHRASES

FIXTURE = ROOT / "tests" / "fixtures" / "evalb_counts.json"


@pytest.fixture
def tree(tmp_path):
    def read(text):
        (tmp_path / "one").write_text(text)
        ((_, found),) = read_trees(tmp_path / "one")
        return found
    return read


def test_the_counts_are_those_of_pyevalb(tree):
    """Over 60 pairs of random trees with punctuation, particles and TOP; see fixtures/evalb_counts.py."""
    for known in json.loads(FIXTURE.read_text()):
        score = score_trees([tree(known["gold"])], [tree(known["output"])])
        assert (score.matched, score.gold, score.found) == (known["matched"], known["gold_brackets"], known["found"]), known


@pytest.mark.parametrize("gold, output, matched, found", [
    ("(S (NP (NN a)) (VP (VB b)))", "(S (NP (NN a)) (PP (VB b)))", 2, 3),    # another label
    ("(S (NP (NN a) (NN b)) (VB c))", "(S (NP (NN a)) (NN b) (VB c))", 1, 2),    # another end
    ("(S (NP (NN a) (, ,)) (VB c))", "(S (NP (NN a)) (, ,) (VB c))", 2, 2),    # punctuation belongs nowhere
    ("(S (NP (NN a)) (NP (: -)))", "(S (NP (NN a)) (NP (: -)))", 3, 3),    # alone, it is a bracket without width
    ("(S (PRT (RP up)))", "(S (ADVP (RP up)))", 2, 2),
    ("(S (NP (NP (NN a))))", "(S (NP (NN a)))", 2, 2),    # two equal brackets are matched by two
    ("(S (NP (NP (NN a))))", "(S (NP (NP (NN a))))", 3, 3),
    ("(S (NP (NN a)))", "(S (NP (NP (NP (NN a)))))", 2, 4),
    ("(NN a)", "(NN a)", 0, 0), ("(TOP (S (NN a)) (. .))", "(TOP (S (NN a)) (. .))", 1, 1),    # tags and TOP are no brackets
    ("(S ($ $) (-LRB- -LRB-) (NP (NN a)))", "(S ($ $) (NP (-LRB- -LRB-) (NN a)))", 1, 2),    # these are words
])
def test_the_rules(tree, gold, output, matched, found):
    score = score_trees([tree(gold)], [tree(output)])
    assert (score.matched, score.found, score.complete) == (matched, found, int(matched == score.gold == found))


def test_an_output_that_is_no_tree_found_nothing(tree):
    """It lowers recall, and F1 with it; EVALB would skip its sentence, and so does f1_of_trees."""
    gold = tree("(S (NP (NN a)) (VP (VB b)))")
    other = tree("(S (NP (NN a) (NN b)))")
    score = score_trees([gold, other, gold], [gold, None, tree("(S (NN a) (VP (VB b)))")])
    assert (score.matched, score.gold, score.found) == (5, 8, 5) and score.well_formed == 2 and score.trees == 3
    assert score.complete == 1 and score.precision == 100 and score.recall == 100 * 5 / 8
    assert score.f1 == pytest.approx(2 * 100 * score.recall / (100 + score.recall)) == pytest.approx(100 * 10 / 13)
    assert score.f1_of_trees == pytest.approx(100 * 10 / 11)


def test_nothing_found_is_zero(tree):
    score = score_trees([tree("(S (NN a))")], [None])
    assert (score.f1, score.precision, score.recall, score.f1_of_trees) == (0, 0, 0, 0)


@given(PHRASES)
def test_a_tree_matches_itself(tree):
    score = score_trees([tree], [build_tree(linearise(tree), tree.words, [tag.label for tag in tree.tags()])])
    assert score.matched == score.gold == score.found == brackets(tree).total() and score.complete == 1


@given(PHRASES, PHRASES)
def test_gold_and_output_change_places(one, other):
    there, back = score_trees([one], [other]), score_trees([other], [one])
    assert (there.matched, there.precision, there.recall, there.f1) == (back.matched, back.recall, back.precision, back.f1)
