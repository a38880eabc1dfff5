"""Mistakes without a name: arbitrary wrong formulas, one or two a block. Only a false name for them is wrong."""

import math

import numpy as np

from minitransformer.functional.activations import GeluCache
from minitransformer.layers.linear import LinearCache
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import changed, mean, over_rows, rows, softmax, total, turned
from tests.course.doctor.mistakes.words import UNKNOWN

linear_column_weights = right.linear(bias=lambda dy: over_rows(dy) * np.linspace(0.5, 1.5, dy.shape[-1], dtype=dy.dtype))
linear_smoothed_rows = right.linear(
    dx=lambda dy, W: ((0.75 * rows(dy) + 0.25 * np.roll(rows(dy), 1, axis=0)) @ W.T).reshape(*dy.shape[:-1], len(W)))
embedding_dims_fade = right.embedding(lambda ids, d: (ids, (0.9 ** np.arange(d.shape[-1])).astype(d.dtype) * d))
learned_sine = right.learned(lambda dy: dy.sum(axis=0) + 0.3 * np.sin(2 * dy.sum(axis=0)))
softmax_halfway = softmax(lambda dp, p: p * (dp - total(dp * (0.6 * p + 0.4 * p * p))))
softmax_forward_quadratic = changed(right.softmax_forward(), lambda p, cache, *_: (p + 0.2 * p * (p - total(p * p)), cache))
attention_cubed_key = right.attention(dquery=lambda ds, cache: ds @ (cache.key - 0.1 * cache.key ** 3))
attention_value_of_powered_weights = right.attention(dvalue=lambda dy, cache: turned(cache.weights ** 1.2) @ dy)
attention_forward_cap = right.attention_forward(
    lambda query, key, value: 2 * np.tanh(query @ turned(key) / math.sqrt(query.shape[-1]) / 2))
norm_fourth_moment = right.norm(lambda dn, n, s, *_: s * (dn - mean(dn) - n * mean(dn * n ** 3)))
norm_gamma_from_powered = right.norm(dgamma=lambda dy, n, *_: over_rows(dy * np.sign(n) * abs(n) ** 0.8))
norm_forward_bends = right.norm_forward(y=lambda n, gamma, beta: gamma * (n - 0.05 * n * n * n) + beta)
gelu_powered_gate = right.gelu(first=lambda tanh: (0.5 * (1 + tanh)) ** 1.15)
dropout_squashed = right.dropout(lambda dy, mask: np.arctan(dy) * mask)
loss_tempered = right.given(right.cross_entropy_backward, lambda dloss, cache: (
    dloss, cache._replace(p=cache.p ** 0.9 / total(cache.p ** 0.9))))
fused_soft_rows = changed(right.fused(), lambda dx, dweight, *_: (dx / (1 + 0.2 * abs(dx)), dweight))
heads_weighted = right.multi_head(merge=lambda self, q, k, v: map(self.merge, (
    q, k, np.linspace(0.8, 1.2, self.num_heads, dtype=v.dtype)[:, None, None] * v)))
feed_forward_gradient_noise = right.feed_forward(inner=lambda layer, dh, cache: layer.backward(dh - 0.1 * dh ** 3, cache))
transformer_mixed = right.transformer(lambda dmemory, _: 0.9 * dmemory + 0.1 * np.roll(dmemory, 1, axis=1))


def linear_forward_bends(self, x):
    y = x @ self.weight.data + self.bias.data
    return y + 0.05 * y * y * y, LinearCache(x)


def gelu_forward_ripple(x):
    tanh = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))
    return 0.5 * x * (1 + tanh) + 0.02 * np.cos(4 * x), GeluCache(x, tanh)


def first_token_fades(self, dy, cache):
    dx = np.zeros(cache.shape, dy.dtype)
    for t in range(cache.shape[1]):
        dx[:, t] = 0.1 ** t * dy
    return dx


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
