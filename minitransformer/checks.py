"""Checks of what is handed to a layer: a shape, and token ids."""

import numpy as np

from minitransformer.errors import InputError


def check_shape(name, array, *expected):
    """Raise InputError unless `array` has the `expected` shape.

    An int stands for an axis of that size, a string names an axis of any size, and a leading
    `...` stands for any number of axes: `check_shape("Linear: x", x, ..., 512)`.
    """
    wanted = ", ".join("..." if size is ... else str(size) for size in expected)
    if not hasattr(array, "shape"):
        raise InputError(f"{name} is a {type(array).__name__}, expected an array of shape ({wanted})")
    sizes = expected[1:] if expected[0] is ... else expected
    fits = array.ndim == len(sizes) or (expected[0] is ... and array.ndim > len(sizes))
    tail = array.shape[array.ndim - len(sizes):]
    if not fits or any(isinstance(size, int) and size != got for size, got in zip(sizes, tail)):
        raise InputError(f"{name} has shape {array.shape}, expected ({wanted})")


def check_ids(name, ids, size):
    """Raise InputError unless every id in `ids` is one of 0 .. size-1.

    Token ids stay on the host, wherever the model is: looking at them on a GPU would wait for it, and
    not looking would let an id out of range wrap around silently.
    """
    if not isinstance(ids, np.ndarray):
        raise InputError(f"{name} is a {type(ids).__module__}.{type(ids).__name__}, expected a NumPy array: "
                         "token ids stay on the host")
    if ids.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {ids.dtype}, expected an array of integer token ids")
    if ids.size and not (0 <= ids.min() and ids.max() < size):
        wrong = ids[(ids < 0) | (ids >= size)][0]
        raise InputError(f"{name} holds the token id {wrong}, expected 0 to {size - 1}")
