"""Replaceable functions: a faster kernel, or a reader's own function, can run in their place.

A textbook function is marked where it is defined, and a kernel says what it replaces where it is registered:

    @replaceable                                     @replaces(layer_norm_forward, "numpy", "float32 float64")
    def layer_norm_forward(x, gamma, beta): ...      def layer_norm_forward_in_place(x, gamma, beta): ...

Each call then runs one of three: the function that a reader plugged in, otherwise the kernel registered last that fits the
arrays, otherwise the textbook. `xxx_forward` and `xxx_backward`, or the methods of one class, are an *operation*. While
anything is plugged in, no kernel runs: a fused attention never bypasses your own softmax, and all the rest is code that you
can read.

To step through what you read in a debugger, use `with textbook():`. A step into a marked function enters `function` below
first, then the textbook.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from threading import Lock, RLock
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from minitransformer.errors import InputError, choices

Function = TypeVar("Function", bound=Callable)    # a decorated function keeps its types
TABLE = {}            # {name: Replaceable}, in the order of definition


class Kernel(NamedTuple):
    function: Any
    module: str       # the module of its arrays: "numpy" or "cupy"
    dtypes: tuple
    besides: str      # the kinds of the arrays that may have another dtype

    def fits(self, arrays) -> bool:
        first = arrays[0].dtype
        if first not in self.dtypes or _module(arrays[0].__class__) != self.module:
            return False
        for array in arrays:    # a loop, since every call of a marked function waits for it
            dtype = array.dtype
            if dtype is not first and dtype != first and dtype.kind not in self.besides:
                return False
        return True


class Replaceable:
    """A textbook function and the functions that can run in its place."""

    def __init__(self, textbook):
        self.textbook = textbook
        self.name = textbook.__qualname__
        self.operation = self.name.partition(".")[0].removesuffix("_forward").removesuffix("_backward")
        self.kernels = []      # the one registered last comes first
        self.loaded = False    # whether the loader was asked for its kernels
        self.plugs = []        # a list [own] for each active `with plugged`, in any thread
        self.own = None        # the function that a reader plugged in last

    def choose(self, values) -> Callable:
        """The function to call with these arguments."""
        if self.own:
            return self.own
        if _state.textbooks or _state.replaced:
            return self.textbook
        if not self.loaded:
            self.load()
        arrays = _arrays(values) if self.kernels else []
        for kernel in self.kernels if arrays else []:
            if kernel.fits(arrays):
                return kernel.function
        return self.textbook

    def load(self) -> None:
        """Have the loader register the kernels of this function, when it is first called: they import it."""
        with _loading:    # compiling takes a while: the other threads wait
            if not self.loaded:
                _state.load(self.textbook)
                self.loaded = True


_TEXTBOOKS = int(os.environ.get("MINITRANSFORMER_FAST") == "0")
_state = SimpleNamespace(    # shared by the process
    textbooks=_TEXTBOOKS,    # the number of requests that no kernel run
    replaced=frozenset(),           # the operations that a reader has replaced
    load=lambda textbook: None)     # registers the kernels of a textbook: none until `load_kernels_with`
_lock = Lock()    # for the state that `plugged` and `textbook` change
_loading = RLock()


def load_kernels_with(load) -> None:
    """Hand over the loader: load(textbook) registers the kernels of a function before it first runs."""
    _state.load = load


def replaceable(textbook: Function) -> Function:
    """Mark a function or a method as one that kernels and readers may replace.

    Raises InputError if a function with the same name in another module is already marked.
    """
    before = TABLE.get(textbook.__qualname__)
    if before and before.textbook.__module__ != textbook.__module__:
        raise InputError(f"{textbook.__qualname__} is the name of a replaceable function in {before.textbook.__module__}; "
                         "choose another, or plug it in there: with plugged(...)")
    entry = TABLE[textbook.__qualname__] = Replaceable(textbook)

    @wraps(textbook)
    def function(*arguments, **options) -> Any:
        chosen = entry.choose((*arguments, *options.values()))
        try:
            return chosen(*arguments, **options)
        except (AttributeError, TypeError, ValueError) as error:
            cache = options.get("cache", arguments[-1] if arguments else None)
            if is_backward and chosen is not entry.own and _is_about(error, cache):
                raise InputError(f"{entry.name} cannot use a cache of type {type(cache).__name__} ({error}); give it the one that "
                                 "its forward returned, and keep both in one `with plugged(...)` or `with textbook()`") from None
            raise

    is_backward = entry.name.endswith("backward")
    function.replaceable = entry    # type: ignore[attr-defined]    # what a function is given
    return function    # type: ignore[return-value]


def replaces(textbook, module, dtypes, besides="") -> Callable[[Function], Function]:
    """Register a kernel for a function marked `replaceable`: for arrays of `module`, with the dtypes named in a string.

    All arrays of a call must have the same one, except those of the kinds `besides`: "b" for masks, "iu" for ids. Complex
    arrays should use the textbook: the complex step checks it.
    """
    from numpy import dtype    # here: `import minitransformer` loads this module, and must not wait for NumPy

    entry = _entry(textbook)

    def register(function: Function) -> Function:
        entry.kernels.insert(0, Kernel(function, module, tuple(map(dtype, dtypes.split())), besides))
        return function

    return register


@contextmanager
def plugged(function, own) -> Iterator[None]:
    """Within the block, `own` runs wherever the replaceable `function` is called, in every thread, and no kernel runs.

        with plugged(softmax_backward, my_softmax_backward):
            model.backward(dlogits, cache)

    Forward and backward belong in one `with`: the backward that reads a cache must belong to the forward that made it. None
    removes what an outer `with` plugged in. If blocks of several threads overlap, the one entered last applies. Raises
    InputError if `function` is not replaceable or `own` is not a function.
    """
    entry = _entry(function)
    if own is not None and not callable(own):
        raise InputError(f"the object plugged in for {entry.name} is of type {type(own).__name__}, expected a function")
    plug = [own]    # a unique object: others may leave before this one
    with _lock:
        entry.plugs.append(plug)
        _update(entry)
    try:
        yield
    finally:
        with _lock:
            entry.plugs = [other for other in entry.plugs if other is not plug]
            _update(entry)


@contextmanager
def textbook() -> Iterator[None]:
    """Within the block, no kernel runs in any thread: a debugger stops in the textbook. MINITRANSFORMER_FAST=0 does the same."""
    with _lock:
        _state.textbooks += 1
    try:
        yield
    finally:
        with _lock:
            _state.textbooks -= 1


def is_replaced(function) -> bool:
    """Whether a reader has replaced `function`, or another function of its operation."""
    return _entry(function).operation in _state.replaced


def runs_as_usual() -> bool:
    """Whether a new process would run the same functions: none is plugged in, no `with textbook()`, no kernel but the library's."""
    modules = {str(kernel.function.__module__) for entry in TABLE.values() for kernel in entry.kernels}
    return not _state.replaced and _state.textbooks == _TEXTBOOKS and all(
        module.startswith("minitransformer.kernels.") for module in modules)


def textbook_of(function) -> Callable:
    """The textbook of a replaceable function, for cases that its kernel cannot do."""
    return _entry(function).textbook


def running(module="numpy", dtype="float32") -> dict[str, Callable]:
    """{name of a replaceable function: the function that runs for arrays of that module and dtype}."""
    found = {}
    for name, entry in list(TABLE.items()):
        entry.load()
        kernels = [] if _state.textbooks or _state.replaced else entry.kernels
        fitting = (kernel.function for kernel in kernels if kernel.module == module and dtype in kernel.dtypes)
        found[name] = next(fitting, entry.own or entry.textbook)
    return found


def _entry(function) -> Replaceable:
    entry = getattr(function, "replaceable", None)
    if not isinstance(entry, Replaceable):    # a module may have imported another object with that name
        name = getattr(function, "__qualname__", repr(function))
        raise InputError(f"{name} cannot be replaced; {choices(name, list(TABLE))}")
    return entry


def _update(entry) -> None:
    entry.own = entry.plugs[-1][0] if entry.plugs else None
    _state.replaced = frozenset(other.operation for other in TABLE.values() if other.own)


def _is_about(error, cache) -> bool:
    """Whether the error is that `cache` lacks something that the function itself looked up in it."""
    frame = error.__traceback__.tb_next
    if frame is None or frame.tb_next:    # it was never called, or a function that it calls failed
        return False
    return error.obj is cache if isinstance(error, AttributeError) else "unpack" in str(error)


def unregister(start) -> None:
    """Take back the kernels of all modules whose names begin with `start`."""
    for entry in TABLE.values():
        entry.kernels = [kernel for kernel in entry.kernels if not kernel.function.__module__.startswith(start)]


@lru_cache(None)
def _module(kind) -> str | None:    # None: a type that is not one of arrays
    return kind.__module__.partition(".")[0] if hasattr(kind, "ndim") else None


def _arrays(values) -> list:
    """The arrays among the arguments, and in caches and lists among them."""
    found = []
    for value in values:
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if _module(one.__class__) and one.ndim:
                found.append(one)
    return found
