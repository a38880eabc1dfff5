# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 8. Residual, LayerNorm, dropout, feed-forward: what stands between the attentions
#
# You write a LayerNorm, and the gradient check passes. After the first update its gradient is wrong. You use one dropout
# object in two places, and one of the two gradients is wrong. You stack 24 layers, and the first one learns next to
# nothing. All three happened to people who knew the formulas.
#
# Take two sittings. **Part one** derives the backward of the four blocks between the attentions. **Part two** measures
# what their order does to 24 layers, and catches five real mistakes.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
from threadpoolctl import threadpool_limits

from minitransformer import Transformer, TransformerConfig, gradcheck, make_batch, plugged
from minitransformer.functional import (
    cross_entropy_backward, cross_entropy_forward, dropout_forward, layer_norm_backward, layer_norm_forward,
    linear_cross_entropy_backward, softmax_backward, softmax_forward)
from minitransformer.layers.feed_forward import FeedForward
from minitransformer.learn import yours
from minitransformer.learn.plug import train

rng = np.random.default_rng(0)

# %% [markdown]
# ## Residual: a path around each layer
#
# A residual connection adds a layer's input to its output: $y = x + f(x)$. The layer learns only what has to
# *change*.
#
# **By hand.** Let $f(x) = 0.1\, x$, one number. Without the connection the derivative of one layer is 0.1, and of two
# layers $0.1^2 = 0.01$. With it, they are 1.1 and $1.1^2 = 1.21$. **Predict** both for 24 layers.

# %%
print(f"24 layers without the connection: {0.1 ** 24:.0e}")
print(f"24 layers with it:                {1.1 ** 24:.1f}")

# %% [markdown]
# Without the connection, the first layer hears nothing of the loss.
#
# **The general case.** $x$ and $y$ are $(\dots, D)$. Two paths lead from $x$ to $y$: the direct one, with the derivative
# 1, and the one through $f$, with its Jacobian $J$. The chain rule adds them:
#
# $$ dx = dy + J^\top dy $$
#
# Whatever $f$ does, $dy$ itself arrives at $x$. But from layer to layer the numbers of the forward grow, too. Something
# has to bring them back to one scale.
#
# ## LayerNorm: every row on the same scale
#
# Each token's $D$ numbers are a row. LayerNorm subtracts the row's mean and divides by its standard deviation:
#
# $$ s = \frac{1}{\sqrt{\operatorname{var}(x) + \epsilon}} $$
#
# $$ n = (x - \operatorname{mean}(x))\, s, \quad y = \gamma n + \beta $$
#
# $x$, $n$ and $y$ are $(\dots, D)$; $s$ is $(\dots, 1)$, one number for each row; $\gamma$ and $\beta$ are $(D,)$ and
# learned. $\epsilon = 10^{-5}$ saves a row of equal numbers from $0/0$.
#
# **By hand.** $x = (1, 2, 6)$: the mean is 3, the differences are $(-2, -1, 3)$, the variance is $14/3$, its root 2.16.
# So $n = (-0.93, -0.46, 1.39)$. **Predict** $n$ for $(101, 102, 106)$, and for $(10, 20, 60)$.


# %%
def norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)                            # (..., D)
    variance = (centred * centred).mean(axis=-1, keepdims=True)             # (..., 1)
    s = 1 / np.sqrt(variance + 1e-5)                                        # (..., 1)
    return centred * s, s


for row in ([1.0, 2.0, 6.0], [101.0, 102.0, 106.0], [10.0, 20.0, 60.0]):
    n, s = norm(np.array(row))
    print(row, "-> n", n.round(2), " s", s.round(3))

# %% [markdown]
# Three times the same $n$. Shifting a row changes nothing, and stretching it changes nothing (but for $\epsilon$). These
# two rules tell you what the gradient must look like before you derive it.
#
# ## LayerNorm's backward: three paths to the loss
#
# **By hand.** The row $(1, 3)$ gives $n = (-1, 1)$, and so does $(1, 4)$. **Predict** the gradient of $x = (1, 3)$ for
# $dy = (10, -7)$.

# %%
x, dy = np.array([[1.0, 3.0]]), np.array([[10.0, -7.0]])
y, cache = layer_norm_forward(x, np.ones(2), np.zeros(2))
print("dx =", layer_norm_backward(dy, cache)[0])

# %% [markdown]
# Nearly 0: of two numbers, LayerNorm says only which one is larger, and a small nudge does not change that. A backward
# that returns $s\, dy$ says 10 and $-7$. It forgets that $x_i$ reaches the $n$ of its row by three paths: directly, through
# the mean, and through the variance.
#
# **The general case.** Write $c = x - \operatorname{mean}(x)$, so $n_j = c_j s$. As in chapter 4, $\delta_{ij}$ is 1 if
# $i = j$, else 0.
#
# - The mean contains $x_i$ with the factor $1/D$: $\partial c_j / \partial x_i = \delta_{ij} - 1/D$.
# - $s = v^{-1/2}$ with $v = \frac1D \sum_k c_k^2 + \epsilon$. By the chain rule,
#   $\partial v / \partial x_i = \frac2D \sum_k c_k (\delta_{ik} - \frac1D)$. The $c_k$ sum to 0, so this is $2 c_i / D$.
#   The chain rule again: $\partial s / \partial x_i = -\frac12 v^{-3/2} \cdot 2 c_i / D = -s^3 c_i / D = -s^2 n_i / D$.
# - The product rule for $n_j = c_j s$:
#   $\partial n_j / \partial x_i = s\, (\delta_{ij} - \frac1D) - c_j s^2 n_i / D$. With $c_j s = n_j$ this is
#   $s\, ( \delta_{ij} - \frac1D - \frac1D n_j n_i )$.
# - $y = \gamma n + \beta$ gives $dn = \gamma\, dy$. The chain rule sums over $j$, and each sum with $1/D$ is a mean:
#
# $$ dx = s \,\big( dn - \operatorname{mean}(dn) - n\, \operatorname{mean}(dn\, n) \big) $$
#
# Three paths, three terms. $dn$ and $dx$ are $(\dots, D)$, both means $(\dots, 1)$. All rows share the parameters, so
# $d\gamma = \sum dy\, n$ and $d\beta = \sum dy$, summed over the rows.
#
# **Predict:** what does a row of $dx$ sum to? What is its dot product with $n$?

# %%
x, gamma = rng.standard_normal((2, 3, 8)), 1 + rng.standard_normal(8) / 2
y, cache = layer_norm_forward(x, gamma, np.zeros(8))
dx, dgamma, dbeta = layer_norm_backward(rng.standard_normal(y.shape), cache)
print(f"the largest sum of a row of dx:    {np.abs(dx.sum(axis=-1)).max():.0e}")
print(f"the largest dot product dx . n:    {np.abs((dx * cache.normed).sum(axis=-1)).max():.0e}")

# %% [markdown]
# Both are 0 (the second but for $\epsilon$), by the two rules: shifting or stretching a row does not change the loss, so
# the gradient has no part in these directions. Each mean term removes one.
#
# ## Prove it
#
# **Predict:** how many of four wrong backwards does a check catch with a $dy$ of ones? With a random one?

# %%
y, cache = layer_norm_forward(x, np.ones(8), np.zeros(8))
n, s, _ = cache
for name, dy in (("dy of ones", np.ones_like(y)), ("random dy", rng.standard_normal(y.shape))):
    true, centred = layer_norm_backward(dy, cache)[0], dy - dy.mean(axis=-1, keepdims=True)
    wrong = {"zeros": 0 * dy, "sign": -true, "no s": true / s, "no variance": s * centred}
    caught = [which for which, dx in wrong.items() if np.abs(dx - true).max() > 1e-9]
    print(f"{name}: caught {len(caught)} of {len(wrong)}: {', '.join(caught)}")

# %% [markdown]
# With ones the true gradient is 0, and so is each of theirs. Random numbers catch all four. Now the library's own
# backward, with a random $\gamma$:

# %%
report = gradcheck((layer_norm_forward, layer_norm_backward), [x, gamma, np.zeros(8)], name="LayerNorm")
print(report)
assert report.passed

# %% [markdown]
# ## Dropout: a mask belongs to one call
#
# In training, dropout sets each number to 0 with the probability $p$, the *dropout rate*, and divides the others by
# $1 - p$. In use, it does nothing.
#
# **By hand.** $x = (2, 4, 6, 8)$, $p = 0.5$, and the draw keeps the second and the third number: $y = (0, 8, 12, 0)$.
# With the mask $m = (0, 2, 2, 0)$, this is $y = x\, m$. **Predict** the mean of $y$ over many draws.

# %%
x = np.array([2.0, 4.0, 6.0, 8.0])
y, _ = dropout_forward(np.tile(x, (200_000, 1)), 0.5, rng)    # (200000, 4)
print("the mean over 200,000 draws:", y.mean(axis=0).round(1))

# %% [markdown]
# It is $x$: this is what the division is for.
#
# Once drawn, a mask is a constant. So $dx = dy\, m$, with *the very mask of this forward call*, which belongs in the
# cache. A layer that drops twice needs two masks.
#
# ## Feed-forward: each position alone
#
# Two linear layers, and between them a ReLU, $\max(0, a)$. (Without it, $W_1 W_2$ would be a single matrix.) Read the
# gradients upwards, as in chapter 5:
#
# | forward | backward | shape |
# |---|---|---|
# | $a = x W_1 + b_1$ | $dx = da\, W_1^\top$, $dW_1 = x^\top da$, $db_1 = \sum da$ | $x$: $(N, d_{model})$ |
# | $h = \max(0, a)$ | $da = dh$ where $a > 0$, else 0 | $a$, $h$: $(N, d_{ff})$ |
# | $y = h W_2 + b_2$ | $dh = dy\, W_2^\top$, $dW_2 = h^\top dy$, $db_2 = \sum dy$ | $y$: $(N, d_{model})$ |
#
# **By hand.** $W_1 = 2$, $b_1 = -3$, $W_2 = 5$, $b_2 = 0$ and $dy = 1$. For $x = 2$: $a = h = 1$, $y = 5$, and
# $dx = 1 \cdot 5 \cdot 2 = 10$. **Predict** $dx$, $dW_1$ and $dW_2$ for $x = 1$.

# %%
for x in (2, 1):
    a = 2 * x - 3
    h, da = max(0, a), 5 * (a > 0)
    print(f"x = {x}: a = {a:2}, dx = {2 * da:2}, dW1 = {x * da:2}, dW2 = {h}")

# %% [markdown]
# All are 0: where $a$ is negative, the ReLU lets nothing through, in either direction.
#
# $N$ counts the positions of all sentences. **Predict:** if positions change places, what happens to the output?

# %%
block = FeedForward(8, 32, rng)
x, order = rng.standard_normal((1, 4, 8)), [2, 0, 3, 1]
y, moved = block.forward(x)[0], block.forward(x[:, order])[0]
print("the output changes places in the same way:", np.allclose(moved, y[:, order]))
print("every gradient passes:", gradcheck(block, [x], name="feed-forward").passed)

# %% [markdown]
# Attention moves information between positions; the feed-forward network works on each alone.
#
# ## Use it
#
# Put your own LayerNorm into every block of the real model. Your backward gets your forward's cache, so it may hold what
# you like. **Predict:** do the two losses agree in every digit?


# %%
def own_forward(x, gamma, beta, epsilon=1e-5):
    n, s = norm(x)
    return gamma * n + beta, (n, s, gamma)


def own_backward(dy, cache):
    n, s, gamma = cache
    dn, rows = dy * gamma, tuple(range(dy.ndim - 1))
    dx = s * (dn - dn.mean(axis=-1, keepdims=True) - n * (dn * n).mean(axis=-1, keepdims=True))
    return dx, (dy * n).sum(axis=rows), dy.sum(axis=rows)


# %%
losses = {"library": train(steps=100).losses}
losses["own"] = train(plugged(layer_norm_forward, own_forward), plugged(layer_norm_backward, own_backward),
                      steps=100).losses
for step in (1, 25, 50, 100):
    print(f"step {step:3}:", *(f"{name} {curve[step - 1]:.3f}" for name, curve in losses.items()))

# %% [markdown]
# The same at first, then a little apart. Both are right: yours adds up in another order, float32 rounds differently, and
# each update makes the difference a little larger.
#
# ## A place to rest
#
# Part one ends here. Solve exercises 1 to 5 (the end of the page says how), and come back with a fresh head. Part two
# begins with the last question of the opening: why does the first of 24 layers learn next to nothing?
#
# ## Pre-norm and post-norm
#
# A sub-layer $f$, attention or feed-forward, stands in a residual with a LayerNorm, in one of two orders. The paper's is
# post-norm:
#
# $$ \text{post-norm:}\quad z = x + f(x), \; y = \operatorname{LayerNorm}(z) $$
#
# $$ \text{pre-norm:}\quad y = x + f(\operatorname{LayerNorm}(x)) $$
#
# The Annotated Transformer explains the first and codes the second, and its readers keep asking which is right. Both
# are: they are two models. Write $N^\top$ for LayerNorm's backward:
#
# $$ \text{post-norm:}\quad dz = N^\top dy, \; dx = dz + J^\top dz $$
#
# $$ \text{pre-norm:}\quad dx = dy + N^\top J^\top dy $$
#
# In pre-norm, $dy$ itself arrives at the bottom. In post-norm it has to pass every LayerNorm.
#
# We measure the norm of $dW_2$ in each layer of untrained models with 24 encoder and 24 decoder layers. **Predict:** in
# which of the four stacks does the first layer get next to nothing?


# %%
def fresh(pre_norm, seed, layers=24):
    config = TransformerConfig.named("toy", 30, num_layers=layers, d_model=32, d_ff=128, pre_norm=pre_norm)
    model, draw = Transformer(config, seed=seed), np.random.default_rng(seed + 100)
    texts = [draw.integers(3, 30, 10).tolist() for _ in range(16)]
    batch = make_batch([(text, text) for text in texts])
    return model, model.loss_forward(batch)[1], batch.terms


def norms_by_layer(model, cache, terms):
    model.loss_backward(1 / terms, cache)
    return [[np.linalg.norm(layer.feed_forward.outer.weight.grad) for layer in stack.layers]
            for stack in (model.encoder, model.decoder)]


# %%
with threadpool_limits(1):    # small arrays: one thread is faster
    post, pre = (np.array([norms_by_layer(*fresh(pre_norm, seed)) for seed in range(5)])
                 for pre_norm in (False, True))
figure, panels = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
for k, (axes, stack) in enumerate(zip(panels, ("encoder", "decoder"))):
    for norms, style, name in ((post, "--", "post-norm"), (pre, "-", "pre-norm")):
        axes.plot(range(1, 25), norms[:, k].T, style, color="tab:purple", linewidth=0.6, alpha=0.5)
        mean = np.exp(np.log(norms[:, k]).mean(axis=0))
        axes.plot(range(1, 25), mean, style, color="tab:purple", linewidth=2.5, label=name)
        print(f"{stack}, {name:9}: layer 1 {mean[0]:.4f}, layer 12 {mean[11]:.4f}, layer 24 {mean[-1]:.4f}")
    axes.set_xlabel(f"{stack} layer (24: nearest to the loss)")
panels[0].set_ylabel("norm of the gradient of $W_2$")
panels[0].set_yscale("log")
legend = panels[0].legend()

# %% [markdown]
# A thin line is one model, a thick one the geometric mean of five. In post-norm, the decoder's first layer gets less
# than a thousandth of what its last layer gets. Nothing like it happens in the other stacks. Why in this one?
#
# If $x$ and $f(x)$ both have the variance 1, their sum has the variance 2, and $s = 1/\sqrt 2 = 0.71$. By about that
# much, each LayerNorm multiplies the gradient on the direct path. The path through $f$ can make up for it. But in
# cross-attention, the gradient of keys and values goes to the encoder. **Predict:** by what is the gradient multiplied in
# each sub-layer of a decoder layer?

# %%
model, cache, terms = fresh(pre_norm=False, seed=0)
dy, factors = model.loss.backward(1 / terms, cache.loss), {}
for layer, caches in zip(reversed(model.decoder.layers), reversed(cache.hidden.decode.decoder.layers)):
    for name in ("feed_forward", "cross_attention", "self_attention"):
        of_sublayer = getattr(caches, name)
        dx = getattr(layer, f"{name}_residual").backward(dy, of_sublayer)
        dx = dx[0] if name == "cross_attention" else dx    # the second one goes to the encoder
        factor = np.linalg.norm(dx) / np.linalg.norm(dy)
        factors.setdefault(name, []).append((of_sublayer.norm.inverse.mean(), factor))
        dy = dx
for name, pairs in factors.items():
    s, factor = np.mean(pairs, axis=0)
    print(f"{name:15}: s = {s:.2f}, the gradient times {factor:.3f}; in 24 layers, times {factor ** 24:.4f}")

# %% [markdown]
# Two of the three make up for what they take. Cross-attention does not: one factor below 1 in each layer, as in the case
# by hand that this chapter began with. In pre-norm, no factor stands on the direct path. (Its last sum is not normalised,
# so pre-norm has one more LayerNorm at the end of each stack.)
#
# ## Break it: five real mistakes
#
# All five come from public libraries. A gradient check of those libraries' own layers found each of them. Here they are
# in a few lines of our own.
#
# **One: one dropout object, two places** (numpy-transformer). It keeps its mask, and the second call overwrites the first
# one's. Here it drops numbers of $a$, then of $f$. (Each time `gradcheck` nudges a number, it passes an equal `rng`, so
# the masks stay the same.) **Predict:** which of the two gradients is wrong? Even at $p = 0$?


# %%
class Dropout:
    def forward(self, x, rate, rng):
        self.mask = ((rng.random(x.shape) >= rate) / (1 - rate)).astype(x.dtype)
        return x * self.mask

    def backward(self, dy):
        return dy * self.mask


drop = Dropout()


def twice_forward(a, f, rate, rng):
    return drop.forward(a, rate, rng) + drop.forward(f, rate, rng), None


# %%
def twice_backward(dy, cache):
    return drop.backward(dy), drop.backward(dy)


a, f = rng.standard_normal((2, 2, 3, 8))
for rate in (0.0, 0.3):
    report = gradcheck((twice_forward, twice_backward), {"a": a, "f": f, "rate": rate}, name="dropout")
    print(f"p = {rate}: passed {report.passed}", *report.findings.values())

# %% [markdown]
# At $p = 0$ there is nothing to find. At 0.3, $a$ gets the gradient of $f$. The remedy is the contract of chapter 1: what
# backward needs is in the cache, and nothing is kept on `self`.
#
# **Two: backward rescales and never masks** (numpy-ml, issue 94). Numbers that were dropped get a gradient, too.


# %%
def rescales(dy, cache):
    return dy * cache.mask.max()    # 1 / (1 - p) everywhere


report = gradcheck((dropout_forward, rescales), {"x": a, "dropout_rate": 0.3}, name="dropout")
print(report.findings["dropout"])

# %% [markdown]
# **Three: $\gamma$ outside the means** (numpy-transformer's LayerNorm):
# $dx = \gamma s\,(dy - \operatorname{mean}(dy) - n\, \operatorname{mean}(dy\, n))$. **Predict:** for which $\gamma$ is
# this right?


# %%
def gamma_outside(dy, cache):
    n, s, gamma = cache
    mean, along = dy.mean(axis=-1, keepdims=True), (dy * n).mean(axis=-1, keepdims=True)
    rows = tuple(range(dy.ndim - 1))
    return gamma * s * (dy - mean - n * along), (dy * n).sum(axis=rows), dy.sum(axis=rows)


for name, scale in (("gamma = 1", np.ones(8)), ("a learned gamma", 1 + 0.1 * rng.standard_normal(8))):
    report = gradcheck((layer_norm_forward, gamma_outside), [a, scale, np.zeros(8)], methods=["complex"])
    print(f"{name}: x's error {report.results[0].max_relative_error:.0e}.", *report.findings.values(), "\n")

# %% [markdown]
# For $\gamma = 1$, with which every LayerNorm begins. (The doctor names the mistake all the same: it tries another
# $\gamma$, too.)
#
# **Four: the softmax divides by the batch size. Five: the cross-entropy divides by the number of tokens twice** (both in
# numpy-transformer). A mean belongs in the loss, once.


# %%
def by_batch(dp, cache):
    return softmax_backward.__wrapped__(dp, cache) / len(dp)


def mean_twice(dloss, cache):
    return cross_entropy_backward(dloss, cache) / cache.count ** 2


targets = {"logits": a, "targets": rng.integers(1, 8, (2, 3)), "padding": 0}
for block, inputs in (((softmax_forward, by_batch), [a]), ((cross_entropy_forward, mean_twice), targets)):
    print(*gradcheck(block, inputs).findings.values(), "\n")

# %% [markdown]
# Now train with the last three. **Predict:** which of them would you notice in the loss?


# %%
def loss_twice(dloss, cache):    # the fifth, in the model's fused projection and loss
    return linear_cross_entropy_backward.__wrapped__(dloss / cache.loss.count, cache)


losses["gamma"] = train(plugged(layer_norm_backward, gamma_outside), steps=100).losses
losses["softmax"] = train(plugged(softmax_backward, by_batch), steps=100).losses
losses["loss"] = train(plugged(linear_cross_entropy_backward, loss_twice), steps=100).losses
for step in (1, 25, 50, 100):
    print(f"step {step:3}:", *(f"{name} {curve[step - 1]:.3f}" for name, curve in losses.items()))

# %% [markdown]
# Every loss goes down. The third is even ahead, by luck. The fourth slows training most: it shrinks the gradients of
# queries and keys only. The fifth shrinks *all* gradients, which does less harm, because Adam divides each gradient by
# its own size.
#
# ## Exercises
#
# `minitransformer learn start 8` writes this page into your folder, followed by six functions with blanks. Fill one,
# save, and ask `minitransformer learn check`. When `layer_norm_backward` passes, let it train a model:
# `minitransformer learn plug layer_norm_backward`.
#
# One more, on paper: you test with $p = 0$, $\gamma = 1$ and one sentence of one token. Which of the five mistakes do you
# find?
#
# **Read next:** `layer_norm_backward` in `minitransformer/functional/layer_norm.py`, and `Residual` in
# `minitransformer/layers/residual.py`: both orders, forward and backward, in one class.

# %% [exercise] residual_backward

# %% [exercise] layer_norm

# %% [exercise] layer_norm_backward

# %% [exercise] dropouts_backward

# %% [exercise] feed_forward_backward

# %% [exercise] post_norm_backward
