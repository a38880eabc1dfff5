"""Mistakes that no one change of the right backward makes. To add one, see
docs/teach_the_doctor.md.
"""

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minitransformer import functional as F
from minitransformer.backend import Array
from minitransformer.functional.activations import ACTIVATIONS
from minitransformer.layers import MultiHeadAttention, Residual
from minitransformer_course.doctor.mistakes import TAUGHT, Mistake, textbook_of
from minitransformer_course.diagnosis.operations import OPERATIONS

textbook_loss, textbook_norm = (
    textbook_of(F.cross_entropy_backward),
    textbook_of(F.layer_norm_backward),
)


def teach(of, mistakes, method="backward") -> None:
    """{sentence: the wrong backward, or another method}."""
    TAUGHT.extend(Mistake(of, sentence, wrong, method) for sentence, wrong in mistakes.items())


def slope(derivative) -> Callable:
    return lambda dy, cache: dy * derivative(cache[0])


def leaky(k) -> Callable:
    return slope(lambda positive: np.where(positive, 1, k))


teach(
    "relu",
    {
        f"a negative x lets {k} dy through: the derivative of a leaky ReLU, not of ReLU": leaky(k)
        for k in (0.01, 0.1)
    },
)
teach(
    "gelu",
    {
        "the derivative is that of ReLU: dy where x > 0 (a step)": slope(lambda x: x > 0),
        "the derivative is that of the exact GELU (erf), but the forward uses the tanh form": slope(
            lambda x: (
                (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2
                + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
            )
        ),
        "the derivative is that of the sigmoid form x sigmoid(1.702 x), but the forward uses the tanh form": slope(
            lambda x: (1 + 1.702 * x / (1 + np.exp(1.702 * x))) / (1 + np.exp(-1.702 * x))
        ),
    },
)


def embedding(rows=lambda ids: ids, but=-1) -> Callable:
    """rows(ids): the rows that get what belongs to these ids; the row `but` gets nothing."""

    def backward(self, dy, cache) -> None:
        ids, width = cache.ids.reshape(-1), dy.shape[-1]
        np.add.at(
            self.weight.grad,
            rows(cache.ids).reshape(-1),
            math.sqrt(width) * dy.reshape(-1, width) * (ids != but)[:, None],
        )

    return backward


teach(
    "Embedding",
    {
        "the ids are transposed: each gradient goes to the row of another place's token (the wrong order of positions and batch)": embedding(
            lambda ids: ids.T
        ),
        "the ids are sorted, but the gradients are not: each gradient goes to the row of another token (the wrong order)": embedding(
            lambda ids: np.sort(ids.reshape(-1))
        ),
        "the row of the padding id 0 gets no gradient, although the padding was embedded in forward": embedding(
            but=0
        ),
    },
)
teach(
    "SinusoidalPositions",
    {
        "dx is multiplied by the table of sinusoids: the positions are added, not multiplied, so dx = dy": lambda self, dy, cache: (
            dy * F.sinusoids(cache.length, dy.shape[-1])
        ),
        "the table of sinusoids is subtracted from dx: a constant has no gradient, so dx = dy": lambda self, dy, cache: (
            dy - F.sinusoids(cache.length, dy.shape[-1])
        ),
    },
)


def undropped(self, dy, cache) -> None:
    self.positions.backward(dy, cache.positions)
    self.embedding.backward(F.dropout_backward(dy, cache.dropout), cache.embedding)


teach(
    "Input",
    {
        "the positions get the gradient before the dropout mask: dropout is skipped for them": undropped
    },
)
teach(
    "MeanOverTokens",
    {
        "the mean is over the whole length T, padding included: divided by T, not by the number of real positions": lambda self, dy, cache: (
            dy[:, None, :] * (cache.share > 0) / cache.share.shape[1]
        )
    },
)
teach(
    "FirstToken",
    {
        "every position gets the gradient dy, not only the first": lambda self, dy, cache: (
            np.repeat(dy[:, None], cache.shape[1], axis=1)
        ),
        "the gradient goes to the last position, not to the first": lambda self, dy, cache: np.pad(
            dy[:, None], [(0, 0), (cache.shape[1] - 1, 0), (0, 0)]
        ),
    },
)


def activation_twice(self, dy, cache) -> Array:
    backward = ACTIVATIONS[self.activation][1]
    dh = F.dropout_backward(self.outer.backward(dy, cache.outer), cache.dropout)
    dh = backward(backward(dh, cache.activation), cache.activation)
    return self.inner.backward(dh, cache.inner)


teach(
    "FeedForward",
    {"the activation's derivative (the ReLU mask, or GELU's) is applied twice": activation_twice},
)


def with_other(**methods) -> Callable:
    """MultiHeadAttention's backward with some methods replaced: {name: function of the layer and
    what the method is given}.
    """

    def backward(self, dy, cache) -> tuple[Array, ...]:
        other = copy.copy(self)
        vars(other).update({name: partial(function, self) for name, function in methods.items()})
        return MultiHeadAttention.backward(other, dy, cache)

    return backward


def of_heads(change) -> Callable:
    """change(layer, the gradient of q, k or v in heads): another one."""
    return with_other(
        attend_backward=lambda self, dheads, cached: [
            change(self, one) for one in self.attend_backward(dheads, cached)
        ]
    )


UNSPLIT = {"split": lambda self, x: x.reshape(len(x), self.num_heads, x.shape[1], -1)}
UNMERGED = {"merge": lambda self, x: x.reshape(len(x), x.shape[2], -1)}
NOT_TURNED = "in the wrong order of axes: the transpose of heads and positions is missing"
teach(
    "MultiHeadAttention",
    {
        "the heads are split interleaved in backward: (d, H) in place of (H, d) in the reshape, the wrong order of axes": with_other(
            split=lambda self, x: x.reshape(*x.shape[:2], -1, self.num_heads).transpose(0, 3, 1, 2)
        ),
        "the gradients of key and value are added up, and their sum is returned for both": lambda *given: (
            next((dq, dk + dv, dk + dv) for dq, dk, dv in [MultiHeadAttention.backward(*given)])
        ),
        f"the heads are merged {NOT_TURNED}": with_other(**UNMERGED),
        f"the heads are split {NOT_TURNED}": with_other(**UNSPLIT),
        f"the heads are split and merged {NOT_TURNED}": with_other(**UNSPLIT, **UNMERGED),
        "only the first head gets a gradient": of_heads(
            lambda self, d: d * (np.arange(self.num_heads) == 0)[:, None, None]
        ),
        "only the last head gets a gradient": of_heads(
            lambda self, d: d * (np.arange(self.num_heads) == self.num_heads - 1)[:, None, None]
        ),
        "every head gets the gradient averaged over the heads": of_heads(
            lambda self, d: 0 * d + d.mean(axis=1, keepdims=True)
        ),
    },
)


def with_scores(dscores, only="") -> Callable:
    """dscores(dweights, cache) in place of the right one, or on the way to `only` the query or the
    key.
    """

    def backward(dy, cache) -> tuple[Array, ...]:
        dquery, dkey, dvalue = textbook_of(F.attention_backward)(dy, cache)
        d = dscores(dy @ cache.value.swapaxes(-1, -2), cache) / math.sqrt(cache.query.shape[-1])
        return (
            dquery if only == "key" else d @ cache.key,
            dkey if only == "query" else d.swapaxes(-1, -2) @ cache.query,
            dvalue,
        )

    return backward


def without_mask(dweights, cache) -> Array:
    scores = cache.query @ cache.key.swapaxes(-1, -2) / math.sqrt(cache.query.shape[-1])
    return F.softmax_backward(
        F.dropout_backward(dweights, cache.dropout), F.softmax_forward(scores)[1]
    )


teach(
    "attention",
    {
        "the dropout mask is applied after the softmax backward, not before it: the wrong order": with_scores(
            lambda dweights, cache: F.dropout_backward(
                F.softmax_backward(dweights, cache.softmax), cache.dropout
            )
        ),
        "the mask is ignored in backward: the softmax is computed again without the mask": with_scores(
            without_mask
        ),
        "dvalue is made from p, not from the weights after dropout: the dropout mask is missing on the way to the value": lambda dy, cache: (
            *textbook_of(F.attention_backward)(dy, cache)[:2],
            cache.softmax.p.swapaxes(-1, -2) @ dy,
        ),
        **{
            f"the softmax's backward (its Jacobian) is skipped on the way to the {name} (d{name}) only": with_scores(
                lambda dweights, cache: F.dropout_backward(dweights, cache.dropout), name
            )
            for name in ("query", "key")
        },
    },
)


def without_epsilon(dy, cache) -> tuple[Array, ...]:
    deviation = cache.normed.std(axis=-1, keepdims=True)
    return textbook_norm(
        dy, cache._replace(normed=cache.normed / deviation, inverse=cache.inverse / deviation)
    )


teach(
    "layer_norm",
    {
        "the normed x is divided by its own standard deviation once more: it is the backward of a LayerNorm without epsilon": without_epsilon
    },
)


def loss(dlogits) -> Callable:
    """dlogits(p, p - q at every target, where the target is, where it is real)."""
    return lambda dloss, cache: (
        dlogits(
            cache.p,
            textbook_loss(1.0, cache._replace(real=np.ones_like(cache.real))),
            np.arange(cache.p.shape[-1]) == cache.targets[..., None],
            cache.real[..., None],
        )
        * dloss
    )


def over_others(dloss, cache) -> Array:
    s, size = cache.smoothing, cache.p.shape[-1]
    return textbook_loss(dloss, cache._replace(smoothing=s * size / (size - 1)))


teach(
    "cross_entropy",
    {
        "the target is not subtracted: dlogits = p, not p - q (the one-hot is missing)": loss(
            lambda p, d, hot, real: p * real
        ),
        "the target is added, not subtracted (wrong sign): p + q": loss(
            lambda p, d, hot, real: (2 * p - d) * real
        ),
        "the label smoothing is spread over V - 1 classes, all but the target: s / (V - 1), not over V": over_others,
        "the padding mask is applied to the one-hot only, not to p: padding gets a gradient": loss(
            lambda p, d, hot, real: d * real + p * ~real
        ),
        "the softmax backward is applied to p - q once more (twice): p - q is already the gradient of the logits": loss(
            lambda p, d, hot, real: p * (d - (d * p).sum(axis=-1, keepdims=True)) * real
        ),
        "the gradient of log p is used as that of the logits: -q / p, without the softmax": loss(
            lambda p, d, hot, real: (d - p) / p * real
        ),
        "the gradient is only at the target: the other classes get none": loss(
            lambda p, d, hot, real: d * hot * real
        ),
        "the most likely class (argmax) is used as the target": lambda dloss, cache: textbook_loss(
            dloss, cache._replace(targets=cache.p.argmax(axis=-1))
        ),
    },
)


def dropped_too(self, dy, cache) -> tuple[Array, Array]:
    _, dh = Residual.backward(self, dy, cache)
    return dh, dh


def around_the_norm(self, dy, cache) -> tuple[Array, Array]:
    return dy, Residual.backward(self, dy, cache)[1]


teach(
    "Residual",
    {
        "the dropout mask is applied to the residual path (skip connection, shortcut) too, not only to the sub-layer's": dropped_too,
        "the residual path (skip connection, shortcut) takes dy before the LayerNorm's backward, not after it: it lacks the norm": around_the_norm,
    },
)


def layer(
    of="", change=None, order=("feed_forward", "cross_attention", "self_attention")
) -> Callable:
    """The backward of an EncoderLayer or a DecoderLayer, whose steps go back in this order.

    In the step `of`, change(dx before it, dx past the sub-layer, dh through it, enter) makes dx;
    without it, the step is left out.
    """

    def backward(self, dx, cache) -> Any:
        memory: list[Array] = []
        for name in [name for name in order if hasattr(self, name) and (change or name != of)]:
            residual = getattr(self, f"{name}_residual")
            past, dh = residual.backward(dx, getattr(cache, f"{name}_residual"))
            dh = getattr(self, name).backward(dh, getattr(cache, name))
            dh, *others = dh if isinstance(dh, tuple) else (dh,)
            memory += others
            enter = partial(residual.enter_backward, cache=getattr(cache, f"{name}_entered"))
            dx = change(dx, past, dh, enter) if change and name == of else past + enter(dh)
        return (dx, *memory) if memory else dx

    return backward


for kind, names in (
    ("EncoderLayer", ("feed_forward", "self_attention")),
    ("DecoderLayer", ("feed_forward", "self_attention", "cross_attention")),
):
    for name in names:
        both = f"{name} and {name}_residual"
        teach(
            kind,
            {
                f"the backward of {both} is not called (skipped): what they should receive is passed on as it is": layer(
                    name
                ),
                f"what comes out of {both} is not used (it is lost): what comes before them gets the dy that {name}_residual received": layer(
                    name, lambda before, past, dh, enter: before
                ),
                f"dy is added to what comes out of {name}_residual, as if there were a residual path (skip connection) around it": layer(
                    name, lambda before, past, dh, enter: before + past + enter(dh)
                ),
                f"the residual path (skip connection, shortcut) around {name} goes through the LayerNorm's backward too, but it goes "
                "around it": layer(name, lambda before, past, dh, enter: enter(past + dh)),
            },
        )
for order in (
    ("self_attention", "feed_forward"),
    ("feed_forward", "self_attention", "cross_attention"),
    ("cross_attention", "feed_forward", "self_attention"),
    ("self_attention", "cross_attention", "feed_forward"),
):
    teach(
        "DecoderLayer" if "cross_attention" in order else "EncoderLayer",
        {
            f"the sub-layers run backward in the wrong order: {', '.join(order).replace('_', '-')}; it is the forward's order reversed": layer(
                order=order
            )
        },
    )


def same_dy(self, dy, cache) -> Array:
    dy = self.norm.backward(dy, cache.norm) if self.norm else dy
    *_, dx = (
        layer.backward(dy, one) for layer, one in zip(reversed(self.layers), reversed(cache.layers))
    )
    return dx


def last_memory_twice(self, dy, cache) -> tuple[Array, Array]:
    dy = self.norm.backward(dy, cache.norm) if self.norm else dy
    memories = []
    for layer, one in zip(reversed(self.layers), reversed(cache.layers)):
        dy, dmemory = layer.backward(dy, one)
        memories.append(dmemory)
    return dy, sum(memories) + memories[0]


def without_encoder(self, dy, cache) -> None:
    self.target_input.backward(
        self.decoder.backward(dy, cache.decode.decoder)[0], cache.decode.input
    )


def input_from_dy(self, dy, cache) -> None:
    self.stack.backward(dy, cache.stack)
    self.input.backward(dy, cache.input)


teach("Decoder", {"the memory's gradient counts the last layer's twice": last_memory_twice})
teach(
    "Encoder",
    {
        "every layer gets the same dy, that of the last layer: what a layer returns is not passed on": same_dy
    },
)
teach(
    "Transformer",
    {
        "the encoder's backward is missing: the memory's gradient is not passed on to the source": without_encoder
    },
    "hidden_backward",
)
teach(
    "LanguageModel",
    {
        "input (the embedding) gets the dy that stack received, not what stack returns": input_from_dy
    },
    "hidden_backward",
)
teach(
    "CrossAttention",
    {
        "dx is zero: the path through the query is missing": lambda self, dy, cache: next(
            (0 * dquery, dkey + dvalue)
            for dquery, dkey, dvalue in [MultiHeadAttention.backward(self, dy, cache)]
        )
    },
)


def lstm(
    to_cell=lambda later, hidden: later + hidden,
    before=lambda dc, f: dc * f,
    first=0,
    shown=lambda c, tanh: tanh,
) -> Callable:
    """to_cell: from the step after it and from the hidden state; before: to the cell before it;
    shown: what o multiplies.
    """

    def backward(dafter, cache) -> tuple[Array, Array, Array]:
        state, weight, i, f, g, o, tanh = cache
        (h, c), (dh, later) = np.split(state, 2, axis=1), np.split(dafter, 2, axis=1)
        dc = to_cell(later, dh * o * (1 - tanh * tanh))
        gates = [
            dc * g * i * (1 - i),
            dc * c * f * (1 - f),
            dc * i * (1 - g * g),
            dh * shown(c, tanh) * o * (1 - o),
        ]
        dz = np.concatenate([gates[first], gates[1 - first], *gates[2:]], axis=1)
        return dz, np.concatenate([dz @ weight.T, before(dc, f)], axis=1), h.T @ dz

    return backward


teach(
    "lstm_step",
    {
        "the cell gets no gradient from the hidden state: dh o (1 - tanh^2) is missing": lstm(
            lambda later, hidden: later
        ),
        "the cell's gradient from the step after it is missing: only that from the hidden state is left": lstm(
            lambda later, hidden: hidden
        ),
        "the path to the cell before lacks the forget gate: dc in place of dc f": lstm(
            before=lambda dc, f: dc
        ),
        "the path to the cell before is cut (missing): no gradient passes from cell to cell": lstm(
            before=lambda dc, f: 0 * dc
        ),
        "the output gate gets the cell before the step, not the tanh of the cell after it": lstm(
            shown=lambda c, tanh: c
        ),
        "the gradients of input gate and forget gate are swapped": lstm(first=1),
    },
)


def bidirectional(back=lambda dy, size: dy[:, ::-1, size:], turn=-1, order=1) -> Callable:
    """back: dy of the right-to-left layer; turn: the step in which its dx is read; order: -1 swaps
    the final states.
    """

    def backward(self, dy, dfinal, cache) -> tuple[Array, Array]:
        size, halves = self.left_to_right.hidden_size, self._split(dfinal)[::order]
        dx_back, dback = self.right_to_left.backward(
            (back(dy, size), halves[1]), cache.right_to_left
        )
        dx, dahead = self.left_to_right.backward((dy[:, :, :size], halves[0]), cache.left_to_right)
        return dx + dx_back[:, ::turn], self._join(dahead, dback)

    return backward


teach(
    "Bidirectional",
    {
        "dx of the right-to-left layer is not reversed (turned round): it read the sentence backwards": bidirectional(
            turn=1
        ),
        "dy of the right-to-left layer is not reversed (turned round): it read the sentence backwards": bidirectional(
            lambda dy, size: dy[:, :, size:]
        ),
        "each layer gets the first half of dy: the second belongs to the right-to-left layer": bidirectional(
            lambda dy, size: dy[:, ::-1, :size]
        ),
        "the gradients of the two layers' final states are swapped": bidirectional(order=-1),
    },
    "read_backward",
)


def loss_forward(change) -> Callable:
    """change(the loss with padding, the smoothing, log p of the real targets, that of all): the
    wrong loss.
    """

    def forward(logits, targets, smoothing=0.0, *, padding) -> tuple[Array, Any]:
        right = textbook_of(F.cross_entropy_forward)
        (_, cache), (every, with_padding) = (
            right(logits, targets, smoothing, padding=one) for one in (padding, None)
        )
        return change(
            every, smoothing, cache.log_likelihood.sum(), with_padding.log_likelihood.sum()
        ), cache

    return forward


teach(
    "cross_entropy",
    {
        "padding is counted in the loss, but not in backward": loss_forward(
            lambda every, s, real, whole: every
        ),
        "padding is counted in the smoothing's part of the loss, but not in backward": loss_forward(
            lambda every, s, real, whole: every + (1 - s) * (whole - real)
        ),
        "label smoothing is missing, but backward has it": loss_forward(
            lambda every, s, real, whole: -real
        ),
    },
    "forward",
)


def masked_afterwards(x, mask=None) -> tuple[Array, Any]:
    p, cache = textbook_of(F.softmax_forward)(x)
    p = p if mask is None else p * mask
    return p, cache._replace(p=p)


teach(
    "softmax",
    {
        "the mask is applied after the softmax: no row sums to 1, as backward assumes": masked_afterwards
    },
    "forward",
)
teach(
    "rotary",
    {
        "the rotation is missing (skipped) in backward: dx = dy": lambda dy, cache: dy,
        "backward turns in the forward's direction, not back: sin needs the other sign": lambda dy, cache: (
            textbook_of(OPERATIONS["rotary"].backward)(dy, cache._replace(sin=-cache.sin))
        ),
    },
)
teach(
    "silu",
    {
        "the product rule's second term, with the derivative of the sigmoid, is missing: dx = dy sigmoid(x)": lambda dy, cache: (
            dy * cache[1]
        ),
        "the term with the derivative of the sigmoid has the wrong sign (subtracted)": lambda dy, cache: (
            dy * cache[1] * (1 - cache[0] * (1 - cache[1]))
        ),
    },
)


def rms(change) -> Callable:
    """change(dn, n) in place of dn - n mean(dn n)."""

    def backward(dy, cache) -> tuple[Array, Array]:
        normed, inverse, gamma = cache
        return inverse * change(dy * gamma, normed), (dy * normed).reshape(
            -1, normed.shape[-1]
        ).sum(axis=0)

    return backward


teach(
    "rms_norm",
    {
        "the term - n mean(dn * n) (of the root mean square) is missing": rms(lambda dn, n: dn),
        "the mean of dn is subtracted: that belongs to LayerNorm, RMSNorm has no mean": rms(
            lambda dn, n: (
                dn - n * (dn * n).mean(axis=-1, keepdims=True) - dn.mean(axis=-1, keepdims=True)
            )
        ),
    },
)
