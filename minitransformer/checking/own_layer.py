"""The contract of a layer (layers/layer.py), checked for one of your own in one call."""

from typing import Any

import numpy as np

from minitransformer.checking.checked_block import Breach, CheckedBlock
from minitransformer.checking.contract import check_single_precision, run_by_contract
from minitransformer.errors import InputError
from minitransformer.layers.layer import Layer


def check_contract(layer, inputs, seed=0) -> None:
    """Raise InputError, in one sentence, where `layer` does not keep the contract at `inputs`, forward's arguments.

    What is looked at, in float64 and in float32:

    - forward and backward keep nothing on the layer: a layer that is used twice has two caches
    - they change neither their inputs nor the cache, and backward repeated says the same
    - backward adds to each parameter's gradient, and never assigns it
    - outputs and gradients have their inputs' dtype, and the shapes of what they belong to

    It says nothing of whether the gradients are right: for that there is `gradcheck`. `layer` itself
    stays as it is; a copy is run.
    """
    if not isinstance(layer, Layer):
        raise InputError(f"check_contract: a {type(layer).__name__} is no Layer; derive it from minitransformer.Layer")

    def make_rng() -> np.random.Generator:
        return np.random.default_rng(seed)

    with np.errstate(all="ignore"):
        checked = CheckedBlock(layer, inputs, np.float64, make_rng)
        before = _attributes(checked.layer)
        y, cache = checked.forward()
        _nothing_kept(checked.layer, before, "forward")
        checked.gradients(checked.upstream(y, make_rng()), cache)
        _nothing_kept(checked.layer, before, "backward")
        check_single_precision(layer, inputs, make_rng)
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
