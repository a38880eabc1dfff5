"""Wrong forwards for the right backward."""

import math
from collections.abc import Callable

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.forwards import forward_mistake
from minitransformer.functional.attention import AttentionCache
from minitransformer.functional.cross_entropy import CrossEntropyCache
from minitransformer.functional.dropout import DropoutCache, dropout_forward, dropout_mask
from minitransformer.functional.layer_norm import LayerNormCache
from minitransformer.functional.softmax import SoftmaxCache, softmax_forward


def unnormalised(x, mask, axis=-1) -> Array:
    x = x if mask is None else np.where(mask, x, -np.inf)
    peak = x.real.max(axis=axis, keepdims=True)
    return np.exp(x - np.where(peak == -np.inf, 0, peak))


def probabilities(x, mask=None, axis=-1) -> Array:
    p = unnormalised(x, mask, axis)
    total = p.sum(axis=axis, keepdims=True)
    return p / np.where(total == 0, 1, total)


def softmax(probabilities, output=lambda p: p) -> Callable:
    """The forward with these probabilities(x, mask) in its cache, and output(p)."""
    def wrong(x, mask=None) -> tuple[Array, SoftmaxCache]:
        p = probabilities(x, mask)
        return output(p), SoftmaxCache(p)
    return wrong


for sentence, wrong in (
        ("the forward normalises over the wrong axis (the rows, queries: the second last), the backward over the last (keys)",
         softmax(lambda x, mask: probabilities(x, mask, -2))),
        ("the forward normalises over the wrong axis (the first, the batch), the backward over the last (keys)",
         softmax(lambda x, mask: probabilities(x, mask, 0))),
        ("the forward applies the mask after the softmax (afterwards): a row no longer sums to 1, as the backward assumes",
         softmax(lambda x, mask: probabilities(x) * (1 if mask is None else mask))),
        ("the forward does not divide by the sum of the row (the normalisation is missing), as the backward assumes",
         softmax(unnormalised)),
        ("the forward returns the logarithm of the softmax, the backward is that of the softmax",
         softmax(probabilities, np.log))):
    forward_mistake("softmax", sentence)(wrong)


def attention(scale) -> Callable:
    def wrong(query, key, value, mask=None, dropout_rate=0.0, rng=None) -> tuple[Array, AttentionCache]:
        p, softmax = softmax_forward(query @ key.swapaxes(-1, -2) * scale(query, key, value), mask)
        weights, dropout = dropout_forward(p, dropout_rate, rng)
        return weights @ value, AttentionCache(query, key, value, softmax, dropout, weights)
    return wrong


for sentence, scale in (
        ("the forward does not scale the scores: its factor 1/sqrt(d_k) is missing (forgotten), the backward has it",
         lambda q, k, v: 1.0),
        ("the forward scales the scores by 1/d_k, the backward by 1/sqrt(d_k)", lambda q, k, v: 1 / q.shape[-1]),
        ("the forward multiplies the scores by sqrt(d_k), the backward divides by it (the scale)",
         lambda q, k, v: math.sqrt(q.shape[-1])),
        ("the forward scales the scores by 1/sqrt(d_model) of all heads, the backward by 1/sqrt(d_k)",
         lambda q, k, v: 1 / math.sqrt(q.shape[-1] * q.shape[-3])),
        ("the forward scales the scores by 1/sqrt(d_v), the backward by 1/sqrt(d_k)",
         lambda q, k, v: 1 / math.sqrt(v.shape[-1])),
        ("the forward scales the scores by 1/sqrt(T_k), the backward by 1/sqrt(d_k)",
         lambda q, k, v: 1 / math.sqrt(k.shape[-2]))):
    forward_mistake("attention", sentence)(attention(scale))


def layer_norm(axis=-1, mean=True, divisor=lambda size: size, outside=False) -> Callable:
    def wrong(x, gamma, beta, epsilon=1e-5) -> tuple[Array, LayerNormCache]:
        centred = x - x.mean(axis=axis, keepdims=True) if mean else x
        size = np.prod([x.shape[one] for one in np.atleast_1d(axis)])
        variance = (centred * centred).sum(axis=axis, keepdims=True) / divisor(size)
        inverse = 1 / (np.sqrt(variance) + epsilon) if outside else 1 / np.sqrt(variance + epsilon)
        normed = centred * inverse
        return gamma * normed + beta, LayerNormCache(normed, inverse, gamma)
    return wrong


for sentence, wrong in (
        ("the forward normalises over the wrong axis (the positions, the second last), the backward over the last "
         "(features)", layer_norm(-2)),
        ("the forward normalises over the wrong axis (the batch, the first), the backward over the last (features)",
         layer_norm(0)),
        ("the forward normalises over the batch and the positions, as in batch normalisation, the backward over the "
         "last axis", layer_norm((0, 1))),
        ("the forward normalises over positions and features together, the backward over the last axis only",
         layer_norm((-2, -1))),
        ("the forward does not subtract the mean (it is missing, as in RMSNorm), but the backward has the mean's term",
         layer_norm(mean=False)),
        ("the forward divides the variance by D - 1 (unbiased), the backward by D",
         layer_norm(divisor=lambda size: size - 1)),
        ("the forward adds epsilon to the standard deviation, outside the square root; the backward takes it inside",
         layer_norm(outside=True))):
    forward_mistake("layer_norm", sentence)(wrong)


def dropout(masks) -> Callable:
    def wrong(x, dropout_rate, rng=None) -> tuple[Array, DropoutCache]:
        if rng is None or dropout_rate == 0:
            return x, DropoutCache(None)
        applied, cached = masks(x, dropout_rate, rng)
        return x * applied, DropoutCache(cached)
    return wrong


def exact(x, rate, rng) -> Array:
    """A mask of the exact rate; the library's own rounds it to 256ths."""
    return (rng.random(x.shape) >= rate) / (1 - rate)


def rounded(x, rate, rng) -> Array:
    return dropout_mask(x.shape, rate, rng, x.real.dtype)


def twice(mask) -> Callable:
    return dropout(lambda *given: (mask(*given), mask(*given)))


def unscaled(mask) -> Callable:
    def masks(*given) -> tuple[Array, Array]:
        drawn = mask(*given)
        return (drawn > 0) * 1.0, drawn
    return dropout(masks)


TWICE = "the forward draws the dropout mask twice: backward gets another mask than the one that was applied"
UNSCALED = "the forward does not scale what it keeps by 1 / (1 - rate): the scale is missing, the backward has it"
for sentence, wrong in ((TWICE, twice(exact)), (f"{TWICE} (bytes)", twice(rounded)),
                        (UNSCALED, unscaled(rounded)), (f"{UNSCALED} (exact rate)", unscaled(exact))):
    forward_mistake("dropout", sentence)(wrong)


def cross_entropy(rows=None, smoothed_rows=None, smoothing_of=lambda s: s, divisor=lambda real, targets: 1) -> Callable:
    """The loss with other rows counted, or another smoothing."""
    def wrong(logits, targets, smoothing=0.0, *, padding) -> tuple[Array, CrossEntropyCache]:
        shifted = logits - logits.real.max(axis=-1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        target = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
        real = targets != padding
        counted = real if rows is None else rows(real)
        s = smoothing_of(smoothing)
        loss = -((1 - s) * target * counted).sum() - (s * log_p.mean(axis=-1) * (
            counted if smoothed_rows is None else smoothed_rows(real))).sum()
        return loss / divisor(real, targets), CrossEntropyCache(np.exp(log_p), targets, real, smoothing, real.sum(), target * real)
    return wrong


for sentence, wrong in (
        ("the forward counts padding in the loss, the backward does not", cross_entropy(np.ones_like)),
        ("the forward counts padding in the smoothing's part of the loss, the backward does not",
         cross_entropy(None, np.ones_like)),
        ("the forward forgets the label smoothing (it is missing), the backward has it",
         cross_entropy(smoothing_of=lambda s: 0)),
        ("the forward averages the loss over the real tokens (divides by the count), the backward is that of the sum",
         cross_entropy(divisor=lambda real, targets: real.sum())),
        ("the forward averages the loss over all tokens (divided by their number), the backward is that of the sum",
         cross_entropy(divisor=lambda real, targets: real.size)),
        ("the forward averages the loss over the batch (divided by it), the backward is that of the sum",
         cross_entropy(divisor=lambda real, targets: len(real)))):
    forward_mistake("cross_entropy", sentence)(wrong)
