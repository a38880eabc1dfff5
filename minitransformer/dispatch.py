"""Replaceable functions: inside `with fast():` a kernel, or anywhere a reader's own function, runs
in their place.

A textbook function is marked where it is defined, and a kernel says what it replaces, and for which
arrays: the library's in one table (speed/kernels.py), a reader's where it is registered:

    @replaceable                                     @replaces(layer_norm_forward, "numpy", "float32 float64")
    def layer_norm_forward(x, gamma, beta): ...      def layer_norm_forward_in_place(x, gamma, beta): ...

The textbook runs unless speed was asked for: then it is the first kernel that fits the arrays, if
there is one. `xxx_forward` and `xxx_backward`, or the methods of one class, are an *operation*.
While a reader's function is plugged in, no kernel runs: a fused attention never bypasses your own
softmax, and all the rest is code that you can read.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, update_wrapper
from threading import RLock
from types import MethodType, SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from minitransformer.errors import InputError, choices

Function = TypeVar("Function", bound=Callable)  # a decorated function keeps its types


class Kernel(NamedTuple):
    function: Callable
    module: str  # the module of its arrays: "numpy" or "cupy"
    dtypes: tuple[Any, ...]
    other_kinds: str  # the kinds of the arrays that may have another dtype
    by_reader: bool = False

    def fits(self, arrays: list) -> bool:
        for array in arrays:  # loops, since every call of a function with kernels waits for them
            if (own := array.dtype) in self.dtypes:
                break
            if own.kind != "f":  # backward's dy may have another float dtype than the cache
                return False
        else:
            return False
        if _module(array.__class__) != self.module:
            return False
        for array in arrays:
            dtype = array.dtype
            if not array.size or (
                dtype is not own and dtype != own and dtype.kind not in self.other_kinds
            ):
                return False
        return True


class Replaceable:
    """A textbook function, and what can run in its place.

    What a call of it runs is in a slot, which Python reads itself: no frame stands between a call
    and the function, so a debugger steps into it at once. (Swapping the functions of a module
    would need no object, but whoever has imported one by its name would keep the textbook.)
    """

    __slots__ = "__call__", "__dict__"
    __call__: Any

    def __init__(self, textbook: Callable):
        update_wrapper(self, textbook)
        self.textbook, self.name = textbook, textbook.__qualname__
        self.operation = (
            self.name.partition(".")[0].removesuffix("_forward").removesuffix("_backward")
        )
        self.kernels: tuple[Kernel, ...] = ()  # the first that fits runs
        self.loaded = False  # whether the library's kernel, if it has one, is among them
        self.plugs: list[list] = []  # a list [own] for each active `with plugged`, in any thread
        self.choose()

    def __get__(self, instance: Any, owner: type | None = None) -> Callable:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<replaceable function {self.name}>"

    def __reduce__(self) -> str:  # a copy is the function itself
        return self.name

    @property
    def own(self) -> Callable | None:
        """The function that a reader plugged in last."""
        return self.plugs[-1][0] if self.plugs else None

    def choose(self) -> None:
        """Decide what the calls from now on run."""
        with_kernels = kernels_are_on() and (self.kernels or not self.loaded)
        self.__call__ = self.own or (self._run_what_fits if with_kernels else self.textbook)

    def _run_what_fits(self, *arguments: Any, **options: Any) -> Any:
        if not self.loaded:
            self.load()
        arrays = _arrays((*arguments, *options.values()), [])
        for kernel in self.kernels if arrays else ():
            if kernel.fits(arrays):
                return kernel.function(*arguments, **options)
        return self.textbook(*arguments, **options)

    def load(self) -> None:
        """Have the library's kernel imported, once: before the first call that may run it."""
        with _lock:  # compiling takes a while: the other threads wait
            if not self.loaded:
                kernel = _state.load(self)
                self.kernels = (*self.kernels, kernel) if kernel else self.kernels
                self.loaded = True
                self.choose()


TABLE: dict[str, Replaceable] = {}  # by name, in the order of definition
_state = SimpleNamespace(  # shared by the process
    fast=0,  # the number of requests that kernels run
    replaced=frozenset(),  # the operations that a reader has replaced
    load=None,  # load(entry): the library's Kernel for a Replaceable, or None
)
_lock = RLock()  # for all that this module changes


def replaceable(textbook: Function) -> Function:
    """Mark a function or a method as one that kernels and readers may replace.

    Raises InputError if a function with the same name in another module is already marked.
    """
    before = TABLE.get(textbook.__qualname__)
    if before and before.textbook.__module__ != textbook.__module__:
        raise InputError(
            f"{textbook.__qualname__} is the name of a replaceable function in {before.textbook.__module__}; "
            "choose another, or plug it in there: with plugged(...)"
        )
    function = TABLE[textbook.__qualname__] = Replaceable(textbook)
    return function  # type: ignore[return-value]


def replaces(
    textbook: Callable, module: str, dtypes: str, other_kinds: str = ""
) -> Callable[[Function], Function]:
    """Register a kernel for a function marked `replaceable`: for arrays of `module`, with the
    dtypes named in a string. It runs ahead of those that are already registered.

    All arrays of a call must have the same one, except those of the kinds `other_kinds`: "b" for
    masks, "iu" for ids. Complex arrays should use the textbook: the complex step checks it.
    """
    entry = _entry(textbook)

    def register(function: Function) -> Function:
        kernel = kernel_of(function, module, dtypes, other_kinds, by_reader=True)
        with _lock:
            entry.kernels = (kernel, *entry.kernels)
            entry.choose()
        return function

    return register


def kernel_of(
    function: Callable, module: str, dtypes: str, other_kinds: str = "", by_reader: bool = False
) -> Kernel:
    """A Kernel with its dtypes from a string: "float32 float64"."""
    # here: `import minitransformer` loads this module, and must not wait for NumPy
    from numpy import dtype

    return Kernel(function, module, tuple(map(dtype, dtypes.split())), other_kinds, by_reader)


@contextmanager
def with_kernels(load: Callable[[Replaceable], Kernel | None]) -> Iterator[None]:
    """Within the block, kernels run in every thread. load(entry): the library's Kernel for a
    Replaceable, if it has one.
    """
    _state.load = load
    _change(lambda: setattr(_state, "fast", _state.fast + 1))
    try:
        yield
    finally:
        _change(lambda: setattr(_state, "fast", _state.fast - 1))


@contextmanager
def plugged(function: Callable, own: Callable | None) -> Iterator[None]:
    """Within the block, `own` runs wherever the replaceable `function` is called, in every thread,
    and no kernel runs.

        with plugged(softmax_backward, my_softmax_backward):
            model.backward(dlogits, cache)

    Forward and backward belong in one `with`: the backward that reads a cache must belong to the
    forward that made it. None removes what an outer `with` plugged in. If blocks of several threads
    overlap, the one entered last applies. Raises InputError if `function` is not replaceable or
    `own` is not a function.
    """
    entry = _entry(function)
    if own is not None and not callable(own):
        raise InputError(
            f"the object plugged in for {entry.name} is of type {type(own).__name__}, expected a function"
        )
    plug = [own]  # a unique object: others may leave before this one
    _change(lambda: entry.plugs.append(plug))
    try:
        yield
    finally:
        _change(
            lambda: setattr(entry, "plugs", [other for other in entry.plugs if other is not plug])
        )


def is_replaced(function: Any) -> bool:
    """Whether a reader has replaced `function`, or another function of its operation."""
    return _entry(function).operation in _state.replaced


def kernels_are_on() -> bool:
    """Whether kernels run in this process now, where there are any."""
    return bool(_state.fast and not _state.replaced)


def textbook_of(function: Callable) -> Callable:
    """The textbook of a replaceable function, for cases that its kernel cannot do."""
    return _entry(function).textbook


def running(module: str = "numpy", dtype: str = "float32") -> dict[str, Callable]:
    """{name of a replaceable function: the function that runs now for arrays of that module and
    dtype}.
    """
    found = {}
    for name, entry in list(TABLE.items()):
        found[name] = entry.own or entry.textbook
        if kernels_are_on():
            entry.load()
            fitting = (
                kernel.function
                for kernel in entry.kernels
                if kernel.module == module and dtype in kernel.dtypes
            )
            found[name] = next(fitting, entry.textbook)
    return found


def _entry(function: Any) -> Replaceable:
    if not isinstance(function, Replaceable):
        name = getattr(function, "__qualname__", repr(function))
        raise InputError(f"{name} cannot be replaced; {choices(name, list(TABLE))}")
    return function


def _change(change: Callable[[], Any]) -> None:
    """Change the state of this module, and decide anew what every function runs."""
    with _lock:
        change()
        _state.replaced = frozenset(entry.operation for entry in TABLE.values() if entry.own)
        for entry in TABLE.values():
            entry.choose()


@lru_cache(None)
def _module(kind: type) -> str | None:  # None: a type that is not one of arrays
    return kind.__module__.partition(".")[0] if hasattr(kind, "ndim") else None


def _arrays(values: Any, found: list) -> list:
    """The arrays among the arguments, and in caches and lists among them, appended to `found`."""
    for value in values:
        if isinstance(value, (tuple, list)):
            _arrays(value, found)
        elif _module(value.__class__) and value.ndim:
            found.append(value)
    return found
