"""Labelled brackets compared as EVALB does (Collins' parameters, https://nlp.cs.nyu.edu/evalb).

A bracket is a phrase: its label, where it begins and where it ends. Tags are not brackets.
Punctuation is left out before words are counted, so it does not matter to which phrase a comma
belongs; a phrase of punctuation alone remains, as a bracket of width 0. TOP is ignored, and PRT is
the same as ADVP. Two equal brackets need two to match.
"""

from collections import Counter
from typing import NamedTuple

PUNCTUATION = (",", ":", "``", "''", ".")  # tags
SAME = {"PRT": "ADVP"}


class BracketScore(NamedTuple):
    """Counts over all trees of a file; ratios are in percent."""

    matched: int  # brackets that gold and output share
    gold: int
    found: int  # brackets of the output
    gold_of_trees: int  # the part of `gold` in sentences whose output is a tree
    complete: int  # trees all of whose brackets match
    well_formed: int  # outputs that are a tree of their sentence
    trees: int

    @property
    def precision(self) -> float:
        return _percent(self.matched, self.found)

    @property
    def recall(self) -> float:
        return _percent(self.matched, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _percent(2 * self.matched, self.gold + self.found)

    @property
    def f1_of_trees(self) -> float:
        """The same over the sentences whose output is a tree, which flatters the model; EVALB skips
        the others, too.
        """
        return _percent(2 * self.matched, self.gold_of_trees + self.found)


def score_trees(golds, outputs) -> BracketScore:
    """Compare each gold Tree with the output, a Tree of the same words and tags, or None, which has
    no bracket.
    """
    pairs = [
        (brackets(gold), output and brackets(output))
        for gold, output in zip(golds, outputs, strict=True)
    ]
    trees = [(gold, output) for gold, output in pairs if output is not None]
    return BracketScore(
        matched=sum((gold & output).total() for gold, output in trees),
        gold=sum(gold.total() for gold, _ in pairs),
        found=sum(output.total() for _, output in trees),
        gold_of_trees=sum(gold.total() for gold, _ in trees),
        complete=sum(gold == output for gold, output in trees),
        well_formed=len(trees),
        trees=len(pairs),
    )


def brackets(tree) -> Counter:
    """{(label, start, end): how often} of a Tree, in words that are not punctuation."""
    found: Counter = Counter()

    def walk(tree, start) -> int:
        """Counts the brackets of a tree that begins at `start`; returns where it ends."""
        if tree.is_tag:
            return start + (tree.label not in PUNCTUATION)
        end = start
        for child in tree.children:
            end = walk(child, end)
        if tree.label != "TOP":
            found[SAME.get(tree.label, tree.label), start, end] += 1
        return end

    walk(tree, 0)
    return found


def _percent(part, whole) -> float:
    return 100 * part / whole if whole else 0.0
