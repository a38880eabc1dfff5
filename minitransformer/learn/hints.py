"""Four hints: a question about an invariant, the missing term, the lines in the wrong order, the line with one hole."""

import random

from minitransformer.learn.messages import _
from minitransformer.learn.source import blanks

STEPS = 4


def next_hint(given, first):
    """Which hint comes next, 1 to 4: the one that the diagnosis asks for, then the others in order; None after the last."""
    order = [first, *(step for step in range(1, STEPS + 1) if step != first)]
    return next((step for step in order if step not in given), None)


def hint(exercise, step):
    """The text of a hint."""
    question, term, hole = exercise.module.hints
    if step == 1:
        return _(question)
    if step == 2:
        return _(term)
    if step == 3:
        return _("These lines, in the wrong order:") + "".join(f"\n    {line}" for line in shuffled(exercise))
    return _("The line with one hole, ___:") + f"\n    {hole}"


def shuffled(exercise):
    """The lines of the blanks, without indentation, in another order than the right one: the same one every time."""
    lines = [line.strip() for blank in blanks(exercise.source) for line in blank]
    mixed, rng = list(lines), random.Random(exercise.name)
    while mixed == lines:
        rng.shuffle(mixed)
    return mixed
