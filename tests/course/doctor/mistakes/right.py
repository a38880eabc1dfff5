"""The right forwards and backwards, in parts: a mistake is one of them with a wrong part.

Without arguments, each of linear, softmax, ... returns what the textbook computes; an argument is the part that a mistake
puts in its place. Textbook functions stand here without what can be plugged in, which is the mistake itself.
"""

import math

import numpy as np

from minitransformer import functional
from minitransformer.functional import attention_backward, dropout_backward, softmax_backward
from minitransformer.functional.activations import CUBIC, SLOPE
from minitransformer.functional.attention import AttentionCache
from minitransformer.functional.cross_entropy import CrossEntropyCache
from minitransformer.functional.dropout import DropoutCache, dropout_mask
from minitransformer.functional.layer_norm import LayerNormCache
from minitransformer.functional.softmax import SoftmaxCache
from minitransformer.layers.attention import MultiHeadAttention
from minitransformer.functional.activations import ACTIVATIONS
from minitransformer.layers.residual import ResidualCache

cross_entropy_forward = functional.cross_entropy_forward.textbook
cross_entropy_backward = functional.cross_entropy_backward.textbook
multi_head_forward = MultiHeadAttention.forward.textbook


# ---- for all

def rows(x):
    """(..., D) -> (N, D)."""
    return x.reshape(-1, x.shape[-1])


def mean(x):
    return x.mean(axis=-1, keepdims=True)


def total(x):
    return x.sum(axis=-1, keepdims=True)


def over_rows(x):
    """(..., D) -> (D,)."""
    return x.sum(axis=tuple(range(x.ndim - 1)))


def product(x, dy):
    """x^T dy, a sum over the rows."""
    return rows(x).T @ rows(dy)


def turned(x):
    return x.swapaxes(-1, -2)


def changed(function, change):
    """A function whose results are changed: change(*results, *arguments)."""
    def wrong(*arguments, **options):
        results = function(*arguments, **options)
        return change(*(results if type(results) is tuple else (results,)), *arguments)
    return wrong


def given(function, change):
    """A function that is given other arguments: change(*arguments)."""
    return lambda *arguments, **options: function(*change(*arguments, **options))


def assigning(backward, *names):
    """A layer's backward that assigns the gradients of the parameters with these names."""
    def wrong(self, dy, cache):
        for name in names:
            getattr(self, name).grad[...] = 0
        return backward(self, dy, cache)
    return wrong


# ---- linear, embedding, positions

def linear(weight=product, bias=over_rows, dx=lambda dy, W: (rows(dy) @ W.T).reshape(*dy.shape[:-1], len(W))):
    def backward(self, dy, cache):
        self.weight.grad += weight(cache.x, dy)
        self.bias.grad += bias(dy)
        return dx(dy, self.weight.data)
    return backward


def output(weight=lambda x, dlogits: product(dlogits, x),
           dx=lambda dlogits, W: (rows(dlogits) @ W).reshape(*dlogits.shape[:-1], W.shape[1])):
    """The output projection, whose weight is (vocab_size, d_model)."""
    def backward(self, dlogits, cache):
        self.weight.grad += weight(cache.x, dlogits)
        return dx(dlogits, self.weight.data)
    return backward


def embedding(places=lambda ids, d: (ids, d), scale=lambda vocab_size, d_model: math.sqrt(d_model)):
    """places(ids, d): the rows of the table, and what is added to them; d is dy times the scale."""
    def backward(self, dy, cache):
        np.add.at(self.weight.grad, *places(cache.ids, scale(*self.weight.shape) * dy))
    return backward


def learned(table=lambda dy: dy.sum(axis=0), at=slice, dx=lambda dy: dy):
    """Learned positions: table(dy) is added to the rows at(length)."""
    def backward(self, dy, cache):
        self.weight.grad[at(cache.length)] += table(dy)
        return dx(dy)
    return backward


# ---- activations, dropout, feed-forward

def gelu(first=lambda tanh: 0.5 * (1 + tanh), second=lambda x, tanh, u_prime: 0.5 * x * (1 - tanh * tanh) * u_prime,
         u_prime=lambda x: SLOPE * (1 + 3 * CUBIC * x * x)):
    """The two terms of the derivative, and the derivative of tanh's argument."""
    def backward(dy, cache):
        x, tanh = cache
        return dy * (first(tanh) + second(x, tanh, u_prime(x)))
    return backward


def dropout(dx=lambda dy, mask: dy * mask):
    return lambda dy, cache: dy if cache.mask is None else dx(dy, cache.mask)


def _dropped(x, dropout_rate, rng):
    mask = dropout_mask(x.shape, dropout_rate, rng, x.real.dtype)
    return x * mask, mask


def dropout_forward(dropped=_dropped):
    """dropped(x, dropout_rate, rng): y, and the mask that is kept."""
    def forward(x, dropout_rate, rng=None):
        if rng is None or dropout_rate == 0:
            return x, DropoutCache(None)
        y, mask = dropped(x, dropout_rate, rng)
        return y, DropoutCache(mask)
    return forward


def feed_forward(drop=dropout_backward, activate=lambda backward, dh, cache: backward(dh, cache),
                 inner=lambda layer, dh, cache: layer.backward(dh, cache)):
    def backward(self, dy, cache):
        dh = drop(self.outer.backward(dy, cache.outer), cache.dropout)
        dh = activate(ACTIVATIONS[self.activation][1], dh, cache.activation)
        return inner(self.inner, dh, cache.inner)
    return backward


def unchanged(dx, cache):
    """In place of a backward that is left out."""
    return dx


# ---- layer normalisation

def norm(dx=lambda dn, n, s, *_: s * (dn - mean(dn) - n * mean(dn * n)), dgamma=lambda dy, n, *_: over_rows(dy * n),
         dbeta=lambda dy, *_: over_rows(dy)):
    """dx(dn, n, s, dy, gamma), dgamma(dy, n, s, gamma), dbeta(dy, n, s, gamma): n is normed, s the inverse and dn = dy gamma."""
    def backward(dy, cache):
        n, s, gamma = cache
        return dx(dy * gamma, n, s, dy, gamma), dgamma(dy, n, s, gamma), dbeta(dy, n, s, gamma)
    return backward


def norm_forward(centred=lambda x, axis: x - x.mean(axis=axis, keepdims=True),
                 variance=lambda c, x, axis: (c * c).mean(axis=axis, keepdims=True),
                 inverse=lambda v, epsilon: 1 / np.sqrt(v + epsilon), y=lambda n, gamma, beta: gamma * n + beta, axis=-1):
    def forward(x, gamma, beta, epsilon=1e-5):
        c = centred(x, axis)
        s = inverse(variance(c, x, axis), epsilon)
        return y(c * s, gamma, beta), LayerNormCache(c * s, s, gamma)
    return forward


# ---- softmax and attention

def softmax(dx=lambda dp, p: p * (dp - total(dp * p))):
    return lambda dp, cache: dx(dp, cache.p)


def softmax_forward(axis=-1, cached=lambda e, p: p):
    """cached(e, p): what the cache keeps, of p and the exponentials."""
    def forward(x, mask=None):
        if mask is not None:
            x = np.where(mask, x, -np.inf)
        peak = x.real.max(axis=axis, keepdims=True)
        e = np.exp(x - np.where(peak == -np.inf, 0, peak))
        sums = e.sum(axis=axis, keepdims=True)
        p = e / np.where(sums == 0, 1, sums)
        return p, SoftmaxCache(cached(e, p))
    return forward


def root(cache):
    """sqrt(d_k)."""
    return math.sqrt(cache.query.shape[-1])


def dweights(dy, cache):
    return dy @ turned(cache.value)


def probabilities(dy, cache):
    """dp: through the weights and dropout."""
    return dropout_backward(dweights(dy, cache), cache.dropout)


def unscaled(dy, cache):
    """The gradient of what softmax is given."""
    return softmax_backward(probabilities(dy, cache), cache.softmax)


def attention(dscores=lambda dy, cache: unscaled(dy, cache) / root(cache), dquery=lambda ds, cache: ds @ cache.key,
              dkey=lambda ds, cache: turned(ds) @ cache.query, dvalue=lambda dy, cache: turned(cache.weights) @ dy):
    """ds = dscores(dy, cache) is the gradient of query key^T."""
    def backward(dy, cache):
        ds = dscores(dy, cache)
        return dquery(ds, cache), dkey(ds, cache), dvalue(dy, cache)
    return backward


def attention_forward(scores=lambda query, key, value: query @ turned(key) / math.sqrt(query.shape[-1]),
                      weigh=functional.dropout_forward, kept=lambda weights, p: weights):
    """weigh(p, dropout_rate, rng): the weights, and dropout's cache. kept: what the cache keeps as weights."""
    def forward(query, key, value, mask=None, dropout_rate=0.0, rng=None):
        p, softmax = functional.softmax_forward(scores(query, key, value), mask)
        weights, dropout = weigh(p, dropout_rate, rng)
        return weights @ value, AttentionCache(query, key, value, softmax, dropout, kept(weights, p))
    return forward


def projections(self, dq, dk, dv, cache):
    """Through the three projections, from (B, T, H d)."""
    return self.query.backward(dq, cache.query), self.key.backward(dk, cache.key), self.value.backward(dv, cache.value)


def multi_head(output=lambda self, dy, cache: self.output.backward(dy, cache.output), split=lambda self, d: self.split(d),
               merge=lambda self, *ds: [self.merge(d) for d in ds], project=projections):
    """split(self, d) -> dheads; merge(self, dq, dk, dv) -> the same as (B, T, H d)."""
    def backward(self, dy, cache):
        dheads = split(self, output(self, dy, cache))
        return project(self, *merge(self, *attention_backward(dheads, cache.attention)), cache)
    return backward


# ---- the loss

def distribution(cache, on=lambda s, size: 1 - s, off=lambda s, size: s / size):
    """q: `off` everywhere, with `on` added at the target; s is the smoothing."""
    p, targets, _, s, *_ = cache
    size = p.shape[-1]
    q = np.full((targets.size, size), off(s, size), p.dtype)
    q[np.arange(len(q)), targets.ravel()] += on(s, size)
    return q.reshape(p.shape)


def loss(dlogits=lambda p, q: p - q, **parts):
    return lambda dloss, cache: dlogits(cache.p, distribution(cache, **parts)) * cache.real[..., None] * dloss


def loss_forward(likelihood=lambda target, log_p, real, s: ((1 - s) * target + s * log_p.mean(axis=-1)) * real):
    """The loss is -sum(likelihood): target is log p of the target, s the smoothing."""
    def forward(logits, targets, smoothing=0.0, *, padding):
        shifted = logits - logits.real.max(axis=-1, keepdims=True)
        log_p = shifted - np.log(total(np.exp(shifted)))
        target = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
        real = np.ones(targets.shape, bool) if padding is None else targets != padding
        cache = CrossEntropyCache(np.exp(log_p), targets, real, smoothing, real.sum(), target * real)
        return -likelihood(target, log_p, real, smoothing).sum(), cache
    return forward


def fused(dx=lambda d, W: d @ W, weight=lambda d, x: d.T @ x,
          dlogits=lambda dloss, cache: functional.cross_entropy_backward(dloss, cache)):
    """The linear layer and its loss; d is dlogits, and x is rows, too."""
    def backward(dloss, cache):
        x, W, loss, _ = cache
        d = rows(dlogits(dloss, loss))
        return dx(d, W).reshape(x.shape), weight(d, rows(x))
    return backward


# ---- residuals, stacks, models

def leave(dx=lambda dz, dh: dz, dh=lambda dz, dh: dh, drop=dropout_backward, post=True):
    """A Residual's backward: dx(dz, dh) is the gradient of x, dh(dz, dh) that of h."""
    def backward(self, dy, cache):
        dz = self.norm.backward(dy, cache.norm) if post and not self.pre_norm else dy
        dropped = drop(dz, cache.dropout)
        return dx(dz, dropped), dh(dz, dropped)
    return backward


def leave_forward(y=lambda x, h: x + h):
    """A Residual's forward."""
    def forward(self, x, h, rng=None):
        h, dropout = functional.dropout_forward(h, self.dropout, rng)
        y_, norm = (y(x, h), None) if self.pre_norm else self.norm.forward(y(x, h))
        return y_, ResidualCache(dropout, norm)
    return forward


def through(layer, name, dy, cache, dx=lambda dx, dh: dx + dh, pre=True):
    """What a sub-layer in its residual returns: (dx, *gradients of the sub-layer's other inputs), or dx."""
    residual = getattr(layer, f"{name}_residual")
    past, dh = residual.backward(dy, getattr(cache, f"{name}_residual"))
    dh = getattr(layer, name).backward(dh, getattr(cache, name))
    dh, *others = dh if isinstance(dh, tuple) else (dh,)
    if pre:
        dh = residual.enter_backward(dh, getattr(cache, f"{name}_entered"))
    return (dx(past, dh), *others) if others else dx(past, dh)


def encoder_layer(dx=lambda dx, dh: dx + dh, pre=True):
    """An EncoderLayer's backward: dx(dx, dh) adds what goes past the feed-forward network to what goes through it."""
    def backward(self, dy, cache):
        dy = through(self, "feed_forward", dy, cache, dx, pre)
        return through(self, "self_attention", dy, cache)
    return backward


def decoder_layer(dmemory=lambda dmemory: dmemory):
    def backward(self, dy, cache):
        dx = through(self, "feed_forward", dy, cache)
        dx, others = through(self, "cross_attention", dx, cache)
        return through(self, "self_attention", dx, cache), dmemory(others)
    return backward


def last_first(layers, caches):
    return zip(reversed(layers), reversed(caches))


def encoder(order=last_first, step=lambda dx, dy: dx, norm=True):
    """order(layers, caches): the pairs that backward goes through; step(dx, dy): what goes on."""
    def backward(self, dy, cache):
        if norm and self.norm:
            dy = self.norm.backward(dy, cache.norm)
        for layer, layer_cache in order(self.layers, cache.layers):
            dy = step(layer.backward(dy, layer_cache), dy)
        return dy
    return backward


def decoder(memory=sum):
    """memory(gradients of the memory): the last layer's comes first."""
    def backward(self, dy, cache):
        if self.norm:
            dy = self.norm.backward(dy, cache.norm)
        memories = []
        for layer, layer_cache in last_first(self.layers, cache.layers):
            dy, dlayer = layer.backward(dy, layer_cache)
            memories.append(dlayer)
        return dy, memory(memories)
    return backward


def transformer(memory=lambda dmemory, self: dmemory, source=True, target=True,
                encode=lambda encoder, dmemory, cache: encoder.backward(dmemory, cache)):
    """Whether the inputs of source and target are reached, and how the encoder is."""
    def backward(self, dy, cache):
        dx, dmemory = self.decoder.backward(dy, cache.decode.decoder)
        if target:
            self.target_input.backward(dx, cache.decode.input)
        dx = encode(self.encoder, memory(dmemory, self), cache.encode.encoder)
        if source:
            self.source_input.backward(dx, cache.encode.input)
    return backward
