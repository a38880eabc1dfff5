"""Brackets are counted as EVALB counts them."""

import json

import pytest
from hypothesis import given

from research.experiments.parsing.score import brackets, score_trees
from tests import ROOT
from tests.parsing.trees import TREES


def test_the_counts_are_those_of_pyevalb(read):
    """Over 60 pairs of random trees with punctuation, particles and TOP; see
    fixtures/evalb_counts.py.
    """
    for known in json.loads((ROOT / "tests" / "fixtures" / "evalb_counts.json").read_text()):
        score = score_trees(read(known["gold"]), read(known["output"]))
        assert (score.matched, score.gold, score.found) == (
            known["matched"],
            known["gold_brackets"],
            known["found"],
        ), known


@pytest.mark.parametrize(
    "gold, output, matched, found",
    [
        ("(S (NP (NN a)) (VP (VB b)))", "(S (NP (NN a)) (PP (VB b)))", 2, 3),  # another label
        ("(S (NP (NN a) (NN b)) (VB c))", "(S (NP (NN a)) (NN b) (VB c))", 1, 2),  # another end
        (
            "(S (NP (NN a) (, ,)) (VB c))",
            "(S (NP (NN a)) (, ,) (VB c))",
            2,
            2,
        ),  # punctuation belongs nowhere
        (
            "(S (NP (NN a)) (NP (: -)))",
            "(S (NP (NN a)) (NP (: -)))",
            3,
            3,
        ),  # alone, it is a bracket without width
        ("(S (PRT (RP up)))", "(S (ADVP (RP up)))", 2, 2),
        ("(S (NP (NP (NN a))))", "(S (NP (NN a)))", 2, 2),  # two equal brackets are matched by two
        ("(S (NP (NP (NN a))))", "(S (NP (NP (NN a))))", 3, 3),
        ("(S (NP (NN a)))", "(S (NP (NP (NP (NN a)))))", 2, 4),
        ("(NN a)", "(NN a)", 0, 0),
        ("(TOP (S (NN a)) (. .))", "(TOP (S (NN a)) (. .))", 1, 1),  # tags and TOP are no brackets
        (
            "(S ($ $) (-LRB- -LRB-) (NP (NN a)))",
            "(S ($ $) (NP (-LRB- -LRB-) (NN a)))",
            1,
            2,
        ),  # these are words
    ],
)
def test_the_rules(read, gold, output, matched, found):
    score = score_trees(read(gold), read(output))
    assert (score.matched, score.found, score.complete) == (
        matched,
        found,
        int(matched == score.gold == found),
    )


def test_an_output_that_is_no_tree_found_nothing(read):
    """It lowers recall, and F1 with it; EVALB would skip its sentence, and so does f1_of_trees."""
    gold, other, third = read(
        "(S (NP (NN a)) (VP (VB b)))(S (NP (NN a) (NN b)))(S (NN a) (VP (VB b)))"
    )
    score = score_trees([gold, other, gold], [gold, None, third])
    assert (
        (score.matched, score.gold, score.found) == (5, 8, 5)
        and score.well_formed == 2
        and score.trees == 3
    )
    assert score.complete == 1 and score.precision == 100 and score.recall == 100 * 5 / 8
    assert (
        score.f1
        == pytest.approx(2 * 100 * score.recall / (100 + score.recall))
        == pytest.approx(100 * 10 / 13)
    )
    assert score.f1_of_trees == pytest.approx(100 * 10 / 11)
    none = score_trees([gold], [None])
    assert (none.f1, none.precision, none.recall, none.f1_of_trees) == (0, 0, 0, 0)


@given(TREES, TREES)
def test_gold_and_output_change_places(one, other):
    there, back = score_trees([one], [other]), score_trees([other], [one])
    assert (there.matched, there.precision, there.recall, there.f1) == (
        back.matched,
        back.recall,
        back.precision,
        back.f1,
    )
    same = score_trees([one], [one])
    assert same.matched == same.gold == same.found == brackets(one).total() and same.complete == 1
