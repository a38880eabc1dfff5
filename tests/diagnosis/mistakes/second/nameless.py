"""Mistakes without a name: arbitrary wrong formulas, one or two a block. Only a false name for them is wrong."""

import math

import numpy as np

from minitransformer.functional import dropout_backward
from minitransformer.functional.activations import GeluCache
from minitransformer.functional.attention import AttentionCache
from minitransformer.functional.layer_norm import LayerNormCache
from minitransformer.functional import cross_entropy_backward, dropout_forward, softmax_forward
from minitransformer.functional.softmax import SoftmaxCache
from minitransformer.layers.feed_forward import ACTIVATIONS
from minitransformer.layers.linear import LinearCache
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import UNKNOWN



def linear_column_weights(self, dy, cache):
    x, g = right.linear_rows(self, dy, cache)
    self.weight.grad += x.T @ g
    self.bias.grad += g.sum(axis=0) * np.linspace(0.5, 1.5, len(self.bias.data), dtype=dy.dtype)
    return (g @ self.weight.data.T).reshape(cache.x.shape)


def linear_smoothed_rows(self, dy, cache):
    x, g = right.linear_rows(self, dy, cache)
    self.weight.grad += x.T @ g
    self.bias.grad += g.sum(axis=0)
    g = 0.75 * g + 0.25 * np.roll(g, 1, axis=0)
    return (g @ self.weight.data.T).reshape(cache.x.shape)


def linear_forward_bends(self, x):
    y = x @ self.weight.data + self.bias.data
    return y + 0.05 * y * y * y, LinearCache(x)


def embedding_dims_fade(self, dy, cache):
    d_model = self.weight.shape[1]
    fade = (0.9 ** np.arange(d_model)).astype(dy.dtype)
    np.add.at(self.weight.grad, cache.ids, d_model ** 0.5 * fade * dy)


def learned_sine(self, dy, cache):
    g = dy.sum(axis=0)
    self.weight.grad[: cache.length] += g + 0.3 * np.sin(2 * g)
    return dy


def softmax_halfway(dp, cache):
    p = cache.p
    mixed = 0.6 * p + 0.4 * p * p
    return p * (dp - (dp * mixed).sum(axis=-1, keepdims=True))


def softmax_forward_quadratic(x, mask=None):
    if mask is not None:
        x = np.where(mask, x, -np.inf)
    peak = x.real.max(axis=-1, keepdims=True)
    e = np.exp(x - np.where(peak == -np.inf, 0, peak))
    total = e.sum(axis=-1, keepdims=True)
    p = e / np.where(total == 0, 1, total)
    return p + 0.2 * p * (p - (p * p).sum(axis=-1, keepdims=True)), SoftmaxCache(p)


def attention_cubed_key(dy, cache):
    query, key, value, softmax, dropout, weights = cache
    ds = right.scores(dy, cache) / math.sqrt(query.shape[-1])
    return ds @ (key - 0.1 * key ** 3), ds.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ dy


def attention_value_of_powered_weights(dy, cache):
    dquery, dkey, _ = right.attention_backward(dy, cache)
    return dquery, dkey, (cache.weights ** 1.2).swapaxes(-1, -2) @ dy


def attention_forward_cap(query, key, value, mask=None, dropout_rate=0.0, rng=None):
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    p, softmax = softmax_forward(2 * np.tanh(scores / 2), mask)
    weights, dropout = dropout_forward(p, dropout_rate, rng)
    return weights @ value, AttentionCache(query, key, value, softmax, dropout, weights)


def norm_fourth_moment(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    along = (dn * normed ** 3).mean(axis=-1, keepdims=True)
    dx = inverse * (dn - dn.mean(axis=-1, keepdims=True) - normed * along)
    return dx, *right.norm_parameters(dy, normed)


def norm_gamma_from_powered(dy, cache):
    dx, _, dbeta = right.layer_norm_backward(dy, cache)
    return dx, (dy * np.sign(cache.normed) * abs(cache.normed) ** 0.8).sum(axis=tuple(range(dy.ndim - 1))), dbeta


def norm_forward_bends(x, gamma, beta, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + epsilon)
    normed = centred * inverse
    return gamma * (normed - 0.05 * normed * normed * normed) + beta, LayerNormCache(normed, inverse, gamma)


def gelu_powered_gate(dy, cache):
    x, tanh = cache
    gate = (0.5 * (1 + tanh)) ** 1.15
    return dy * (gate + 0.5 * x * (1 - tanh * tanh) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x))


def gelu_forward_ripple(x):
    tanh = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))
    return 0.5 * x * (1 + tanh) + 0.02 * np.cos(4 * x), GeluCache(x, tanh)


def dropout_squashed(dy, cache):
    return dy if cache.mask is None else np.arctan(dy) * cache.mask


def loss_tempered(dloss, cache):
    p, targets, real, smoothing = cache[:4]
    size = p.shape[-1]
    tempered = p ** 0.9
    tempered = tempered / tempered.sum(axis=-1, keepdims=True)
    dlogits = (tempered - smoothing / size).reshape(-1, size)
    dlogits[np.arange(len(dlogits)), targets.ravel()] -= 1 - smoothing
    return dlogits.reshape(p.shape) * real[..., None] * dloss


def fused_soft_rows(dloss, cache):
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))
    dx = (dlogits @ weight).reshape(x.shape)
    return dx / (1 + 0.2 * abs(dx)), dlogits.T @ x.reshape(-1, x.shape[-1])


def heads_weighted(self, dy, cache):
    dq, dk, dv = right.head_gradients(self, dy, cache)
    share = np.linspace(0.8, 1.2, self.num_heads, dtype=dy.dtype)[:, None, None]
    return right.projections(self, self.merge(dq), self.merge(dk), self.merge(share * dv), cache)


def feed_forward_gradient_noise(self, dy, cache):
    dh = self.outer.backward(dy, cache.outer)
    dh = dropout_backward(dh, cache.dropout)
    dh = ACTIVATIONS[self.activation][1](dh, cache.activation)
    return self.inner.backward(dh - 0.1 * dh ** 3, cache.inner)


def first_token_fades(self, dy, cache):
    dx = np.zeros(cache.shape, dy.dtype)
    for t in range(cache.shape[1]):
        dx[:, t] = 0.1 ** t * dy
    return dx


def transformer_mixed(self, dy, cache):
    dx, dmemory = self.decoder.backward(dy, cache.decode.decoder)
    self.target_input.backward(dx, cache.decode.input)
    dmemory = 0.9 * dmemory + 0.1 * np.roll(dmemory, 1, axis=1)
    dx = self.encoder.backward(dmemory, cache.encode.encoder)
    self.source_input.backward(dx, cache.encode.input)


def _(name, replaces, wrong, block, places, comment, in_model="transformer"):
    return Mistake(name, replaces, wrong, block, ((*UNKNOWN, *places),), in_model=in_model, comment=comment + " Arbitrary: it has no name.")


LAYERS = "minitransformer.layers."
MISTAKES = [
    _("nameless-linear-bias-weights", "Linear.backward", linear_column_weights, "linear", ("bias",), "The bias gradient's columns are multiplied by 0.5 to 1.5."),
    _("nameless-linear-rows-smoothed", "Linear.backward", linear_smoothed_rows, "linear", ("dx", "input", "linear"), "dx is made with dy smoothed over neighbouring rows."),
    _("nameless-linear-forward-bends", "Linear.forward", linear_forward_bends, "linear", ("linear", "input", "weight", "bias", "forward"), "forward adds 0.05 y^3 to its result y, which the given backward doesn't know."),
    _("nameless-embedding-dims-fade", "Embedding.backward", embedding_dims_fade, "embedding", ("embedding", "weight"), "The gradient of feature i is multiplied by 0.9^i."),
    _("nameless-learned-positions-sine", LAYERS + "positions:LearnedPositions.backward", learned_sine, "learned-positions", ("position", "weight", "table"), "0.3 sin(2 g) is added to the table's gradient g.", "transformer-unshared"),
    _("nameless-softmax-halfway", "softmax_backward", softmax_halfway, "softmax", ("softmax", "sum", "dx", "input"), "In the row sum p is replaced by 0.6 p + 0.4 p^2."),
    _("nameless-softmax-forward-quadratic", "softmax_forward", softmax_forward_quadratic, "softmax", ("softmax", "forward", "dx", "input"), "forward adds 0.2 p (p - sum p^2) to p, which the given backward doesn't know."),
    _("nameless-attention-cubed-key", "attention_backward", attention_cubed_key, "attention", ("query", "dq"), "dQ is made with key - 0.1 key^3."),
    _("nameless-attention-powered-weights", "attention_backward", attention_value_of_powered_weights, "attention", ("value", "dv"), "dV is made with the weights to the power 1.2."),
    _("nameless-attention-forward-cap", "attention_forward", attention_forward_cap, "attention", ("query", "key", "scores", "softmax", "tanh", "cap"), "forward caps the scores with 2 tanh(s / 2), which the given backward doesn't know."),
    _("nameless-norm-fourth-moment", "layer_norm_backward", norm_fourth_moment, "layer-norm", ("norm", "dx", "input", "term", "variance"), "The second mean is of dn n^3 instead of dn n."),
    _("nameless-norm-gamma-powered", "layer_norm_backward", norm_gamma_from_powered, "layer-norm", ("gamma",), "dgamma is made with |n|^0.8, signed, instead of n."),
    _("nameless-norm-forward-bends", "layer_norm_forward", norm_forward_bends, "layer-norm", ("norm", "dx", "input", "gamma"), "forward subtracts 0.05 n^3 from n, which the given backward doesn't know."),
    _("nameless-gelu-powered-gate", "gelu_backward", gelu_powered_gate, "gelu", ("gelu", "dx", "input", "term"), "The first term is raised to the power 1.15.", "transformer-pre-norm"),
    _("nameless-gelu-forward-ripple", "gelu_forward", gelu_forward_ripple, "gelu", ("gelu", "dx", "input", "forward"), "forward adds 0.02 cos(4 x), which the given backward doesn't know.", "transformer-pre-norm"),
    _("nameless-dropout-squashed", "dropout_backward", dropout_squashed, "dropout", ("dropout", "dx", "input"), "dy goes through arctan before the mask."),
    _("nameless-loss-tempered", "cross_entropy_backward", loss_tempered, "cross-entropy", ("logits", "softmax", "temperature"), "The backward's p is p^0.9, normalised.", ""),
    _("nameless-fused-soft-rows", "linear_cross_entropy_backward", fused_soft_rows, "linear-cross-entropy", ("dx", "input"), "dx becomes dx / (1 + 0.2 |dx|).", ""),
    _("nameless-heads-weighted", "MultiHeadAttention.backward", heads_weighted, "multi-head-attention", ("value", "head", "dv"), "The heads' value gradients are weighted from 0.8 to 1.2."),
    _("nameless-feed-forward-cubic", LAYERS + "feed_forward:FeedForward.backward", feed_forward_gradient_noise, "feed-forward", ("inner", "dx", "input", "feed"), "0.1 g^3 is subtracted from the gradient g between activation and inner Linear.", "transformer"),
    _("nameless-first-token-fades", LAYERS + "pooling:FirstToken.backward", first_token_fades, "first-token", ("position", "first", "dx", "input"), "Position t gets 0.1^t dy.", "classifier-first-token"),
    _("nameless-transformer-memory-mixed", "minitransformer.models.transformer:Transformer.hidden_backward", transformer_mixed, "transformer", ("encoder", "memory", "source"), "A tenth of the memory's gradient is taken from the neighbouring position."),
]
