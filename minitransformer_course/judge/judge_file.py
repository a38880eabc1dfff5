"""The answers for the functions in a learner's file."""

import ast
import re

from minitransformer.errors import InputError, nearest_of
from minitransformer_course.judge.answer import Answer
from minitransformer_course.judge.course import exercises, find_exercise
from minitransformer_course.judge.judgement import cases_of, check_outcomes
from minitransformer_course.judge.messages import _
from minitransformer_course.judge.run_file import LIMIT, run_file
from minitransformer_course.judge.submission import names_in, read


def check_file(path, names=None, seed=0, limit=LIMIT, graded=False) -> tuple[list[Answer], str]:
    """([Answer], what the file printed): on the exercises named, or on all of which the file has the function.

    graded: as in `run_file`. Raises InputError if the file cannot be judged.
    """
    sources = read(path)
    source = "\n".join(sources.values())
    names = names or names_in(sources)
    if not names:
        defined = re.findall(r"^def +(\w+)", source, re.MULTILINE)
        nearest = next(filter(None, (nearest_of(name, exercises()) for name in defined)), None)
        raise InputError((_("{path} has none of the exercises' functions; did you mean {nearest}?") if nearest else _(
            "{path} has none of the exercises' functions, such as {name}")).format(
                path=path.name, nearest=nearest, name=next(iter(exercises()))))
    cases = {name: cases_of(find_exercise(name), seed) for name in names}
    outcomes, printed = run_file(path, cases, limit, graded)
    return [check_outcomes(find_exercise(name), cases[name], outcomes[name], _of(name, source)) for name in names], printed


def _of(name, source) -> str:
    """The code of the function, or all of the code if it is not a plain function."""
    own = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name]
    return ast.get_source_segment(source, own[-1]) or "" if own else source
