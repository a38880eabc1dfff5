"""More wrong backwards, written after the doctor, which was not changed for them."""

import numpy as np

from minitransformer import functional as F
from minitransformer import layers as L
from tests.checking.planted import B, D, H, T, T_K, V, array, attention, config, mask, memory, randomised, rng, x

class KeysOnly(L.CrossAttention):
    def backward(self, dy, cache):
        dquery, dkey, _ = L.MultiHeadAttention.backward(self, dy, cache)
        return dquery, dkey


class NormSkipped(L.Encoder):
    def backward(self, dy, cache):
        for layer, layer_cache in zip(reversed(self.layers), reversed(cache.layers)):
            dy = layer.backward(dy, layer_cache)
        return dy


class OneDropoutForBothResiduals(L.EncoderLayer):
    def backward(self, dy, cache):
        shared = cache.self_attention._replace(dropout=cache.feed_forward.dropout)
        return super().backward(dy, cache._replace(self_attention=shared))


class EmbeddingUnscaled(L.Embedding):
    def backward(self, dy, cache):
        np.add.at(self.weight.grad, cache.ids, dy)


class WeightAveraged(L.OutputProjection):
    def backward(self, dlogits, cache):
        before = self.weight.grad.copy()
        dx = super().backward(dlogits, cache)
        self.weight.grad[...] = before + (self.weight.grad - before) / (B * T)
        return dx


class PositionsOffTheOtherWay(L.LearnedPositions):
    def backward(self, dy, cache):
        self.weight.grad[: cache.length - 1] += dy.sum(axis=0)[1:]
        return dy


def gelu_without_product_rule(dy, cache):
    return dy * 0.5 * (1 + cache.tanh)


def softmax_diagonal(dp, cache):
    return dp * cache.p * (1 - cache.p)


def attention_value_sign(dy, cache):
    dquery, dkey, dvalue = F.attention_backward(dy, cache)
    return dquery, dkey, -dvalue


class MaskInForwardOnly(L.SelfAttention):
    def forward(self, x, mask=None):
        y, cache = super().forward(x, mask)
        _, unmasked = super().forward(x)
        return y, (cache, unmasked.attention.softmax)

    def backward(self, dy, cache):
        cache, unmasked = cache
        return super().backward(dy, cache._replace(attention=cache.attention._replace(softmax=unmasked)))


pre_norm_config = L.TransformerConfig(**{**vars(config), "pre_norm": True})
HELD_OUT = {
    "dvalue forgotten in the memory's gradient": (randomised(KeysOnly(D, H, rng)), (x, memory), "value"),
    "the final norm skipped in backward": (randomised(NormSkipped(pre_norm_config, rng)), (x,), "norm"),
    "one dropout mask for both residuals": (randomised(OneDropoutForBothResiduals(config, rng)), (x,), "shared by several uses"),
    "the embedding's sqrt(d_model) forgotten": (randomised(EmbeddingUnscaled(V, D, rng)), (np.array([[1, 2, 1]]),), "sqrt"),
    "a weight's gradient averaged over all tokens": (randomised(WeightAveraged(V, D, rng)), (x,), "averaged over all tokens"),
    "positions off by one, the other way": (randomised(PositionsOffTheOtherWay(T + 2, D, rng)), (x,), "off by one"),
    "GELU without the product rule": ((F.gelu_forward, gelu_without_product_rule), (x,), "product"),
    "softmax by its diagonal alone": ((F.softmax_forward, softmax_diagonal), (array(T, T_K),), "diagonal"),
    "the value's sign": ((F.attention_forward, attention_value_sign), attention, "wrong sign"),
    "attention's mask in forward only": (randomised(MaskInForwardOnly(D, H, rng)), (x, mask[:, :T]), "forward only"),
}
