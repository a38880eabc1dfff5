"""Mistakes that no one change of the right backward makes: each is a change of the library's code.
To add one, see docs/teach_the_doctor.md.
"""

from collections.abc import Iterator
from functools import cache, partial
from itertools import permutations
from typing import Any

from minitransformer.backend import Array
from minitransformer_course.doctor.mistakes import TAUGHT, Mistake, method_of
from minitransformer_course.judge.fixtures import rewritten

GELU = "(0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * u_prime)"
EXACT_GELU = (
    "((1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2"
    " + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))"
)
SIGMOID_GELU = "((1 + 1.702 * x / (1 + np.exp(1.702 * x))) / (1 + np.exp(-1.702 * x)))"
UNMERGED = "(lambda x: x.reshape(len(x), x.shape[2], -1))("
UNSPLIT = "(lambda x: x.reshape(len(x), self.num_heads, x.shape[1], -1))("
NOT_TURNED = "in the wrong order of axes: the transpose of heads and positions is missing"
HEADS = "self.attend_backward(dheads, cache.attention)"
SCORES = "softmax_backward(dp, softmax)"
UNMASKED = "softmax_forward(query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1]))"
LOSS = "dlogits *= real.reshape(-1, 1) * dloss"
P = "p.reshape(-1, size)"
TO_CELL = "dc + dh * o * (1 - tanh * tanh)"
TURNED = "it read the sentence backwards"

# {operation: [(what is wrong, the library's code, what is written in its place, ...)]}
BACKWARD: dict[str, list[tuple[str, ...]]] = {
    "relu": [
        (
            f"a negative x lets {k} dy through: the derivative of a leaky ReLU, not of ReLU",
            "dy * cache.positive",
            f"dy * np.where(cache.positive, 1, {k})",
        )
        for k in (0.01, 0.1)
    ],
    "gelu": [
        ("the derivative is that of ReLU: dy where x > 0 (a step)", GELU, "(x > 0)"),
        (
            "the derivative is that of the exact GELU (erf), but the forward uses the tanh form",
            GELU,
            EXACT_GELU,
        ),
        (
            "the derivative is that of the sigmoid form x sigmoid(1.702 x), but the forward uses the tanh form",
            GELU,
            SIGMOID_GELU,
        ),
    ],
    "Embedding": [
        (
            "the ids are sorted, but the gradients are not: each gradient goes to the row of another token (the wrong order)",
            "cache.ids.reshape(-1)",
            "np.sort(cache.ids.reshape(-1))",
        ),
        (
            "the row of the padding id 0 gets no gradient, although the padding was embedded in forward",
            "dy.reshape(-1, d_model)",
            "(dy * (cache.ids != 0)[..., None]).reshape(-1, d_model)",
        ),
    ],
    "SinusoidalPositions": [
        (
            "dx is multiplied by the table of sinusoids: the positions are added, not multiplied, so dx = dy",
            "return dy",
            "return dy * sinusoids(cache.length, dy.shape[-1])",
        ),
        (
            "the table of sinusoids is subtracted from dx: a constant has no gradient, so dx = dy",
            "return dy",
            "return dy - sinusoids(cache.length, dy.shape[-1])",
        ),
    ],
    "Input": [
        (
            "the positions get the gradient before the dropout mask: dropout is skipped for them",
            "dx = self.positions.backward(dx, cache.positions)",
            "self.positions.backward(dy, cache.positions)",
        )
    ],
    "MeanOverTokens": [
        (
            "the mean is over the whole length T, padding included: divided by T, not by the number of real positions",
            "* cache.share",
            "* (cache.share > 0) / cache.share.shape[1]",
        )
    ],
    "FirstToken": [
        (
            "every position gets the gradient dy, not only the first",
            "dx[:, 0] = dy",
            "dx[:] = dy[:, None]",
        ),
        (
            "the gradient goes to the last position, not to the first",
            "dx[:, 0] = dy",
            "dx[:, -1] = dy",
        ),
    ],
    "MultiHeadAttention": [
        (
            "the heads are split interleaved in backward: (d, H) in place of (H, d) in the reshape, the wrong order of axes",
            "self.split(self.output.backward(dy, cache.output))",
            "self.output.backward(dy, cache.output)"
            ".reshape(*dy.shape[:2], -1, self.num_heads).transpose(0, 3, 1, 2)",
        ),
        (
            "the gradients of key and value are added up, and their sum is returned for both",
            "return dquery, dkey, dvalue",
            "return dquery, dkey + dvalue, dkey + dvalue",
        ),
        (f"the heads are merged {NOT_TURNED}", "self.merge(", UNMERGED),
        (f"the heads are split {NOT_TURNED}", "self.split(", UNSPLIT),
        (
            f"the heads are split and merged {NOT_TURNED}",
            "self.split(",
            UNSPLIT,
            "self.merge(",
            UNMERGED,
        ),
        (
            "only the first head gets a gradient",
            HEADS,
            f"[d * (np.arange(self.num_heads) == 0)[:, None, None] for d in {HEADS}]",
        ),
        (
            "only the last head gets a gradient",
            HEADS,
            f"[d * (np.arange(self.num_heads) == self.num_heads - 1)[:, None, None] for d in {HEADS}]",
        ),
        (
            "every head gets the gradient averaged over the heads",
            HEADS,
            f"[0 * d + d.mean(axis=1, keepdims=True) for d in {HEADS}]",
        ),
    ],
    "attention": [
        (
            "the dropout mask is applied after the softmax backward, not before it: the wrong order",
            SCORES,
            "dropout_backward(softmax_backward(dweights, softmax), dropout)",
        ),
        (
            "the mask is ignored in backward: the softmax is computed again without the mask",
            SCORES,
            f"softmax_backward(dp, {UNMASKED}[1])",
        ),
        (
            "dvalue is made from p, not from the weights after dropout: the dropout mask is missing on the way to the value",
            "weights.swapaxes(-1, -2) @ dy",
            "softmax.p.swapaxes(-1, -2) @ dy",
        ),
        (
            "the softmax's backward (its Jacobian) is skipped on the way to the query (dquery) only",
            "dscores @ key",
            "dp / math.sqrt(query.shape[-1]) @ key",
        ),
        (
            "the softmax's backward (its Jacobian) is skipped on the way to the key (dkey) only",
            "dscores.swapaxes(-1, -2)",
            "(dp / math.sqrt(query.shape[-1])).swapaxes(-1, -2)",
        ),
    ],
    "layer_norm": [
        (
            "the normed x is divided by its own standard deviation once more: it is the backward of a LayerNorm without epsilon",
            "normed, inverse, gamma = cache",
            "normed, inverse, gamma = cache\n"
            "    deviation = normed.std(axis=-1, keepdims=True)\n"
            "    normed, inverse = normed / deviation, inverse / deviation",
        )
    ],
    "cross_entropy": [
        (
            "the target is not subtracted: dlogits = p, not p - q (the one-hot is missing)",
            LOSS,
            f"dlogits = {P} * real.reshape(-1, 1) * dloss",
        ),
        (
            "the target is added, not subtracted (wrong sign): p + q",
            LOSS,
            f"dlogits = (2 * {P} - dlogits) * real.reshape(-1, 1) * dloss",
        ),
        (
            "the label smoothing is spread over V - 1 classes, all but the target: s / (V - 1), not over V",
            "size = p.shape[-1]",
            "size = p.shape[-1]\n    smoothing = smoothing * size / (size - 1)",
        ),
        (
            "the padding mask is applied to the one-hot only, not to p: padding gets a gradient",
            LOSS,
            f"dlogits = np.where(real.reshape(-1, 1), dlogits, {P}) * dloss",
        ),
        (
            "the softmax backward is applied to p - q once more (twice): p - q is already the gradient of the logits",
            LOSS,
            f"dlogits = {P} * (dlogits - (dlogits * {P}).sum(axis=-1, keepdims=True))\n    {LOSS}",
        ),
        (
            "the gradient of log p is used as that of the logits: -q / p, without the softmax",
            LOSS,
            f"dlogits = (dlogits - {P}) / {P}\n    {LOSS}",
        ),
        (
            "the gradient is only at the target: the other classes get none",
            LOSS,
            f"dlogits *= np.eye(size)[targets.reshape(-1)]\n    {LOSS}",
        ),
        (
            "the most likely class (argmax) is used as the target",
            "targets.reshape(-1)",
            "p.argmax(axis=-1).reshape(-1)",
        ),
    ],
    "Residual": [
        (
            "the dropout mask is applied to the residual path (skip connection, shortcut) too, not only to the sub-layer's",
            "return dy,",
            "return dropout_backward(dy, cache.dropout),",
        ),
        (
            "the residual path (skip connection, shortcut) takes dy before the LayerNorm's backward, not after it: it lacks the norm",
            "check_cache(self, cache, ResidualCache)",
            "before = dy",
            "return dy,",
            "return before,",
        ),
    ],
    "Encoder": [
        (
            "every layer gets the same dy, that of the last layer: what a layer returns is not passed on",
            "dy = layer.backward",
            "dx = layer.backward",
            "return dy",
            "return dx",
        )
    ],
    "Decoder": [
        (
            "the memory's gradient counts the last layer's twice",
            "dmemory + dlayer",
            "dmemory + (1 + (layer is self.layers[-1])) * dlayer",
        )
    ],
    "Transformer": [
        (
            "the encoder's backward is missing: the memory's gradient is not passed on to the source",
            "dx = self.encoder.backward(dmemory, cache.encode.encoder)",
            "pass",
            "self.source_input.backward(dx, cache.encode.input)",
            "pass",
        )
    ],
    "LanguageModel": [
        (
            "input (the embedding) gets the dy that stack received, not what stack returns",
            "self.input.backward(dx,",
            "self.input.backward(dy,",
        )
    ],
    "CrossAttention": [
        (
            "dx is zero: the path through the query is missing",
            "return dquery,",
            "return 0 * dquery,",
        )
    ],
    "lstm_step": [
        (
            "the cell gets no gradient from the hidden state: dh o (1 - tanh^2) is missing",
            TO_CELL,
            "dc",
        ),
        (
            "the cell's gradient from the step after it is missing: only that from the hidden state is left",
            TO_CELL,
            "dh * o * (1 - tanh * tanh)",
        ),
        (
            "the path to the cell before lacks the forget gate: dc in place of dc f",
            "dc * f]",
            "dc]",
        ),
        (
            "the path to the cell before is cut (missing): no gradient passes from cell to cell",
            "dc * f]",
            "0 * dc]",
        ),
        (
            "the output gate gets the cell before the step, not the tanh of the cell after it",
            "dh * tanh * o",
            "dh * c * o",
        ),
        (
            "the gradients of input gate and forget gate are swapped",
            "dc * g * i * (1 - i), dc * c * f * (1 - f)",
            "dc * c * f * (1 - f), dc * g * i * (1 - i)",
        ),
    ],
    "Bidirectional": [
        (
            f"dx of the right-to-left layer is not reversed (turned round): {TURNED}",
            "dx_back[:, ::-1]",
            "dx_back",
        ),
        (
            f"dy of the right-to-left layer is not reversed (turned round): {TURNED}",
            "dy[:, ::-1, size:]",
            "dy[:, :, size:]",
        ),
        (
            "each layer gets the first half of dy: the second belongs to the right-to-left layer",
            "dy[:, ::-1, size:]",
            "dy[:, ::-1, :size]",
        ),
        (
            "the gradients of the two layers' final states are swapped",
            "dfinal, dfinal_back =",
            "dfinal_back, dfinal =",
        ),
    ],
    "rotary": [
        (
            "the rotation is missing (skipped) in backward: dx = dy",
            "_turned(dy, cos, -sin, layout)",
            "dy",
        ),
        (
            "backward turns in the forward's direction, not back: sin needs the other sign",
            "-sin",
            "sin",
        ),
    ],
    "silu": [
        (
            "the product rule's second term, with the derivative of the sigmoid, is missing: dx = dy sigmoid(x)",
            " * (1 + x * (1 - sigmoid))",
            "",
        ),
        (
            "the term with the derivative of the sigmoid has the wrong sign (subtracted)",
            "(1 + x *",
            "(1 - x *",
        ),
    ],
    "rms_norm": [
        (
            "the term - n mean(dn * n) (of the root mean square) is missing",
            " - normed * through_scale",
            "",
        ),
        (
            "the mean of dn is subtracted: that belongs to LayerNorm, RMSNorm has no mean",
            " - normed * through_scale",
            " - normed * through_scale - dn.mean(axis=-1, keepdims=True)",
        ),
    ],
}

PARTS = {
    "EncoderLayer": ("feed_forward", "self_attention"),
    "DecoderLayer": ("feed_forward", "cross_attention", "self_attention"),
}
FORWARD: dict[str, list[tuple[str, ...]]] = {
    "cross_entropy": [
        (
            "padding is counted in the loss, but not in backward",
            "-(1 - smoothing) * log_likelihood.sum() - smoothing * ((mean - log_total) * real).sum()",
            "-(1 - smoothing) * (target - log_total).sum() - smoothing * (mean - log_total).sum()",
        ),
        (
            "padding is counted in the smoothing's part of the loss, but not in backward",
            "((mean - log_total) * real)",
            "(mean - log_total)",
        ),
        (
            "label smoothing is missing, but backward has it",
            "-(1 - smoothing) * log_likelihood.sum() - smoothing * ((mean - log_total) * real).sum()",
            "-log_likelihood.sum()",
        ),
    ],
    "softmax": [
        (
            "the mask is applied after the softmax: no row sums to 1, as backward assumes",
            "x = xp.where(mask, x, -xp.inf)",
            "pass",
            "    return p, ",
            "    p = p if mask is None else p * mask\n    return p, ",
        )
    ],
}


def mistakes_of(names, forward=False) -> list[Mistake]:
    """The mistakes of these operations in backward, or in forward, beginning with those of the
    first operation.
    """
    return [
        one
        for name in names
        for one in (*_known(name, forward), *(() if forward else TAUGHT))
        if one.of == name
    ]


@cache
def _known(of: str, forward: bool) -> list[Mistake]:
    """The Mistakes in an operation's backward, or in its forward."""
    method, function = method_of(of, "forward" if forward else "backward")
    return [
        *(
            Mistake(of, said, rewritten(function, *zip(texts[::2], texts[1::2])), method)
            for said, *texts in (FORWARD if forward else BACKWARD).get(of, ())
        ),
        *([] if forward else _of_layers(of)),
    ]


def _of_layers(of: str) -> Iterator[Mistake]:
    """The Mistakes in the order of a layer's sub-layers, and in the residual around each."""
    for name in PARTS.get(of, ()):
        dx = "dy" if name == "feed_forward" else "dx"
        left = f"self.{name}_residual.backward({dx}, cache.{name}_residual)"
        entered = f"self.{name}_residual.enter_backward(dh, cache.{name}_entered)"
        kept = f"dx, dh = {left}", f"before, (dx, dh) = {dx}, {left}"
        for said, *changes in (
            (
                f"what comes out of {name} and {name}_residual is not used (it is lost): what comes before them gets the dy that {name}_residual received",
                kept,
                (f"dx = dx + {entered}", "dx = before"),
            ),
            (
                f"dy is added to what comes out of {name}_residual, as if there were a residual path (skip connection) around it",
                kept,
                (entered, f"{entered} + before"),
            ),
            (
                f"the residual path (skip connection, shortcut) around {name} goes through the LayerNorm's backward too, but it goes "
                "around it",
                (f"dx + {entered}", entered.replace("(dh", "(dx + dh")),
            ),
        ):
            yield Mistake(of, said, rewritten(method_of(of, "backward")[1], *changes))
    for order in list(permutations(PARTS.get(of, ())))[1:]:
        said = ", ".join(order).replace("_", "-")
        yield Mistake(
            of,
            f"the sub-layers run backward in the wrong order: {said}; it is the forward's order reversed",
            partial(_in_order, order),
        )


def _in_order(order: tuple[str, ...], self: Any, dx: Array, cache: Any) -> Any:
    """The backward of a layer whose sub-layers go back in this order."""
    memory: list[Array] = []
    for name in order:
        residual = getattr(self, f"{name}_residual")
        past, dh = residual.backward(dx, getattr(cache, f"{name}_residual"))
        dh = getattr(self, name).backward(dh, getattr(cache, name))
        dh, *others = dh if isinstance(dh, tuple) else (dh,)
        memory += others
        dx = past + residual.enter_backward(dh, getattr(cache, f"{name}_entered"))
    return (dx, *memory) if memory else dx
