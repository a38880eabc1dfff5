"""The answers on the functions in a learner's file."""

from minitransformer.errors import InputError
from minitransformer.learn.answer import Answer
from minitransformer.learn.course import exercises, find_exercise
from minitransformer.learn.judgement import cases_of, check_outcomes
from minitransformer.learn.learner_file import names_in
from minitransformer.learn.messages import _
from minitransformer.learn.run_file import LIMIT, compiled, run_file


def check_file(path, names=None, seed=0, limit=LIMIT) -> tuple[list[Answer], str]:
    """([Answer], what the file printed): on the exercises named, or on all of which the file has the function.

    Raises InputError if the file cannot be judged.
    """
    names = names or names_in("\n".join(compiled(path).values()))
    if not names:
        raise InputError(_("{path} has none of the exercises' functions, such as {name}").format(
            path=path.name, name=next(iter(exercises()))))
    cases = {name: cases_of(find_exercise(name), seed) for name in names}
    outcomes, printed = run_file(path, cases, limit)
    return [check_outcomes(find_exercise(name), cases[name], *outcomes[name]) for name in names], printed
