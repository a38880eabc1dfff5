"""A layer's weights in a safetensors file, which any framework can read."""

from os import PathLike
from pathlib import Path

import numpy as np

from minitransformer.backend import to_device, to_host
from minitransformer.errors import InputError


def save_weights(layer, path) -> None:
    """Write {parameter name: array} of any Layer, a shared one once, as a safetensors file.

    An old file at `path` stays until the new one is complete. Raises InputError if the file cannot be written, and for
    complex parameters, which the format does not support.
    """
    from safetensors.numpy import save

    from minitransformer.training.files import write_durably

    _check("save_weights", layer, path)
    weights = {name: np.ascontiguousarray(to_host(parameter.data)) for name, parameter in layer.parameters().items()}
    for name, array in weights.items():
        if array.dtype.kind != "f":
            raise InputError(f"{name} is {array.dtype}, which a safetensors file cannot hold; save layer.astype(\"float64\")")
    try:
        write_durably(Path(path), save(weights))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def load_weights(layer, path=None) -> None:
    """Load a file from `save_weights` into the parameters of a layer with the same sizes.

    Raises InputError if the file does not fit the layer, naming the array, or if it cannot be read; the layer then
    stays unchanged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    _check("load_weights", layer, path)
    try:
        weights = load(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (SafetensorError, ValueError, TypeError, LookupError) as error:
        raise InputError(f"{path}: not a safetensors file ({error})") from None
    try:
        set_weights(layer, weights)
    except InputError as error:
        raise InputError(f"{path} does not fit the {type(layer).__name__}: {error}") from None


def _check(name, layer, path) -> None:
    if isinstance(layer, type) or not hasattr(layer, "parameters"):
        raise InputError(f"{name}: a {type(layer).__name__} is not a Layer")
    if not isinstance(path, (str, PathLike)):
        raise InputError(f"{name}: path is {path!r:.60}, expected the path of a safetensors file")


def set_weights(layer, weights) -> None:
    """Load {parameter name: array}. Raises InputError, before changing anything, if they do not fit the layer."""
    parameters = layer.parameters()
    check_arrays(weights, {name: parameter.shape for name, parameter in parameters.items()})
    for name, parameter in sorted(parameters.items()):
        if weights[name].dtype != parameter.data.dtype:
            raise InputError(f"{name} is {weights[name].dtype}, but the layer's is {parameter.data.dtype}; convert the "
                             f"layer with astype(\"{weights[name].dtype}\")")
    for name, parameter in parameters.items():
        parameter.data[...] = to_device(weights[name], layer.xp)


def check_arrays(arrays, shapes) -> None:
    """Raise InputError unless {name: array} have the names and the shapes of {name: shape}, and hold finite real numbers."""
    for name in sorted(shapes.keys() | arrays.keys()):
        expected = shapes.get(name, "no such array")
        found = arrays[name].shape if name in arrays else "no such array"
        if expected != found:
            raise InputError(f"{name}: found {found}, expected {expected}")
        if arrays[name].dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise InputError(f"{name} contains something other than finite real numbers")
