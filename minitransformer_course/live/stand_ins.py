"""Small modules for those of the library's dependencies that a browser lacks: safetensors is
compiled, and the others serve terminals and several processes.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

DTYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "BF16": np.uint16}


class SafetensorError(ValueError):
    pass


class SafeOpen:
    """The header of a file of safetensors."""

    def __init__(self, path: str, framework: str):
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            self._metadata = json.loads(file.read(size)).get("__metadata__")

    def __enter__(self) -> "SafeOpen":
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def metadata(self) -> dict[str, str] | None:
        return self._metadata


def load(data: bytes) -> dict[str, np.ndarray]:
    """The arrays of a file of safetensors."""
    start = 8 + int.from_bytes(data[:8], "little")
    places = json.loads(data[8:start])
    places.pop("__metadata__", None)
    found = {}
    for name, place in places.items():
        begin, end = place["data_offsets"]
        array = np.frombuffer(data[start + begin : start + end], DTYPES[place["dtype"]])
        found[name] = array.reshape(place["shape"]).copy()
    return found


def save(arrays: dict[str, np.ndarray]) -> bytes:
    """A file of safetensors."""
    codes = {np.dtype(dtype): code for code, dtype in DTYPES.items()}
    header, end = {}, 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        place = {"dtype": codes[array.dtype], "shape": array.shape, "data_offsets": [begin, end]}
        header[name] = place
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return (
        len(text).to_bytes(8, "little") + text + b"".join(map(np.ndarray.tobytes, arrays.values()))
    )


class Bar:
    """A progress bar that nobody sees."""

    def __init__(self, iterable: Iterable = (), **_settings: Any):
        self._iterable = iterable

    def __iter__(self) -> Iterator:
        return iter(self._iterable)

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return lambda *_given, **_named: None

    @staticmethod
    def format_interval(seconds: float) -> str:
        return f"{seconds:.0f} s"


class Lock:
    """A lock of a file in a page, which has one process."""

    def __init__(self, *_given: Any, **_named: Any):
        pass

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return lambda *_given, **_named: None


class Blas:
    """The threads of NumPy's BLAS, where there is none."""

    lib_controllers = ()

    def select(self, **_named: Any) -> "Blas":
        return self

    def limit(self, **_named: Any) -> AbstractContextManager[None]:
        return nullcontext()


MODULES: dict[str, dict[str, Any]] = {
    "safetensors": {"SafetensorError": SafetensorError, "safe_open": SafeOpen},
    "safetensors.numpy": {"load": load, "save": save},
    "tqdm": {"tqdm": Bar},
    "threadpoolctl": {"ThreadpoolController": Blas},
    "filelock": {"FileLock": Lock, "Timeout": TimeoutError},
}


def install() -> None:
    """Put those in the place of the modules that are missing."""
    missing = [name for name in MODULES if find_spec(name.partition(".")[0]) is None]
    for name in missing:
        module = ModuleType(name)
        vars(module).update(MODULES[name])
        sys.modules[name] = module
    if sys.platform == "emscripten":
        os.cpu_count = lambda: 1  # it starts no threads
        np.bincount = counting(np.bincount)


def counting(bincount: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """NumPy's own, which refuses the 64 bits of a generator's ids where its integers have 32."""

    @wraps(bincount)
    def counted(x: Any, *given: Any, **named: Any) -> np.ndarray:
        return bincount(np.asarray(x).astype(np.intp, casting="same_kind"), *given, **named)

    return counted
