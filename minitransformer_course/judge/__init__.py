"""The judge of the chapters' exercises: it says where a function is wrong, and why.

In a notebook:

    from minitransformer_course import check
    check("softmax_backward", softmax_backward)

In a chapter, `softmax = yours(softmax)` keeps the page running while a blank is empty. On the
command line: `minitransformer learn`. An exercise is one file in tutorials/, made of the six
decorators below.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from minitransformer_course.judge.decorators import (
    also_right,
    edge,
    invariant,
    mistake,
    plugs,
    version,
)
from minitransformer_course.messages import _

if TYPE_CHECKING:
    from minitransformer_course.judge.judgement import Answer

__all__ = ["also_right", "check", "edge", "invariant", "mistake", "plugs", "version", "yours"]


def check(name, function) -> "Answer":
    """The Answer for `function` as a solution of the exercise `name`. A notebook shows it;
    elsewhere, `print` it.

    A call that takes more than 10 seconds is stopped. Raises InputError if there is no such
    exercise.
    """
    from minitransformer_course.judge.course import find_exercise
    from minitransformer_course.judge.judgement import check_function
    from minitransformer_course.judge.run_file import LIMIT

    answer = check_function(find_exercise(name), function, limit=LIMIT)
    print(answer.printed, end="")
    return answer


def yours(function) -> Callable:
    """`function` if it passes the exercise of its name, otherwise the exercise's reference. Says
    which of the two it is.

    Raises InputError if there is no such exercise.
    """
    from minitransformer_course.judge.course import find_exercise
    from minitransformer_course.judge.judgement import check_function

    exercise = find_exercise(function.__name__)
    passes = check_function(exercise, function, watched=False).passed
    print(f"{exercise.name}: {_('yours') if passes else _('the reference, until yours passes')}")
    return function if passes else exercise.reference
