"""What is installed beside the library for its gradient checks: who names a mistake, and who says a
report in the reader's language.
"""

import os
import sys
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution
from typing import Any


@cache
def entries(name: str) -> tuple[EntryPoint, ...]:
    """The entry points minitransformer.NAME of this distribution; to look at all that are installed
    would take 30 times as long.
    """
    try:
        known = distribution("minitransformer").entry_points
    except PackageNotFoundError:  # a folder in the path, not installed
        return ()
    return tuple(known.select(group=f"minitransformer.{name}"))


@cache
def module_of(found: EntryPoint) -> Any:
    """The module of an entry point, or None if its package is gone."""
    try:
        return found.load()
    except ModuleNotFoundError as error:
        if not f"{found.module}.".startswith(f"{error.name}."):
            # it is there, but something that it needs is not
            raise
    return None


def said(text: str) -> str:
    """A line of a report in the reader's language.

    The entry points are named after what chooses one: a variable of the environment, or a file in
    the folder. Without either, nothing is loaded, unless their package is in use.
    """
    for found in entries("report"):
        in_use = found.module.partition(".")[0] in sys.modules
        if in_use or found.name in os.environ or os.path.exists(found.name):
            course = module_of(found)
            return course.translated(text) if course else text
    return text
