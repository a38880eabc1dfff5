"""A layer's weights in a safetensors file, which any framework can read."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from minitransformer.backend import Array, to_device, to_host
from minitransformer.errors import InputError
from minitransformer.files import as_path, check_regular, write_durably
from minitransformer.layers.layer import Layer

# the format's names of the dtypes read here
CODES = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "BF16": np.uint16}


class Arrays(Mapping):
    """{name: array}: each is read when it is asked for, so that large files need little memory."""

    places: dict[str, Any]  # {name: where the array is}

    def __contains__(self, name: object) -> bool:  # without reading it
        return name in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


class WeightsFile(Arrays):
    """The arrays of a safetensors file.

    float16, and bfloat16, which NumPy lacks, become float32. Raises InputError for a file that is
    not intact.
    """

    def __init__(self, path: str | Path, what: str = "a safetensors file"):
        self.path = as_path(path)
        check_regular(self.path, what)
        try:
            with self.path.open("rb") as file:
                size = int.from_bytes(file.read(8), "little")
                with safe_open(
                    self.path, framework="np"
                ) as checked:  # that the header describes the file, byte for byte
                    self.metadata: dict[str, str] = checked.metadata() or {}
                self.places = json.loads(file.read(size))
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from None
        except (SafetensorError, ValueError) as error:
            raise InputError(f"{path}: not {what} ({error})") from None
        self.places.pop("__metadata__", None)
        self._start = 8 + size

    def __getitem__(self, name: str) -> np.ndarray:
        code, shape, (begin, end) = (
            self.places[name][key] for key in ("dtype", "shape", "data_offsets")
        )
        if code not in CODES:
            raise InputError(f"{self.path}: {name} is {code}, expected {', '.join(CODES)}")
        dtype = np.dtype(CODES[code])
        array = np.fromfile(
            self.path, dtype, (end - begin) // dtype.itemsize, offset=self._start + begin
        ).reshape(shape)
        if code == "BF16":  # the upper half of a float32
            return (array.astype(np.uint32) << 16).view(np.float32)
        return array.astype(np.float32) if code == "F16" else array

    def shape_of(self, name: str) -> tuple[int, ...]:
        """The shape of an array, which is not read."""
        return tuple(self.places[name]["shape"])


def as_safetensors(
    shapes: Mapping[str, tuple[DTypeLike, tuple[int, ...]]],
    arrays: Iterable[Array],
    metadata: dict[str, str],
) -> Iterator[Any]:
    """A safetensors file piece by piece, so that only one of the `arrays` needs to be in memory at
    a time.

    shapes: {name: (dtype, shape)}; arrays: one for each, in the same order; metadata: {name: text}.
    """
    codes = {np.dtype(dtype): code for code, dtype in CODES.items()}
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, (dtype, shape) in shapes.items():
        begin, end = end, end + np.dtype(dtype).itemsize * math.prod(shape)
        header[name] = {
            "dtype": codes[np.dtype(dtype)],
            "shape": shape,
            "data_offsets": [begin, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the arrays are aligned
    yield len(text).to_bytes(8, "little")
    yield text
    yield from map(np.ascontiguousarray, arrays)


def to_bytes(arrays: Mapping[str, Array]) -> bytes:
    """The safetensors file of {name: array}."""
    return save({name: np.asarray(to_host(array), order="C") for name, array in arrays.items()})


def from_bytes(data: bytes) -> dict[str, np.ndarray]:
    """{name: array} of a safetensors file. Raises InputError for anything else."""
    try:
        return load(data)
    except SafetensorError as error:
        raise InputError(f"not a safetensors file ({error})") from None


def save_weights(layer: Layer, path: str | Path) -> None:
    """Write {parameter name: array} of any Layer, a shared one once, as a safetensors file.

    An old file at `path` stays until the new one is complete. Raises InputError if the file cannot
    be written, and for complex parameters, which the format does not support.
    """
    if not as_path(path).name:
        raise InputError(f"save_weights: path is {path!r}, expected the path of a safetensors file")
    check_regular(Path(path), "the path of a safetensors file")  # a device would be replaced
    weights = {name: parameter.data for name, parameter in layer.parameters().items()}
    for name, array in weights.items():
        if array.dtype.kind != "f":
            raise InputError(
                f'{name} is {array.dtype}, which a safetensors file cannot hold; save layer.astype("float64")'
            )
    try:
        write_durably(Path(path), to_bytes(weights))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def load_weights(layer: Layer, path: str | Path) -> None:
    """Load a file from `save_weights` into the parameters of a layer with the same sizes.

    Raises InputError if the file does not fit the layer, naming the array, or if it cannot be read;
    the layer then stays unchanged.
    """
    weights = WeightsFile(path)
    try:
        set_weights(layer, weights)
    except InputError as error:
        raise InputError(f"{path} does not fit the {type(layer).__name__}: {error}") from None


def set_weights(layer: Layer, weights: Mapping[str, Array]) -> None:
    """Load {parameter name: array}. Raises InputError, before changing anything, if they do not fit
    the layer.
    """
    parameters = layer.parameters()
    dtypes = check_arrays(
        weights, {name: parameter.shape for name, parameter in parameters.items()}
    )
    for name, parameter in sorted(parameters.items()):
        if dtypes[name] != parameter.data.dtype:
            raise InputError(
                f"{name} is {dtypes[name]}, but the layer's is {parameter.data.dtype}; convert the "
                f'layer with astype("{dtypes[name]}")'
            )
    for name, parameter in parameters.items():
        if isinstance(weights, WeightsFile):  # a new array, which may replace the old one
            parameter.data = to_device(weights[name], layer.xp)
        else:
            parameter.data[...] = to_device(weights[name], layer.xp)


def check_arrays(
    arrays: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, np.dtype]:
    """The dtypes of {name: array}. Raises InputError unless they have the names and shapes of
    {name: shape}, and finite numbers.
    """
    dtypes = {}
    for name in sorted(shapes.keys() | arrays.keys()):
        if name not in arrays:
            raise InputError(f"{name}: found no such array, expected {shapes[name]}")
        array, expected = arrays[name], shapes.get(name, "no such array")
        if array.shape != expected:
            raise InputError(f"{name}: found {array.shape}, expected {expected}")
        check_finite(name, array)
        dtypes[name] = array.dtype
    return dtypes


def check_finite(name: str, array: Array) -> None:
    """Raise InputError unless an array holds finite real numbers."""
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        raise InputError(f"{name} contains something other than finite real numbers")
