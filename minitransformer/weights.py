"""A layer's weights as a file: safetensors, which any framework reads."""

from pathlib import Path

import numpy as np

from minitransformer.backend import to_device, to_host
from minitransformer.errors import InputError


def save_weights(layer, path) -> None:
    """Write {parameter name: array} of any Layer, a shared one once, as a safetensors file.

    An old file at `path` stays until the new one is complete. Raises InputError if it cannot be written, and for complex
    parameters, which the format lacks.
    """
    from safetensors.numpy import save

    from minitransformer.training.files import write_durably

    if not hasattr(layer, "parameters"):
        raise InputError(f"save_weights: a {type(layer).__name__} is no Layer")
    weights = {name: np.ascontiguousarray(to_host(parameter.data)) for name, parameter in layer.parameters().items()}
    for name, array in weights.items():
        if array.dtype.kind != "f":
            raise InputError(f"{name} is {array.dtype}, which a safetensors file cannot hold; save layer.astype(\"float64\")")
    try:
        write_durably(Path(path), save(weights))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def load_weights(layer, path) -> None:
    """Read what `save_weights` wrote into the parameters of a layer of the same sizes.

    Raises InputError, naming the array, if the file does not fit the layer, and where it cannot be read; the layer then
    stays as it was.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

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


def set_weights(layer, weights) -> None:
    """Take over {parameter name: array}. Raises InputError, before it changes any, if these are not the layer's."""
    parameters = layer.parameters()
    for name in sorted(parameters.keys() | weights.keys()):
        expected = parameters[name].shape if name in parameters else "no such array"
        found = weights[name].shape if name in weights else "no such array"
        if expected != found:
            raise InputError(f"{name}: found {found}, expected {expected}")
        if weights[name].dtype.kind != "f" or not np.isfinite(weights[name]).all():
            raise InputError(f"{name} holds something else than finite real numbers")
        if weights[name].dtype != parameters[name].data.dtype:
            raise InputError(f"{name} is {weights[name].dtype}, but the layer's is {parameters[name].data.dtype}; convert the "
                             f"layer with astype(\"{weights[name].dtype}\")")
    for name, parameter in parameters.items():
        parameter.data[...] = to_device(weights[name], layer.xp)
