"""Faster implementations of textbook functions: a folder for each kind; a kernel's file has the
name of its textbook's file.

A file of textbooks that is not the library's names the package of these folders itself: KERNELS.
"""

import os
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import SimpleNamespace

from minitransformer.errors import InputError, one_line
from minitransformer.extras import how_to_install
from minitransformer.dispatch import TABLE

KINDS = {
    "compiled": "compiled kernels",
    "numpy": "kernels for NumPy",
}  # of two kernels that fit, the compiled one runs
CHOICES = (
    None,
    "1",
    "numpy",
    "0",
)  # values of MINITRANSFORMER_FAST: all kernels, all, NumPy's only, none
state = SimpleNamespace(  # shared by the process
    say=None,  # what is called with the parts of a line, if anything is compiled
    told=False,  # whether `fast` has said that Numba is missing
    problem=None,
)  # why the compiled kernels do not run; "" if they do, None before they are tried


def load(textbook) -> None:
    """Register the kernels of a textbook function: import the files that are named like the one
    that defines it.

    If the compiled ones cannot run here, `state.problem` says why. Raises InputError for a value of
    MINITRANSFORMER_FAST that means nothing.
    """
    package = getattr(sys.modules.get(textbook.__module__), "KERNELS", __package__)
    _load(textbook.__module__.rpartition(".")[2], package)


def in_one_line() -> str:
    """Which kernels run inside `with fast():`, for a command's report."""
    choice = os.environ.get("MINITRANSFORMER_FAST")
    if choice == "0":
        return "kernels: none, the textbook runs (MINITRANSFORMER_FAST is 0)"
    _load("adam", __package__)  # only then is it known whether they can be compiled
    kind = f"for NumPy ({state.problem})" if state.problem else "compiled by Numba"
    return f"kernels: {kind}, equal to the textbook to 2e-5: docs/speed.md"


def say_if_none_is_compiled() -> None:
    """Print one line, once, if Numba is not installed and MINITRANSFORMER_FAST is not set."""
    if not (state.told or os.environ.get("MINITRANSFORMER_FAST") or find_spec("numba")):
        state.told = True
        print(
            f"fast() runs the kernels for NumPy; the compiled ones need Numba: {how_to_install('numba')}",
            file=sys.stderr,
        )


def available(kind) -> bool:
    """Whether the kernels of one of KINDS can run here; `load` must have been asked before."""
    choice = os.environ.get("MINITRANSFORMER_FAST")
    return choice != "0" and (kind == "numpy" or not state.problem)


def load_all() -> None:
    """Register every kernel of the library, which imports its textbook, and those of all other
    textbooks that are imported.
    """
    for name in sorted({name for kind in KINDS for name in _names(kind, __package__)}):
        _load(name, __package__)
    for entry in [*TABLE.values()]:
        load(entry.textbook)


@cache
def _load(name, package) -> None:
    """Once for each file: what a reader registers later is the reader's, and is compiled when it is
    first called.
    """
    choice = os.environ.get("MINITRANSFORMER_FAST")
    if choice not in CHOICES:
        raise InputError(
            f"MINITRANSFORMER_FAST is {choice!r}, expected 0 (no kernels), numpy (those for NumPy) or 1 (all)"
        )
    if name in _names("numpy", package):
        import_module(f"{package}.numpy.{name}")
    if choice in ("numpy", "0") and state.problem is None:
        state.problem = f"MINITRANSFORMER_FAST is {choice}"
    elif choice is None and os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        state.problem = "NUMBA_DISABLE_JIT is set; MINITRANSFORMER_FAST=1 runs their loops as Python, for a debugger"
    if name in _names("compiled", package) and not state.problem:
        state.problem = _load_compiled(name, package)
    for entry in TABLE.values():  # also those of a file that another one has imported
        entry.kernels.sort(key=_rank)


def _rank(kernel) -> int:
    """A reader's kernels run ahead of the library's, whenever these are loaded; compiled ones ahead
    of NumPy's.
    """
    module = str(kernel.function.__module__)  # None: of code that was given to exec
    if not module.startswith("minitransformer."):
        return 0
    return 2 if ".numpy." in module else 1


def _load_compiled(name, package) -> str:
    """Compile the kernels of a file, or fetch them from the disk; returns why that failed, and ""
    if it did not.
    """
    try:
        from minitransformer.speed import loops  # imports Numba

        import_module(f"{package}.compiled.{name}")
        loops.compile_new(name, state.say or (lambda text: None))
    except Exception as error:  # a broken Numba may raise anything, and NumPy's kernels need none
        unregister(f"{package}.compiled.")
        cause = one_line(str(error).partition("\n")[0])
        if isinstance(error, ModuleNotFoundError) and error.name == "numba":
            return f"Numba is not installed: {how_to_install('numba')}"
        if "cannot cache" in cause or getattr(error, "errno", None):  # or a full disk
            problem = (
                "Numba finds no folder that it can write its code to; set NUMBA_CACHE_DIR to one"
            )
            if state.say:
                state.say(f"no compiled kernels: {problem}\n")
            return problem
        return f"Numba fails: {type(error).__name__}: {cause}"
    return ""


def unregister(start) -> None:
    """Unregister the kernels of all modules whose names begin with `start`."""
    for entry in TABLE.values():
        entry.kernels = [
            kernel
            for kernel in entry.kernels
            if not str(kernel.function.__module__).startswith(start)
        ]


def _names(kind, package) -> list[str]:
    """The files of a kind of kernels, if the package has that kind."""
    found = find_spec(f"{package}.{kind}")
    return (
        [module.name for module in iter_modules(found.submodule_search_locations)] if found else []
    )
