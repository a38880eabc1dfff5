"""The right parts of backwards and forwards: a mistake shows only what it changes.

Textbook functions stand here without what can be plugged in, which is the mistake itself.
"""

import numpy as np

from minitransformer import functional
from minitransformer.functional import dropout_backward, softmax_backward
from minitransformer.functional.activations import CUBIC, SLOPE

attention_backward = functional.attention_backward.replaceable.textbook
layer_norm_backward = functional.layer_norm_backward.replaceable.textbook
cross_entropy_backward = functional.cross_entropy_backward.replaceable.textbook


def linear_rows(self, dy, cache):
    """x and dy as rows: (N, d_in), (N, d_out)."""
    d_in, d_out = self.weight.shape
    return cache.x.reshape(-1, d_in), dy.reshape(-1, d_out)


def tied_rows(self, dlogits, cache):
    """The same for an output projection, whose weight is (vocab_size, d_model)."""
    vocab_size, d_model = self.weight.shape
    return cache.x.reshape(-1, d_model), dlogits.reshape(-1, vocab_size)


def gelu_backward(dy, cache, u_prime=None, first=1.0, second=1.0):
    """With another derivative of tanh's argument, or factors of the two terms."""
    x, tanh = cache
    if u_prime is None:
        u_prime = SLOPE * (1 + 3 * CUBIC * x * x)
    return dy * (first * 0.5 * (1 + tanh) + second * 0.5 * x * (1 - tanh * tanh) * u_prime)


def norm_parameters(dy, normed):
    """dgamma and dbeta."""
    rows = tuple(range(dy.ndim - 1))
    return (dy * normed).sum(axis=rows), dy.sum(axis=rows)


def probabilities(dy, cache):
    """dp of attention: through the weights and dropout."""
    return dropout_backward(dy @ cache.value.swapaxes(-1, -2), cache.dropout)


def scores(dy, cache):
    """The gradient of what attention's softmax is given: Q K^T / sqrt(d_k)."""
    return softmax_backward(probabilities(dy, cache), cache.softmax)


def of_scores(dscores, dy, cache):
    """dquery, dkey and dvalue, from the gradient of Q K^T."""
    return dscores @ cache.key, dscores.swapaxes(-1, -2) @ cache.query, cache.weights.swapaxes(-1, -2) @ dy


def heads(self, dy, cache):
    """The gradient of the heads' outputs: (B, H, T, d)."""
    return self.split(self.output.backward(dy, cache.output))


def head_gradients(self, dy, cache):
    """dq, dk and dv of the heads: (B, H, T, d)."""
    return functional.attention_backward(heads(self, dy, cache), cache.attention)


def projections(self, dq, dk, dv, cache):
    """Through the three projections, from (B, T, H d)."""
    return self.query.backward(dq, cache.query), self.key.backward(dk, cache.key), self.value.backward(dv, cache.value)


def of_heads(self, dheads, cache):
    """From the gradient of the heads' outputs through attention, merge and the projections."""
    return projections(self, *map(self.merge, functional.attention_backward(dheads, cache.attention)), cache)


def targets_distribution(cache, on, off):
    """Rows with `on` added to `off` at the target."""
    p, targets = cache.p, cache.targets.reshape(-1)
    q = np.full((targets.size, p.shape[-1]), off)
    q[np.arange(targets.size), targets] += on
    return q.reshape(p.shape)


def loss_parts(logits, targets, smoothing, real, spread=None):
    """Loss with a weight for each row, p and log-likelihood; spread: of the smoothing over the classes."""
    shifted = logits - logits.real.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    log_target = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    mean = log_p.sum(axis=-1) / (spread or logits.shape[-1])
    loss = -((1 - smoothing) * log_target * real + smoothing * mean * real).sum()
    return loss, np.exp(log_p), log_target * real


def residual_paths(self, dy, cache, drop=dropout_backward, pre=True, post=True):
    """Gradients of shortcut and sub-layer, and the others, but for what the options leave out."""
    if post and not self.pre_norm:
        dy = self.norm.backward(dy, cache.norm)
    dh = self.sublayer.backward(drop(dy, cache.dropout), cache.sublayer)
    dh, *others = dh if isinstance(dh, tuple) else (dh,)
    if pre and self.pre_norm:
        dh = self.norm.backward(dh, cache.norm)
    return dy, dh, others


def with_others(dx, others):
    """What a residual's backward returns."""
    return (dx, *others) if others else dx


def decoder_layers(self, dy, cache):
    """dx, and gradients of the memory, the last layer's first."""
    if self.norm:
        dy = self.norm.backward(dy, cache.norm)
    memories = []
    for layer, layer_cache in zip(reversed(self.layers), reversed(cache.layers)):
        dy, dlayer = layer.backward(dy, layer_cache)
        memories.append(dlayer)
    return dy, memories
