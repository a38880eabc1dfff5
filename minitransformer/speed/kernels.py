"""The library's kernels: what each replaces, where it is, and for which arrays.

Numba compiles them. A file of kernels is imported, and compiled or fetched from the disk, when one
of its functions is first needed inside `with fast():`.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

from minitransformer.dispatch import TABLE, Kernel, Replaceable, kernel_of, with_kernels
from minitransformer.errors import InputError, one_line
from minitransformer.extras import how_to_install
from minitransformer.lookup import Table
from minitransformer.stderr import stderr

FLOATS = "float32 float64"
# {a textbook function: (its kernel, the dtypes of its arrays, the kinds that other ones may have)}
KERNELS = Table(
    "kernel",
    {
        "relu_forward": ("speed.compiled.activations:relu_forward_compiled", FLOATS, ""),
        "relu_backward": ("speed.compiled.activations:relu_backward_compiled", FLOATS, "b"),
        "gelu_forward": ("speed.compiled.activations:gelu_forward_compiled", "float32", ""),
        "gelu_backward": ("speed.compiled.activations:gelu_backward_compiled", "float32", ""),
        "adam_update": ("speed.compiled.adam:adam_update_compiled", FLOATS, ""),
        "gather_gradients": ("speed.compiled.adam:gather_gradients_compiled", FLOATS, ""),
        "attention_forward": (
            "speed.compiled.attention:attention_forward_compiled",
            "float32",
            "b",
        ),
        "attention_backward": (
            "speed.compiled.attention:attention_backward_compiled",
            "float32",
            "b",
        ),
        "next_position": ("speed.compiled.cached:next_position_compiled", "float32", "b"),
        "continuations": ("speed.compiled.continuations:continuations_compiled", "float32", "f"),
        "log_normaliser": ("speed.compiled.continuations:log_normaliser_compiled", "float32", ""),
        "dropout_forward": ("speed.compiled.dropout:dropout_forward_compiled", FLOATS, ""),
        "dropout_backward": ("speed.compiled.dropout:dropout_backward_compiled", FLOATS, "b"),
        "Residual.forward": ("speed.compiled.dropout:residual_forward_compiled", FLOATS, ""),
        "random_words": ("speed.compiled.dropout:random_words_compiled", "uint64", ""),
        "Embedding.backward": (
            "speed.compiled.embedding:embedding_backward_compiled",
            FLOATS,
            "iu",
        ),
        "layer_norm_forward": ("speed.compiled.layer_norm:layer_norm_forward_compiled", FLOATS, ""),
        "layer_norm_backward": (
            "speed.compiled.layer_norm:layer_norm_backward_compiled",
            FLOATS,
            "",
        ),
        "LinearCrossEntropy.forward": (
            "speed.compiled.loss:loss_forward_compiled",
            "float32",
            "iu",
        ),
        "LinearCrossEntropy.backward": (
            "speed.compiled.loss:loss_backward_compiled",
            "float32",
            "iu",
        ),
    },
)
LOOPS: list[tuple[Any, tuple]] = []  # every compiled loop, with its signature for float32
CHOICES = (None, "1", "0")  # values of MINITRANSFORMER_FAST: kernels, kernels, none
state = SimpleNamespace(  # shared by the process
    say=None,  # what is called with the parts of a line, if anything is compiled
    told=False,  # whether `fast` has said that Numba is missing
    problem=None,  # why no kernels run; "" if they do, None before they are tried
)


@contextmanager
def kernels_run() -> Iterator[None]:
    """Within the block, kernels run in every thread, unless MINITRANSFORMER_FAST is 0. `with
    fast():` also prepares the machine.

    Raises InputError for a value of MINITRANSFORMER_FAST that means nothing.
    """
    choice = os.environ.get("MINITRANSFORMER_FAST")
    if choice not in CHOICES:
        raise InputError(f"MINITRANSFORMER_FAST is {choice!r}, expected 0 (no kernels) or 1")
    if state.problem is None:
        state.problem = _known_problem(choice)
    with nullcontext() if choice == "0" else with_kernels(load):
        yield


def load(entry: Replaceable) -> Kernel | None:
    """The library's kernel of a textbook function, if it has one and kernels can run here; if not,
    `state.problem` says why.
    """
    if entry.name not in KERNELS:
        return None
    place, dtypes, other_kinds = KERNELS[entry.name]
    file, _, name = place.partition(":")
    module = compiled(file)
    return kernel_of(getattr(module, name), "numpy", dtypes, other_kinds) if module else None


def load_all() -> None:
    """Load the kernels of all textbook functions that are imported, the library's own among them."""
    for place, _, _ in KERNELS.loaded.values():
        compiled(place.partition(":")[0])
    with with_kernels(load):
        for entry in [*TABLE.values()]:
            entry.load()


@cache
def compiled(file: str) -> ModuleType | None:
    """A file of kernels, compiled; None if that cannot be, and `state.problem` says why."""
    if state.problem is None:
        state.problem = _known_problem(os.environ.get("MINITRANSFORMER_FAST"))
    if state.problem:
        return None
    try:
        module = compile_new(file)
    except Exception as error:  # a broken Numba may raise anything, and the textbook needs none
        state.problem = _problem_of(error)
        return None
    state.problem = ""
    return module


def compile_new(file: str) -> ModuleType:
    """Import a file of kernels, and compile its loops for float32, or fetch them from the disk;
    `state.say` is told if one is compiled.
    """
    start, before, compiles = time.perf_counter(), len(LOOPS), False
    say = state.say or (lambda text: None)
    module = import_module(f"minitransformer.{file}")
    for function, signature in LOOPS[before:]:  # also those of the files that this one imports
        if not hasattr(function, "compile"):  # kept as Python by NUMBA_DISABLE_JIT
            continue
        function.compile(signature)
        if not compiles and function.stats.cache_misses:
            compiles = True
            say(f"compiling the kernels in {file.rpartition('.')[2]}.py, once: ")
    if compiles:
        say(f"{time.perf_counter() - start:.0f} s\n")
    return module


def _known_problem(choice: str | None) -> str | None:
    """Why no kernels run, as far as it is known before Numba is imported."""
    if choice == "0":
        return "MINITRANSFORMER_FAST is 0"
    if choice is None and os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "NUMBA_DISABLE_JIT is set; MINITRANSFORMER_FAST=1 runs their loops as Python, for a debugger"
    return None


def _problem_of(error: Exception) -> str:
    cause = one_line(str(error).partition("\n")[0])
    if isinstance(error, ModuleNotFoundError) and error.name == "numba":
        return f"Numba is not installed: {how_to_install('numba')}"
    if "cannot cache" in cause or getattr(error, "errno", None):  # or a full disk
        problem = "Numba finds no folder that it can write its code to; set NUMBA_CACHE_DIR to one"
        if state.say:
            state.say(f"no compiled kernels: {problem}\n")
        return problem
    return f"Numba fails: {type(error).__name__}: {cause}"


def in_one_line() -> str:
    """Which kernels run inside `with fast():`, for a command's report."""
    if compiled("speed.compiled.adam"):  # only then is it known whether they can
        return "kernels: compiled by Numba, equal to the textbook to 2e-5: docs/speed.md"
    return f"kernels: none, the textbook runs ({state.problem})"


def say_if_none_is_compiled() -> None:
    """Print one line, once, if Numba is not installed and MINITRANSFORMER_FAST is not set."""
    if not (state.told or os.environ.get("MINITRANSFORMER_FAST") or find_spec("numba")):
        state.told = True
        print(
            f"fast() runs the textbook; its kernels need Numba: {how_to_install('numba')}",
            file=stderr,
        )
