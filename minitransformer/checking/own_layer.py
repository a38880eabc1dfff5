"""The contract of a layer (layers/layer.py), checked for one of your own in one call."""

from typing import Any

import numpy as np

from minitransformer.checking.checked_block import Breach, CheckedBlock
from minitransformer.checking.contract import run_by_contract
from minitransformer.errors import InputError
from minitransformer.layers.layer import Layer


def check_contract(layer, inputs, seed=0) -> None:
    """Raise InputError, in one sentence, where `layer` does not keep the contract at `inputs`, forward's arguments.

    What is looked at, in float64 and in float32:

    - forward and backward keep nothing on the layer: a layer that is used twice has two caches
    - they change neither their inputs nor the cache, and backward repeated says the same
    - backward adds to each parameter's gradient, and never assigns it
    - outputs and gradients have their inputs' dtype, and the shapes of what they belong to

    It says nothing of whether the gradients are right: for that there is `gradcheck`, which looks at all of this in float64.
    `layer` itself stays as it is; a copy is run.
    """
    if not isinstance(layer, Layer):
        raise InputError(f"check_contract: a {type(layer).__name__} is no Layer; derive it from minitransformer.Layer")

    def make_rng() -> np.random.Generator:
        return np.random.default_rng(seed)

    with np.errstate(all="ignore"):
        for dtype in (np.float64, np.float32):
            checked = CheckedBlock(layer, inputs, dtype, make_rng)
            before = _attributes(checked.layer)
            y, cache = checked.forward()
            _nothing_kept(checked.layer, before, "forward")
            dy = checked.upstream(y, make_rng())
            dy = tuple(one.astype(dtype) for one in dy) if isinstance(dy, tuple) else np.asarray(dy, dtype)
            gradients = checked.gradients(dy, cache)
            _nothing_kept(checked.layer, before, "backward")
            _dtype_kept({f"output {i}" if isinstance(y, tuple) else "output": one
                         for i, one in enumerate(y if isinstance(y, tuple) else (y,))}, "forward", np.dtype(dtype))
            _dtype_kept({f"gradient of {name}": gradient for name, gradient in gradients.items()}, "backward", np.dtype(dtype))
        run_by_contract(CheckedBlock(layer, inputs, np.float64, make_rng), seed=seed)


def _attributes(layer) -> dict[str, Any]:
    """{path of an attribute: its value} of a layer and all below it."""
    return {f"{path}.{name}".lstrip("."): value for path, part in {"": layer, **layer.sublayers()}.items()
            for name, value in vars(part).items()}


def _nothing_kept(layer, before, direction) -> None:
    after = _attributes(layer)
    for name in after:
        if name not in before or after[name] is not before[name]:
            raise Breach(f"{direction} keeps something on the layer: self.{name}; a layer that is used twice would mix up both "
                         "uses, so what backward needs belongs in the cache")


def _dtype_kept(arrays, direction, dtype) -> None:
    for name, array in arrays.items():
        found = np.asarray(array).dtype
        if found.kind in "fc" and found != dtype:
            raise Breach(f"the {name} that {direction} returns is {found} for inputs of {dtype}: a layer does not change its "
                         "input's dtype (counts and scales are Python numbers, since float32 times np.float64 is float64)")
