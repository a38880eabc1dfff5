"""Four hints that say more and more: a question about an invariant, the missing term, a line with a
hole, the shuffled solution.
"""

import random
import re

from minitransformer_course.judge.exercise import blanks
from minitransformer_course.messages import _

STEPS = 4
SHORT = 4  # lines: most of their orders are right, so the lines alone would be the solution
HEAD = re.compile(r"(return|[\w, ]+ =|) ?(.*)")  # the part that stays in front
PIECE = re.compile(
    r"""[\w.]*\.\w+\((?:\w+=[^(),]+|-?\d+|,\s*)*\)    # x.sum(axis=-1, keepdims=True): one piece
                    |\[[^\]]*\] | -?\d[\w.]* | [\w.]+                 # [:, None], -1, x.T
                    |[^\w\s()\[\],]+                                  # an operator""",
    re.VERBOSE,
)


def hint(exercise, step) -> str:
    """The text of a hint."""
    question, term, hole = exercise.module.hints
    if step < STEPS:
        return [_(question), _(term), _("The line with one hole, ___:") + f"\n    {hole}"][step - 1]
    said = (
        _("The pieces of each line, in the wrong order, without commas and most brackets:")
        if len(solution(exercise)) <= SHORT
        else _("These lines, in the wrong order:")
    )
    return "\n    ".join([said, *shuffled(exercise)])


def solution(exercise) -> list[str]:
    """The lines of the blanks, without indentation."""
    return [line.strip() for blank in blanks(exercise.source) for line in blank]


def shuffled(exercise) -> list[str]:
    """The lines of the solution in a wrong order, always the same one; for a short solution, the
    pieces of each line.
    """
    lines, rng = solution(exercise), random.Random(exercise.name)
    if len(lines) > SHORT:
        return _mixed(lines, rng)
    parts = [HEAD.findall(line)[0] for line in lines]
    return [
        f"{head}   " * bool(head) + "   ".join(_mixed(PIECE.findall(rest), rng))
        for head, rest in parts
    ]


def _mixed(parts, rng) -> list[str]:
    """`parts` in another order, or in the given one if there is no other."""
    mixed = list(parts)
    while mixed == parts and len(set(parts)) > 1:
        rng.shuffle(mixed)
    return mixed
