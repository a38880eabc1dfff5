"""Mistakes without a name: arbitrary wrong formulas, one or two a block. Only a false name for them is wrong."""

import numpy as np

from research.mistakes import makers
from research.mistakes.makers import BIAS_GRADIENT
from research.mistakes.words import UNKNOWN


def first_token_fades(self, dy, cache):
    dx = np.zeros(cache.shape, dy.dtype)
    for t in range(cache.shape[1]):
        dx[:, t] = 0.1 ** t * dy
    return dx


def _(name, replaces, wrong, block, places, **more):
    return makers.mistake(name, replaces, wrong, block, ((*UNKNOWN, *places),), **more)


LAYERS = "minitransformer.layers."
MISTAKES = [
    _("nameless-linear-bias-weights", "Linear.backward", (BIAS_GRADIENT, "drows.sum(axis=0) * np.linspace(0.5, 1.5, d_out, dtype=dy.dtype)"), "linear", ("bias",)),
    _("nameless-linear-rows-smoothed", "Linear.backward",
      ("return (drows", "return ((0.75 * drows + 0.25 * np.roll(drows, 1, axis=0))"), "linear", ("dx", "input", "linear")),
    _("nameless-linear-forward-bends", LAYERS + "linear:Linear.forward", ("return y", "y = y + 0.05 * y * y * y\n    return y"), "linear",
      ("linear", "input", "weight", "bias", "forward")),
    _("nameless-embedding-dims-fade", "Embedding.backward", ("* sums", "* sums * (0.9 ** np.arange(d_model)).astype(dy.dtype)"), "embedding", ("embedding", "weight")),
    _("nameless-learned-positions-sine", LAYERS + "positions:LearnedPositions.backward",
      ("dy.sum(axis=0)", "dy.sum(axis=0) + 0.3 * np.sin(2 * dy.sum(axis=0))"), "learned-positions",
      ("position", "weight", "table"), in_model="transformer-unshared"),
    _("nameless-softmax-halfway", "softmax_backward", ("(dp * p)", "(dp * (0.6 * p + 0.4 * p * p))"), "softmax", ("softmax", "sum", "dx", "input")),
    _("nameless-softmax-forward-quadratic", "softmax_forward",
      ("return p,", "return p + 0.2 * p * (p - (p * p).sum(axis=-1, keepdims=True)),"), "softmax",
      ("softmax", "forward", "dx", "input")),
    _("nameless-attention-cubed-key", "attention_backward", ("dscores @ key", "dscores @ (key - 0.1 * key ** 3)"), "attention", ("query", "dq")),
    _("nameless-attention-powered-weights", "attention_backward", ("dvalue = weights", "dvalue = (weights ** 1.2)"), "attention", ("value", "dv")),
    _("nameless-attention-forward-cap", "attention_forward",
      ("query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])", "2 * np.tanh(query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1]) / 2)"),
      "attention", ("query", "key", "scores", "softmax", "tanh", "cap")),
    _("nameless-norm-fourth-moment", "layer_norm_backward", ("(dn * normed)", "(dn * normed ** 3)"), "layer-norm", ("norm", "dx", "input", "term", "variance")),
    _("nameless-norm-gamma-powered", "layer_norm_backward", ("(dy * normed)", "(dy * np.sign(normed) * abs(normed) ** 0.8)"), "layer-norm", ("gamma",)),
    _("nameless-norm-forward-bends", "layer_norm_forward",
      ("gamma * normed", "gamma * (normed - 0.05 * normed * normed * normed)"), "layer-norm", ("norm", "dx", "input", "gamma")),
    _("nameless-gelu-powered-gate", "gelu_backward", ("0.5 * (1 + tanh)", "(0.5 * (1 + tanh)) ** 1.15"), "gelu",
      ("gelu", "dx", "input", "term"), in_model="transformer-pre-norm"),
    _("nameless-gelu-forward-ripple", "gelu_forward", ("(1 + tanh)", "(1 + tanh) + 0.02 * np.cos(4 * x)"), "gelu",
      ("gelu", "dx", "input", "forward"), in_model="transformer-pre-norm"),
    _("nameless-dropout-squashed", "dropout_backward", ("dy * cache.mask", "np.arctan(dy) * cache.mask"), "dropout", ("dropout", "dx", "input")),
    _("nameless-loss-tempered", "cross_entropy_backward",
      ("p.reshape(-1, size)", "(p ** 0.9 / (p ** 0.9).sum(axis=-1, keepdims=True)).reshape(-1, size)"), "cross-entropy",
      ("logits", "softmax", "temperature"), in_model=""),
    _("nameless-heads-weighted", "MultiHeadAttention.backward",
      ("self.merge(dv)", "self.merge(np.linspace(0.8, 1.2, self.num_heads, dtype=dv.dtype)[:, None, None] * dv)"),
      "multi-head-attention", ("value", "head", "dv")),
    _("nameless-feed-forward-cubic", LAYERS + "feed_forward:FeedForward.backward",
      ("inner.backward(dh", "inner.backward(dh - 0.1 * dh ** 3"), "feed-forward", ("inner", "dx", "input", "feed"),
      in_model="transformer"),
    _("nameless-first-token-fades", LAYERS + "pooling:FirstToken.backward", first_token_fades, "first-token",
      ("position", "first", "dx", "input"), in_model="classifier-first-token"),
    _("nameless-transformer-memory-mixed", "minitransformer.models.transformer:Transformer.hidden_backward",
      ("backward(dmemory", "backward(0.9 * dmemory + 0.1 * np.roll(dmemory, 1, axis=1)"), "transformer",
      ("encoder", "memory", "source")),
]
