"""Faster implementations of textbook functions: a folder for each kind, a file for each function or pair."""

import os
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from minitransformer.errors import InputError, one_line

KINDS = ("numpy", "compiled")    # imported in this order; of two kernels that fit, the later one runs
CHOICES = (None, "1", "numpy", "0")    # of MINITRANSFORMER_FAST: all kernels, all, NumPy's only, none


class _State:
    """What holds for the whole process."""

    say: Callable[[str], None] | None = None    # what is called with the parts of a line, if anything is compiled
    problem = ""                                # why the compiled kernels do not run


state = _State()


def load() -> None:
    """Import every kernel, which registers it. If the compiled ones cannot run here, `state.problem` says why.

    Raises InputError for a value of MINITRANSFORMER_FAST that means nothing.
    """
    choice = os.environ.get("MINITRANSFORMER_FAST")
    if choice not in CHOICES:
        raise InputError(f"MINITRANSFORMER_FAST is {choice!r}, expected 0 (no kernels), numpy (those for NumPy) or 1 (all)")
    _import("numpy")
    state.problem = f"MINITRANSFORMER_FAST is {choice}" if choice in ("numpy", "0") else _load_compiled()


def _load_compiled() -> str:
    """Compile the kernels, or fetch them from the disk; returns why that failed, and "" if it did not."""
    try:
        from minitransformer.kernels import loops    # imports Numba
        _import("compiled")
        loops.compile_all(state.say or (lambda text: None))
    except Exception as error:    # a broken Numba may raise anything, and NumPy's kernels need none
        from minitransformer.replaceable import unregister    # here: it imports NumPy
        unregister("minitransformer.kernels.compiled.")
        cause = one_line(str(error).partition("\n")[0])
        if isinstance(error, ModuleNotFoundError) and error.name == "numba":
            return "Numba is not installed: pip install numba"
        if "cannot cache" in cause:
            return "Numba finds no folder that it can write its code to; set NUMBA_CACHE_DIR to one"
        return f"Numba fails: {type(error).__name__}: {cause}"
    return ""


def _import(kind) -> None:
    package = import_module(f"minitransformer.kernels.{kind}")
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
