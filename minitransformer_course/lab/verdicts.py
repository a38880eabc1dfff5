"""What a reader's test says of the versions that it has to tell apart."""

from minitransformer_course.judge.course import find_exercise
from minitransformer_course.judge.given import GivenVersion, verdict


def verdicts(test) -> None:
    """Print whether each version of the exercise of the test's name passes it."""
    for one in find_exercise(test.__name__).versions:
        print(f"{'passes' if verdict(test)(GivenVersion(one.function)) else 'fails':6}  {one.sentence}")
