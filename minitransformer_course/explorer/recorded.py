"""What a model computes for one sentence, layer by layer, and the gradient of the loss with respect
to it.

The page of a model that is too large for its engine shows these numbers, and the engine's own are
tested against them.
"""

import math
from typing import Any

from minitransformer.backend import Array
from minitransformer.functional import softmax_backward
from minitransformer.layers.attention import MultiHeadAttention
from minitransformer.layers.embedding import Embedding
from minitransformer.layers.feed_forward import FeedForward
from minitransformer.layers.hooks import hooked
from minitransformer.layers.input import Input
from minitransformer.layers.residual import Residual


def record(model, batch, smoothing) -> tuple[float, dict[str, tuple]]:
    """(the loss for each token, {path of a layer of the engine: (value, gradient)}) of one
    sentence, without the batch axis.

    The gradients of the parameters are left in them.
    """
    calls: dict[tuple[str, str], tuple] = {}  # {(path, direction): (arguments, result)}

    def around(path, direction, method, *arguments, **options) -> Any:
        result = method(*arguments, **options)
        calls[path, direction] = arguments, result
        return result

    model.zero_grad()
    with hooked(model, around):
        sums, cache = model.loss_forward(batch, smoothing=smoothing)
        model.loss_backward(1 / batch.terms, cache)
    arrays: dict[str, tuple] = {}
    for path, layer in model.sublayers().items():
        if path == "loss" or (path, "backward") not in calls or isinstance(layer, Embedding):
            # an embedding may be used twice: its values are those that the positions are added to
            continue
        arguments, (y, cache) = calls[path, "forward"]
        (dy, *_), dx = calls[path, "backward"]
        arrays[path] = y, dy
        if isinstance(layer, Input):
            inner = [calls[f"{path}.positions", direction] for direction in ("forward", "backward")]
            arrays[f"{path}.embedding"] = inner[0][0][0], inner[1][1]
        elif isinstance(layer, FeedForward):
            arrays[f"{path}.activation"] = (
                calls[f"{path}.outer", "forward"][0][0],
                calls[f"{path}.outer", "backward"][1],
            )
        elif isinstance(layer, Residual):
            norm = [calls[f"{path}.norm", direction] for direction in ("forward", "backward")]
            arrays[f"{path}.add"] = (y, dy) if layer.pre_norm else (norm[0][0][0], norm[1][1])
        elif isinstance(layer, MultiHeadAttention):
            dheads = layer.split(calls[f"{path}.output", "backward"][1])
            arrays.update(_inside(path, layer, cache.attention, dheads))
    return float(sums.loss) / batch.terms, {
        path: tuple(a[0] for a in both) for path, both in arrays.items()
    }


def _inside(path, layer, cache, dheads) -> dict[str, tuple[Array, Array]]:
    """The heads' scores, weights and weighted sums: each (value, gradient), (B, H, T_q, ...)."""
    dp = dheads @ cache.value.swapaxes(-1, -2)
    scores = cache.query @ cache.key.swapaxes(-1, -2) / math.sqrt(cache.query.shape[-1])
    return {
        f"{path}.scores": (scores, softmax_backward(dp, cache.softmax)),
        f"{path}.softmax": (cache.softmax.p, dp),
        f"{path}.weighted_sum": (cache.weights @ cache.value, dheads),
    }
