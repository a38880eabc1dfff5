"""Wrong backwards, each with one mistake that people make, and words of the sentence that names it.

The forwards are right. The doctor was written with these before it; those of held_out.py were not.
"""

import math

import numpy as np

from minitransformer import functional as F
from minitransformer import layers as L
from minitransformer.parameter import Parameter

rng = np.random.default_rng(42)
B, T, T_K, D, H, V = 2, 3, 4, 6, 3, 7


def array(*shape):
    return rng.standard_normal(shape)


def scaled(backward, factor):
    """The backward of a pair, every gradient times `factor`."""
    def wrong(dy, cache):
        gradients = backward(dy, cache)
        return tuple(g * factor for g in gradients) if isinstance(gradients, tuple) else gradients * factor
    return wrong


def randomised(layer):
    """With no parameter left at 0 or 1."""
    for parameter in layer.parameters().values():
        parameter.data += 0.3 * array(*parameter.shape).astype(np.float32)
    return layer


# Layer normalisation

def gamma_outside(dy, cache):
    normed, inverse, gamma = cache
    along = (dy * normed).mean(axis=-1, keepdims=True)
    dx = gamma * inverse * (dy - dy.mean(axis=-1, keepdims=True) - normed * along)
    return dx, (dy * normed).sum(axis=(0, 1)), dy.sum(axis=(0, 1))


def without_mean(dy, cache):
    dx, dgamma, dbeta = F.layer_norm_backward(dy, cache)
    return dx + cache.inverse * (dy * cache.gamma).mean(axis=-1, keepdims=True), dgamma, dbeta


def without_variance_term(dy, cache):
    dx, dgamma, dbeta = F.layer_norm_backward(dy, cache)
    return dx + cache.inverse * cache.normed * (dy * cache.gamma * cache.normed).mean(-1, keepdims=True), dgamma, dbeta


# Softmax, attention

def softmax_over_batch(dp, cache):
    return F.softmax_backward(dp, cache) / dp.shape[0]


def softmax_mask_forgotten_forward(x, mask):
    p, cache = F.softmax_forward(x, mask)
    return p, (cache, F.softmax_forward(x)[0])


def softmax_mask_forgotten_backward(dp, cache):
    return F.softmax_backward(dp, type(cache[0])(cache[1]))


def attention_unscaled(dy, cache):
    dquery, dkey, dvalue = F.attention_backward(dy, cache)
    scale = math.sqrt(cache.query.shape[-1])
    return dquery * scale, dkey * scale, dvalue


class HeadsMergedWrongly(L.SelfAttention):
    def backward(self, dy, cache):
        dheads = self.split(self.output.backward(dy, cache.output))
        dq, dk, dv = F.attention_backward(dheads, cache.attention)

        def merge(x):
            return x.reshape(x.shape[0], x.shape[2], -1)    # the axes of heads and time were not swapped back

        return (self.query.backward(merge(dq), cache.query) + self.key.backward(merge(dk), cache.key)
                + self.value.backward(merge(dv), cache.value))


class UnscaledHeads(L.MultiHeadAttention):
    def backward(self, dy, cache):
        dheads = self.split(self.output.backward(dy, cache.output))
        dq, dk, dv = attention_unscaled(dheads, cache.attention)
        return (self.query.backward(self.merge(dq), cache.query), self.key.backward(self.merge(dk), cache.key),
                self.value.backward(self.merge(dv), cache.value))


class TimeAxisLost(L.SelfAttention):
    """The heads of all positions are given the gradient of the first one."""

    def backward(self, dy, cache):
        return super().backward(np.broadcast_to(dy[:, :1], dy.shape), cache)


# Dropout

class SharedDropout(L.FeedForward):
    """The mask of one dropout serves two in backward: the one that was drawn last."""

    def forward(self, x, rng=None):
        h, _ = F.dropout_forward(x, self.dropout, rng)
        h, inner = self.inner.forward(h)
        h, last = F.dropout_forward(h, self.dropout, rng)
        return h, (inner, last)

    def backward(self, dy, cache):
        inner, last = cache
        dh = self.inner.backward(F.dropout_backward(dy, last), inner)
        return dh if last.mask is None else dh * last.mask


def dropout_mask_forgotten(dy, cache):
    return dy if cache.mask is None else dy * cache.mask.max()


def dropout_scale_forgotten(dy, cache):
    return dy if cache.mask is None else dy * (cache.mask > 0)


class DropoutForgotten(L.FeedForward):
    def backward(self, dy, cache):
        return super().backward(dy, cache._replace(dropout=type(cache.dropout)(None)))


# Cross-entropy

def averaged_twice(dloss, cache):
    return F.cross_entropy_backward(dloss, cache) / int(cache.count) ** 2


def padding_counted(dloss, cache):
    return F.cross_entropy_backward(dloss, cache._replace(real=np.ones_like(cache.real)))


def smoothing_forgotten(dloss, cache):
    return F.cross_entropy_backward(dloss, cache._replace(smoothing=0.0))


def max_forward(x):
    peak = x.real.max(axis=-1, keepdims=True)
    where = np.argmax(x.real, axis=-1)[..., None]
    return np.take_along_axis(x, where, axis=-1)[..., 0], (x, peak)


def max_backward_of_ties(dy, cache):
    x, peak = cache
    return (x == peak) * dy[..., None]


# Linear, embedding, positions

class Shuffled(L.Linear):
    """Linear whose backward is wrong in the way of `mistake`."""

    def __init__(self, mistake, d_out=D):
        super().__init__(D, d_out, rng)
        self.mistake = mistake

    def backward(self, dy, cache):
        before = self.weight.grad.copy()
        dx = super().backward(dy, cache)
        if self.mistake == "dx":
            return dy @ self.weight.data
        if self.mistake == "dw":
            self.weight.grad[...] = before + (self.weight.grad - before).T
        if self.mistake == "sign":
            return -dx
        if self.mistake == "bias":
            self.bias.grad[...] = dy.reshape(-1, dy.shape[-1])[0]
        return dx


class Assigned(L.Layer):
    """y = x W W with a shared W whose gradient is assigned."""

    def __init__(self):
        self.weight = Parameter(array(D, D))

    def forward(self, x):
        h = x @ self.weight.data
        return h @ self.weight.data, (x, h)

    def backward(self, dy, cache):
        x, h = cache
        self.weight.grad[...] = h.reshape(-1, D).T @ dy.reshape(-1, D)
        dh = dy @ self.weight.data.T
        self.weight.grad[...] = x.reshape(-1, D).T @ dh.reshape(-1, D)
        return dh @ self.weight.data.T


class EmbeddingDropsRepeats(L.Embedding):
    def backward(self, dy, cache):
        self.weight.grad[cache.ids] += math.sqrt(D) * dy


class PositionsOffByOne(L.LearnedPositions):
    def backward(self, dy, cache):
        self.weight.grad[1: cache.length + 1] += dy.sum(axis=0)
        return dy


class BatchSumForgotten(L.LearnedPositions):
    def backward(self, dy, cache):
        self.weight.grad[: cache.length] += dy[0]
        return dy


# Residual, feed-forward, stacks

class ResidualDropped(L.Residual):
    def backward(self, dy, cache):
        if not self.pre_norm:
            dy = self.norm.backward(dy, cache.norm)
        dh = self.sublayer.backward(F.dropout_backward(dy, cache.dropout), cache.sublayer)
        return self.norm.backward(dh, cache.norm) if self.pre_norm else dh


class ReluOfTheWrongLayer(L.FeedForward):
    def backward(self, dy, cache):
        positive = cache.inner.x[..., :1] > 0    # of the input, not of the inner linear's output
        return super().backward(dy, cache._replace(activation=type(cache.activation)(
            np.broadcast_to(positive, cache.activation.positive.shape))))


class LastLayerOnly(L.Decoder):
    def backward(self, dy, cache):
        last = None
        for layer, layer_cache in zip(reversed(self.layers), reversed(cache.layers)):
            dy, dmemory = layer.backward(dy, layer_cache)
            last = dmemory if last is None else last
        return dy, last


config = L.TransformerConfig(source_vocab=V, target_vocab=V, num_layers=2, d_model=D, num_heads=H, d_ff=8, dropout=0.2)
x, memory, targets = array(B, T, D), array(B, T_K, D), np.array([[1, 4, F.PAD], [2, 6, 3]])
mask = np.array([[True, False, True, True], [True, True, False, True], [False, True, True, True]])
norm = (array(B, T, D), array(D), array(D))
attention = (array(B, H, T, 5), array(B, H, T_K, 5), array(B, H, T_K, 2))
tied = np.where(np.arange(D) < 2, 9.0, array(B, T, D))
ffn = L.FeedForward(D, 8, rng)

PLANTED = {    # name: (block, inputs, words that name it)
    "one dropout mask for several uses": (randomised(SharedDropout(D, D, rng, dropout=0.4)), (x,), "shared by several uses"),
    "gamma outside the means": ((F.layer_norm_forward, gamma_outside), norm, "gamma is multiplied outside"),
    "softmax divided by the batch": ((F.softmax_forward, softmax_over_batch), (array(5, T, T_K),), "averaged over the batch"),
    "attention divided by the batch": ((F.attention_forward, scaled(F.attention_backward, 1 / 2)),
                                       attention, "averaged over the batch"),
    "cross-entropy divided by N twice": ((F.cross_entropy_forward, averaged_twice), (array(B, T, V), targets),
                                         "the real tokens twice"),
    "padding counted": ((F.cross_entropy_forward, padding_counted), (array(B, T, V), targets), "padding is counted"),
    "smoothing forgotten": ((F.cross_entropy_forward, smoothing_forgotten), (array(B, T, V), targets, 0.2), "smoothing"),
    "ties taken for the maximum": ((max_forward, max_backward_of_ties), (tied,), "tied entries"),
    "dropout's mask not applied": ((F.dropout_forward, dropout_mask_forgotten), (x, 0.3), "does not apply the mask"),
    "dropout's mask not applied, in a layer": (randomised(DropoutForgotten(D, 8, rng, dropout=0.3)), (x,), "dropout"),
    "dropout's scale forgotten": ((F.dropout_forward, dropout_scale_forgotten), (x, 0.3), "scale"),
    "time axis lost": (randomised(TimeAxisLost(D, H, rng)), (x,), "time axis"),
    "1/sqrt(d_k) forgotten": ((F.attention_forward, attention_unscaled), attention, "1/sqrt(d_k)"),
    "1/sqrt(d_k) forgotten, in a layer": (randomised(UnscaledHeads(D, H, rng, d_k=5)), (x, memory, memory), "1/sqrt(d_k)"),
    "LayerNorm's mean term forgotten": ((F.layer_norm_forward, without_mean), norm, "term mean(dn)"),
    "LayerNorm's variance term forgotten": ((F.layer_norm_forward, without_variance_term), norm, "term n mean(dn n)"),
    "sum over a broadcast axis forgotten (bias)": (randomised(Shuffled("bias")), (x,), "not summed over"),
    "sum over a broadcast axis forgotten (positions)": (randomised(BatchSumForgotten(T, D, rng)), (x,), "not summed over"),
    "= instead of +=": (Assigned(), (x,), "assigned (=)"),
    "transpose missing in dx": (randomised(Shuffled("dx")), (x,), "missing transpose"),
    "transpose missing in dW": (randomised(Shuffled("dw")), (x,), "missing transpose"),
    "wrong sign": (randomised(Shuffled("sign", 4)), (x,), "wrong sign"),
    "mask applied in forward only": ((softmax_mask_forgotten_forward, softmax_mask_forgotten_backward),
                                     (array(T, T_K), mask), "forward only"),
    "residual dropped, post-norm": (randomised(ResidualDropped(ffn, D)), (x,), "residual path is dropped"),
    "residual dropped, pre-norm": (randomised(ResidualDropped(ffn, D, pre_norm=True)), (x,), "residual path is dropped"),
    "heads merged in the wrong order": (randomised(HeadsMergedWrongly(D, H, rng)), (x,), "heads are split or merged"),
    "positions off by one": (randomised(PositionsOffByOne(T + 2, D, rng)), (x,), "off by one"),
    "ReLU mask of the wrong layer": (randomised(ReluOfTheWrongLayer(D, 8, rng)), (x,), "ReLU mask"),
    "memory's gradient from the last layer only": (randomised(LastLayerOnly(config, rng)), (x, memory), "one layer of the stack"),
}
