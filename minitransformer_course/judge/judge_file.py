"""The answers for the functions in a learner's file."""

import ast
import re
from typing import NamedTuple

from minitransformer.errors import InputError, nearest_of
from minitransformer_course.judge.course import exercises, find_exercise
from minitransformer_course.judge.judgement import Answer, cases_of, check_outcomes
from minitransformer_course.judge.messages import _
from minitransformer_course.judge.run_file import LIMIT, run_file
from minitransformer_course.judge.submission import names_in, read


class Checked(NamedTuple):
    """A learner's file, as it was when it was read."""

    answers: list[Answer]
    printed: str
    sources: dict[str, str]    # what `submission.read` gave: the code that was judged, whatever is saved meanwhile


def check_file(path, names=None, seed=0, limit=LIMIT, graded=False) -> Checked:
    """The answers on the exercises named, or on all of which the file has the function, and what the file printed.

    graded: as in `run_file`. Raises InputError if the file cannot be judged.
    """
    sources = read(path)
    source = "\n".join(sources.values())
    names = names or names_in(sources)
    if not names:
        defined = re.findall(r"^def +(\w+)", source, re.MULTILINE)
        mine, nearest = next(((name, near) for name in defined if (near := nearest_of(name, exercises()))), ("", ""))
        raise InputError((_("{path} has none of the exercises' functions; is {mine} your {nearest}?") if nearest else _(
            "{path} has none of the exercises' functions, such as {name}")).format(
                path=path.name, mine=mine, nearest=nearest, name=next(iter(exercises()))))
    cases = {name: cases_of(find_exercise(name), seed) for name in names}
    outcomes, printed = run_file(path, sources, cases, limit, graded)
    try:
        answers = [check_outcomes(find_exercise(name), cases[name], outcomes[name], _of(name, source)) for name in names]
    except Exception as error:    # no submission ends `grade`
        raise InputError(_("{path}: the judge itself failed ({error})").format(
            path=path.name, error=f"{type(error).__name__}: {error}")) from error
    return Checked(answers, printed, sources)


def _of(name, source) -> str:
    """The code of the function, or all of the code if it is not a plain function."""
    own = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name]
    return ast.get_source_segment(source, own[-1]) or "" if own else source
