"""Check with one call that your own layer keeps the contract of a layer (layers/layer.py)."""

from typing import Any

import numpy as np

from minitransformer.checking.checked_block import Breach, CheckedBlock, drawing
from minitransformer.checking.contract import check_single_precision, run_by_contract
from minitransformer.errors import InputError
from minitransformer.layers.layer import Layer


def check_contract(layer, inputs, seed=0) -> None:
    """Raise InputError, in one sentence, if `layer` breaks the contract at `inputs`, the arguments of forward.

    It checks, in float64 and in float32:

    - forward and backward keep nothing on the layer: a layer that is used twice has two caches
    - they change neither their inputs nor the cache, and repeating backward gives the same gradients
    - backward adds to each parameter's gradient, and never assigns it
    - outputs and gradients have their inputs' dtype, and the shapes of what they belong to

    It does not check whether the gradients are right: use `gradcheck` for that. `layer` itself
    stays unchanged; a copy is run.
    """
    if not isinstance(layer, Layer):
        raise InputError(f"check_contract: a {type(layer).__name__} is not a Layer; derive it from minitransformer.Layer")

    def make_rng() -> np.random.Generator:
        return drawing(seed)

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
    """{path of an attribute: its value} of a layer and all its sub-layers."""
    return {f"{path}.{name}".lstrip("."): value for path, part in {"": layer, **layer.sublayers()}.items()
            for name, value in vars(part).items()}


def _nothing_kept(layer, before, direction) -> None:
    after = _attributes(layer)
    for name in after:
        if name not in before or after[name] is not before[name]:
            raise Breach(f"{direction} keeps something on the layer: self.{name}; a layer that is used twice would mix up the two "
                         "uses, so what backward needs belongs in the cache")
