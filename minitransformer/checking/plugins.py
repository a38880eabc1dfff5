"""What is installed beside the library for its gradient checks: who names a mistake, and who says a
report in the reader's language.
"""

from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any


@cache
def plugin(name: str) -> Any:
    """The module that is the entry point minitransformer.NAME, or None. It is looked up when it is
    first needed, in this distribution only: all that are installed would take 30 times as long.
    """
    try:
        entries = distribution("minitransformer").entry_points
    except PackageNotFoundError:  # a folder in the path, not installed
        return None
    for found in entries.select(group=f"minitransformer.{name}"):
        try:
            return found.load()
        except ModuleNotFoundError as error:
            if not f"{found.module}.".startswith(f"{error.name}."):
                # it is there, but something that it needs is not
                raise
    return None


def said(text: str) -> str:
    """A line of a report in the reader's language, if something is installed that knows it."""
    course = plugin("report")
    return course.translated(text) if course else text
