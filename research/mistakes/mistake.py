"""A mistake that a learner makes in a function of the textbook, and what a right diagnosis of it says."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    name: str              # unique, kebab-case
    replaces: str          # a name in replaceable.TABLE, or "module:Class.method" for a method that is not in it
    wrong: Callable        # what is put in its place: same signature
    block: str             # the smallest block of checking/blocks.py in which it shows
    says: tuple            # groups of words: a right diagnosis contains one of every group (case-insensitive)
    excludes: tuple = ()   # words that a right diagnosis does not contain
    in_model: str = "transformer"   # the whole model of checking/blocks.py in which it shows too
    comment: str = ""      # what name and code do not say
