"""The judge of the chapters' exercises: it says where a function is wrong, and why.

In a notebook:

    from minitransformer.learn import check
    check("softmax_backward", softmax_backward)

On the command line: `minitransformer learn`. An exercise is one file in tutorials/, made of the five marks below.
"""

from minitransformer.learn.marks import also_right, edge, invariant, mistake, plugs

__all__ = ["also_right", "check", "edge", "invariant", "mistake", "plugs"]


def check(name, function):
    """The Answer on `function` as the solution of the exercise `name`: a notebook shows it, `print` does elsewhere.

    Raises InputError if there is no such exercise.
    """
    from minitransformer.learn.course import find_exercise
    from minitransformer.learn.judgement import check_function

    answer = check_function(find_exercise(name), function)
    print(answer.printed, end="")
    return answer
