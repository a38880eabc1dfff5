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
# You stack 24 layers, and the first one learns next to nothing. You write a LayerNorm, the gradient check passes, and
# after the first update the gradient is wrong. You use one dropout object in two places, and the model trains with a
# gradient that is not that of its loss.
#
# In this chapter you derive the backward of the small blocks between the attentions, measure what the order of two of
# them does to 24 layers, and meet five mistakes from public code.
#
# Take it in two sittings: the blocks, with exercises 1 to 5, and then, from *Pre-norm and post-norm* on, their order and
# the mistakes, with exercise 6.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import (
    Adam, Transformer, TransformerConfig, gradcheck, make_batch, plugged, schedule, training_step)
from minitransformer.data.drawn import DrawnBatches
from minitransformer.functional import (
    cross_entropy_backward, cross_entropy_forward, dropout_forward, layer_norm_backward, layer_norm_forward,
    linear_cross_entropy_backward, softmax_backward, softmax_forward)
from minitransformer.layers.feed_forward import FeedForward
from minitransformer.learn.plug import train
from minitransformer.tasks import TASKS

rng = np.random.default_rng(0)

# %% [markdown]
# ## Residual: a path around each layer
#
# A residual connection adds a layer's input to its output: $y = x + f(x)$. The layer learns only what has to
# *change*.
#
# **By hand.** Let $f(x) = 0.1\, x$, one number. Without the connection the derivative of one layer is 0.1, and of two
# layers $0.1 \cdot 0.1 = 0.01$. With it, it is $1 + 0.1 = 1.1$, and of two layers $1.1 \cdot 1.1 = 1.21$. **Predict**
# both for 24 layers: is either of them near 1?

# %%
print(f"24 layers without the connection: {0.1 ** 24:.0e}")
print(f"24 layers with it:                {1.1 ** 24:.1f}")

# %% [markdown]
# The first is as good as 0: the first layer hears nothing of the loss. The second is about 10: not 1, but usable.
#
# **The general case.** $x$ has the shape $(\dots, D)$, and $f$ keeps it. The chain rule adds over the two paths from $x$
# to $y$: the direct one, with the derivative 1, and the one through $f$, with its Jacobian $J$:
#
# $$ y = x + f(x) \quad\Longrightarrow\quad dx = dy + J^\top dy $$
#
# In code: `dx = dy + f_backward(dy)`. Whatever $f$ does, $dy$ itself arrives at $x$. Do the same for 24 layers
# $f(x) = x W$ with small random $W$. **Predict:** with the connection, is the gradient at the bottom larger or
# smaller than at the top?

# %%
weights = 0.3 * rng.standard_normal((24, 16, 16)) / 4     # 24 layers of 16 numbers
for name, around in (("without", 0), ("with", 1)):
    dy = rng.standard_normal((1, 16))
    top = np.linalg.norm(dy)
    for W in reversed(weights):
        dy = around * dy + dy @ W.T
    print(f"{name} the connection: the norm of the gradient at the bottom / at the top = {np.linalg.norm(dy) / top:.1e}")

# %% [markdown]
# With the connection it grows, as in the case by hand: each layer adds something to $dy$. In the forward the numbers
# grow, too. Something has to bring them back to one scale.
#
# ## LayerNorm: every row on the same scale
#
# LayerNorm takes each token's $D$ numbers, a row, subtracts their mean and divides by their standard deviation:
#
# $$ n = (x - \operatorname{mean}(x))\, s, \qquad s = \frac{1}{\sqrt{\operatorname{var}(x) + \epsilon}}, \qquad y = \gamma n + \beta $$
#
# $x$, $n$, $y$ are $(\dots, D)$; the mean, the variance and $s$ are $(\dots, 1)$, one for each row; $\gamma$ and
# $\beta$ are $(D,)$ and learned. The $\epsilon = 10^{-5}$ is there for a row whose numbers are all equal: without it,
# that is $0 / 0$.
#
# **By hand.** $x = (1, 2, 6)$: the mean is 3, the differences are $(-2, -1, 3)$, the variance is
# $(4 + 1 + 9) / 3 = 4.67$, its root 2.16. So $n = (-0.93, -0.46, 1.39)$. **Predict** $n$ for $(101, 102, 106)$, and
# for $(10, 20, 60)$.


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
# Three times the same $n$. Adding a number to a row changes nothing, and stretching a row changes nothing (but for
# $\epsilon$). These two rules tell you how the gradient has to look before you derive it.
#
# Note the axis. Each token is normalised *on its own*, so padding and the other sentences of a batch have no influence.
#
# ## LayerNorm's backward: three paths to the loss
#
# **By hand, first.** Take a row of two numbers, $(1, 3)$: $n = (-1, 1)$. For $(1, 4)$: again $(-1, 1)$. **Predict:**
# what is the gradient of $x$, whatever $dy$ is?

# %%
x, dy = np.array([[1.0, 3.0]]), np.array([[10.0, -7.0]])
y, cache = layer_norm_forward(x, np.ones(2), np.zeros(2))
print("dx =", layer_norm_backward(dy, cache)[0])

# %% [markdown]
# Next to 0 (what is left comes from $\epsilon$). For two numbers LayerNorm says only which one is larger, and a small
# nudge does not change that. A backward that returns $dx = s\, dn$ (with $dn = \gamma\, dy$) says 10 and $-7$ here. It
# forgets that $x_i$ reaches the $n_j$ of its row by three paths:
#
# 1. directly, in $x_i - \operatorname{mean}(x)$: only $n_i$;
# 2. through the mean, which is subtracted from every $x_j$;
# 3. through the variance, by which every $x_j$ is scaled.
#
# **The general case.** Write $c = x - \operatorname{mean}(x)$, so $n_j = c_j s$. ($\delta_{ij}$ is 1 if $i = j$, else 0.)
#
# - The mean contains $x_i$ with the factor $1/D$: $\partial c_j / \partial x_i = \delta_{ij} - 1/D$.
# - $s = v^{-1/2}$ with $v = \frac1D \sum_j c_j^2 + \epsilon$. The chain rule: $\partial s / \partial x_i = -\frac12 v^{-3/2} \cdot \frac2D \sum_j c_j (\delta_{ij} - 1/D)$.
#   The $c_j$ sum to 0, so this is $-s^3 c_i / D = -s^2 n_i / D$.
# - The product rule for $n_j = c_j s$:
#
# $$ \frac{\partial n_j}{\partial x_i} = s\,(\delta_{ij} - \tfrac1D) - c_j\, s^2\, \frac{n_i}{D} = s \Big( \delta_{ij} - \frac1D - \frac{n_j n_i}{D} \Big) $$
#
# - Above it is $y = \gamma n + \beta$, so $dn = \gamma\, dy$. The chain rule sums over $j$, and each sum with $1/D$ is a mean:
#
# $$ dx = s \,\big( dn - \operatorname{mean}(dn) - n \operatorname{mean}(dn\, n) \big) $$
#
# Three terms, three paths. $dn$ and $dx$ are $(\dots, D)$, both means $(\dots, 1)$. All rows share the parameters, so
# their gradients are sums over the rows: $d\gamma = \sum dy\, n$ and $d\beta = \sum dy$, both $(D,)$.
#
# **Predict:** what does a row of $dx$ sum to? What is its dot product with $n$?

# %%
x, gamma = rng.standard_normal((2, 3, 8)), 1 + rng.standard_normal(8) / 2
y, cache = layer_norm_forward(x, gamma, np.zeros(8))
dx, dgamma, dbeta = layer_norm_backward(rng.standard_normal(y.shape), cache)
print(f"the largest sum of a row of dx:    {np.abs(dx.sum(axis=-1)).max():.0e}")
print(f"the largest dot product dx . n:    {np.abs((dx * cache.normed).sum(axis=-1)).max():.0e}")

# %% [markdown]
# Zero, and zero but for $\epsilon$. These are the two rules again: if you shift or stretch a row, the loss does not
# change, so the gradient has no part in these two directions. Each of the two mean terms removes one of them.
#
# ## Prove it
#
# A random $dy$ matters here more than anywhere else. Take four wrong backwards, with $\gamma = 1$. **Predict:** how many
# of the four does a check catch with a $dy$ of ones? And with a random one?

# %%
y, cache = layer_norm_forward(x, np.ones(8), np.zeros(8))
n, s, _ = cache
for name, dy in (("dy of ones", np.ones_like(y)), ("random dy", rng.standard_normal(y.shape))):
    true = layer_norm_backward(dy, cache)[0]
    wrong = {"zeros": 0 * dy, "sign": -true, "no s": true / s, "no variance": s * (dy - dy.mean(axis=-1, keepdims=True))}
    print(name, {which: "caught" if np.abs(dx - true).max() > 1e-9 else "passes" for which, dx in wrong.items()})

# %% [markdown]
# With ones all four pass: the true gradient is 0, and so is each of theirs. With random numbers all four are caught.
# Now the library's own backward, with a $\gamma$ that is not 1:

# %%
report = gradcheck((layer_norm_forward, layer_norm_backward), [x, gamma, np.zeros(8)], name="LayerNorm")
print(report)
assert report.passed

# %% [markdown]
# ## Dropout: a mask belongs to one call
#
# In training, dropout sets each number to 0 with the probability $p$, the *dropout rate*, and divides the others by
# $1 - p$. When the model is used, dropout does nothing.
#
# **By hand.** $x = (2, 4, 6, 8)$, $p = 0.5$, and the draw keeps the second and the third number: $y = (0, 8, 12, 0)$.
# The mask is $m = (0, 2, 2, 0)$, and $y = x\, m$. **Predict:** what is the mean of $y$ over many draws?

# %%
x = np.array([2.0, 4.0, 6.0, 8.0])
y, _ = dropout_forward(np.tile(x, (200_000, 1)), 0.5, rng)    # (200000, 4)
print("the mean over 200,000 draws:", y.mean(axis=0).round(1))

# %% [markdown]
# It is $x$: this is what the division is for. Without dropout, too, the layers see numbers of the size that they were
# trained with.
#
# Once the mask is drawn, $y = x\, m$ is a product with constants. So $dx = dy\, m$, with *the very mask of this forward
# call*. It belongs in the cache. A layer that drops in two places needs two masks.
#
# ## Feed-forward: each position alone
#
# $$ \underset{(\dots, d_{ff})}{a} = x W_1 + b_1, \qquad \underset{(\dots, d_{ff})}{h} = \max(0, a), \qquad
#    \underset{(\dots, d_{model})}{y} = h W_2 + b_2 $$
#
# Two linear layers and a ReLU between them. (Without it the two would be one: $W_1 W_2$ is a single matrix.)
#
# **By hand.** One number: $W_1 = 2$, $b_1 = -3$, $W_2 = 5$, $b_2 = 0$. For $x = 2$: $a = 1$, $h = 1$, $y = 5$, and
# $dx = 5 \cdot 1 \cdot 2 = 10$ for $dy = 1$. For $x = 1$: $a = -1$, $h = 0$, $y = 0$. **Predict** $dx$ there, and
# $dW_1$, $dW_2$.
#
# All three are 0: where $a$ is negative, the ReLU lets nothing through, in either direction. Backward is the forward,
# read upside down:
#
# | forward, downwards | backward, upwards | shape |
# |---|---|---|
# | $a = x W_1 + b_1$ | $dx = da\, W_1^\top$, $dW_1 = x^\top da$, $db_1 = \sum da$ | $(N, d_{model})$, $(d_{model}, d_{ff})$, $(d_{ff},)$ |
# | $h = \max(0, a)$ | $da = dh$ where $a > 0$, else 0 | $(N, d_{ff})$ |
# | $y = h W_2 + b_2$ | $dh = dy\, W_2^\top$, $dW_2 = h^\top dy$, $db_2 = \sum dy$ | $(N, d_{ff})$, $(d_{ff}, d_{model})$, $(d_{model},)$ |
#
# $N$ counts the positions of all sentences. No line mixes two of them. **Predict:** the four positions of a sentence
# change places. What happens to the output?

# %%
block = FeedForward(8, 32, rng).astype("float64")
x, order = rng.standard_normal((1, 4, 8)), [2, 0, 3, 1]
print("the output changes places in the same way:", np.allclose(block.forward(x[:, order])[0], block.forward(x)[0][:, order]))
report = gradcheck(block, [x], name="feed-forward")
print("every gradient passes:", report.passed)

# %% [markdown]
# Attention moves information between positions, the feed-forward network works on each position alone. Most of an
# encoder layer's parameters are here: with $d_{ff} = 4\, d_{model}$, as in the paper, $W_1$ and $W_2$ have
# $8\, d_{model}^2$, and attention's four matrices have $4\, d_{model}^2$.
#
# ## Pre-norm and post-norm
#
# A sub-layer $f$, attention or feed-forward, stands in a residual with a LayerNorm. There are two orders:
#
# $$ \text{post-norm (the paper):}\quad y = \operatorname{LayerNorm}(x + f(x)) \qquad
#    \text{pre-norm:}\quad y = x + f(\operatorname{LayerNorm}(x)) $$
#
# The Annotated Transformer explains the first and codes the second, and its readers keep asking which one is right.
# Both are: they are two different models. Write $N^\top$ for LayerNorm's backward, and $z$ for $x + f(x)$:
#
# $$ \text{post-norm:}\quad dz = N^\top dy, \quad dx = dz + J^\top dz \qquad\qquad
#    \text{pre-norm:}\quad dx = dy + N^\top J^\top dy $$
#
# In pre-norm, $dy$ itself arrives at the bottom, however many layers there are between. In post-norm it has to pass
# every LayerNorm.
#
# We measure it in fresh models with 24 encoder and 24 decoder layers, five models for each order, on one batch of
# random letters to copy: how large is the gradient of $W_2$ in each layer? **Predict:** in which of the four stacks does
# the first layer get next to nothing?


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
post, pre = (np.array([norms_by_layer(*fresh(pre_norm, seed)) for seed in range(5)]) for pre_norm in (False, True))
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
# A thin line is one model, a thick one the geometric mean of the five. In post-norm, the decoder's first layer gets
# less than a thousandth of what its last layer gets. In the other three stacks nothing of the kind happens. What is
# different in the decoder?
#
# Look at $s$. LayerNorm's input is the sum of $x$ and $f(x)$. If each has the variance 1, the sum has the variance 2,
# and $s = 1/\sqrt 2 = 0.71$. By about that much, every LayerNorm multiplies the gradient on the direct path. The path
# through $f$ can bring back what the direct one lost. But in cross-attention the keys and values come from the
# encoder, and their gradient goes there. **Predict:** by what is the gradient multiplied in each of the three
# sub-layers of a decoder layer?

# %%
model, cache, terms = fresh(pre_norm=False, seed=0)
dy, factors = model.loss.backward(1 / terms, cache.loss), {}
for layer, caches in zip(reversed(model.decoder.layers), reversed(cache.hidden.decode.decoder.layers)):
    for name in ("feed_forward", "cross_attention", "self_attention"):
        of_sublayer = getattr(caches, name)
        dx = getattr(layer, f"{name}_residual").backward(dy, of_sublayer)
        dx = dx[0] if name == "cross_attention" else dx    # the second one goes to the encoder
        factors.setdefault(name, []).append((of_sublayer.norm.inverse.mean(), np.linalg.norm(dx) / np.linalg.norm(dy)))
        dy = dx
for name, pairs in factors.items():
    s, factor = np.mean(pairs, axis=0)
    print(f"{name:15}: s = {s:.2f}, the gradient is multiplied by {factor:.2f}; in 24 layers by {factor ** 24:.4f}")

# %% [markdown]
# Two of the three give back what they take. Cross-attention does not: one factor below 1 in each layer, as in the
# case by hand that this page began with. In pre-norm no factor stands on the direct path.
#
# What does it do to training? Six encoder and six decoder layers, the copy task, a constant learning rate of 0.003
# from the first step. **Predict:** which one learns faster?


# %%
def deep_losses(pre_norm, steps=100):
    task = TASKS["copy"](batch=16)
    vocabulary, batches, losses = task.make_vocabulary(), DrawnBatches(task, 16, 0), []
    config = TransformerConfig.named("toy", vocabulary.size, num_layers=6, d_model=32, d_ff=64, pre_norm=pre_norm)
    model = Transformer(config, seed=0)
    adam = Adam(model)
    for _ in range(steps):
        batch = next(batches)
        losses.append(float(training_step(model, adam, batch, 0.003).loss) / batch.terms)
    return losses


deep_post, deep_pre = deep_losses(False), deep_losses(True)
for step in (1, 25, 50, 100):
    print(f"step {step:3}: post-norm {deep_post[step - 1]:.2f}, pre-norm {deep_pre[step - 1]:.2f}")

# %% [markdown]
# Pre-norm is ahead. This is one seed and a toy task: an illustration, not a law. The paper trains post-norm with six
# layers on each side, and raises the learning rate slowly over its first 4,000 steps (the *warm-up*). Pre-norm
# forgives more. Since nothing normalises its last sum, it has one more LayerNorm at the end of the stack.
#
# ## Break it: five real mistakes
#
# All five were in public libraries whose authors gave away readable code, and were found with a gradient check like the
# one above, in float64, on the library's own layer. Anyone can make them, and a loss curve does not name them. Here is
# each in a few lines of our own.
#
# **One: one dropout object, two places** (numpy-transformer). The object keeps its mask, so the second call
# overwrites the first one's. Two sub-layers return $a$ and $f$, and the same object drops in both. **Predict:**
# which gradient is wrong, that of $a$ or of $f$? Is it wrong at $p = 0$?


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
    report = gradcheck((twice_forward, twice_backward), {"a": a, "f": f, "rate": rate}, name="dropout", methods=["complex"])
    print(f"p = {rate}: passed {report.passed}", *report.findings.values())

# %% [markdown]
# A test without dropout finds nothing. With it, $f$ is right and $a$ gets the gradient of $f$, as the doctor says: only
# one mask is left. The remedy is the contract of chapter 1: a layer keeps nothing on `self`; what backward needs is in
# the cache.
#
# **Two: backward rescales and never masks** (numpy-ml, issue 94 there). A number that was dropped gets a gradient all
# the same.


# %%
def rescales(dy, cache):
    return dy * cache.mask.max()    # 1 / (1 - p) everywhere


report = gradcheck((dropout_forward, rescales), {"x": a, "dropout_rate": 0.3}, name="dropout", methods=["complex"])
print(report.findings["dropout"])

# %% [markdown]
# **Three: $\gamma$ outside the means** (numpy-transformer's LayerNorm). The last factor of the forward became the last
# factor of the backward:
# $dx = \gamma s\,(dy - \operatorname{mean}(dy) - n \operatorname{mean}(dy\, n))$. **Predict:** for which $\gamma$ is
# this right?


# %%
def gamma_outside(dy, cache):
    n, s, gamma = cache
    mean, along = dy.mean(axis=-1, keepdims=True), (dy * n).mean(axis=-1, keepdims=True)
    rows = tuple(range(dy.ndim - 1))
    return gamma * s * (dy - mean - n * along), (dy * n).sum(axis=rows), dy.sum(axis=rows)


for name, scale in (("gamma = 1", np.ones(8)), ("a learned gamma", 1 + 0.1 * rng.standard_normal(8))):
    report = gradcheck((layer_norm_forward, gamma_outside), [a, scale, np.zeros(8)], name="LayerNorm", methods=["complex"])
    print(f"{name}: x's error {report.results[0].max_relative_error:.0e}.", report.findings["LayerNorm"])

# %% [markdown]
# For $\gamma = 1$, with which every LayerNorm begins. On a fresh model the error is that of rounding; after the first
# update the gradient is wrong. (The doctor names the mistake all the same: it tries another $\gamma$, too.) What does
# the loss say? **Predict:** how far apart are the two after 100 steps?

# %%
right = train(steps=100)
wrong = train(plugged(layer_norm_backward, gamma_outside), steps=100)
for step in (1, 25, 50, 100):
    print(f"step {step:3}: right {right.losses[step - 1]:.3f}, gamma outside {wrong.losses[step - 1]:.3f}")

# %% [markdown]
# From one curve alone, nobody can tell which one it is. (Two right runs that round differently drift apart, too: the
# last cell of this page shows such a pair.)
#
# **Four: the softmax divides by the batch size** (numpy-transformer, inside its attention), and **five: the
# cross-entropy divides by the number of tokens twice** (the same library; it counts padding, too). A mean belongs in
# the loss, once. Any other division makes its part of the gradient smaller.


# %%
def by_batch(dp, cache):
    return softmax_backward.__wrapped__(dp, cache) / len(dp)    # the library's own, even if this is plugged in


def mean_twice(dloss, cache):
    return cross_entropy_backward(dloss, cache) / cache.count ** 2


targets = {"logits": a, "targets": rng.integers(1, 8, (2, 3)), "padding": 0}
for name, block, inputs in (("softmax", (softmax_forward, by_batch), [a]), ("loss", (cross_entropy_forward, mean_twice), targets)):
    print(gradcheck(block, inputs, name=name, methods=["complex"]).findings[name], "\n")

# %% [markdown]
# Both are named, with the factor. **Predict:** which of the two slows down training more?


# %%
def loss_twice(dloss, cache):
    return linear_cross_entropy_backward.__wrapped__(dloss / cache.loss.count, cache)


fourth = train(plugged(softmax_backward, by_batch), steps=100).losses
fifth = train(plugged(linear_cross_entropy_backward, loss_twice), steps=100).losses
for step in (1, 50, 100):
    print(f"step {step:3}: right {right.losses[step - 1]:.3f}, softmax {fourth[step - 1]:.3f}, loss {fifth[step - 1]:.3f}")

# %% [markdown]
# The softmax. Adam divides each gradient by its own size, so a factor on *all* gradients, as in the fifth, does less
# harm. The fourth shrinks only the gradients of queries and keys, and a larger batch shrinks them more. Both losses go
# down, so without the right one beside them you would try another learning rate.
#
# **What no gradient check sees.** In the same library the learning rate's schedule takes a step for each *parameter
# array*, not for each update. The gradients are right, and the warm-up ends far too early. **Predict:** how many
# parameter arrays has the model that you trained above? After how many updates does a warm-up of 4,000 steps end?

# %%
arrays = len(right.model.parameters())
updates = -(-4000 // arrays)
print(f"{arrays} parameter arrays: the warm-up of 4,000 ends after {updates} updates")
for counted, step in (("once for each update", updates), ("once for each array", updates * arrays)):
    print(f"the learning rate at update {updates}, counted {counted}: {schedule(step, 64, warmup=4000):.6f}")

# %% [markdown]
# A gradient check proves that backward belongs to forward, and nothing about what is done with the gradient
# afterwards. For that, print the learning rate and look at it.
#
# ## Use it
#
# Your own LayerNorm, forward and backward, in every block of the real model. The library hands the cache of your forward
# to your backward, so it may hold what you like.


# %%
def own_forward(x, gamma, beta, epsilon=1e-5):
    n, s = norm(x)
    return gamma * n + beta, (n, s, gamma)


def own_backward(dy, cache):
    n, s, gamma = cache
    dn, rows = dy * gamma, tuple(range(dy.ndim - 1))
    dx = s * (dn - dn.mean(axis=-1, keepdims=True) - n * (dn * n).mean(axis=-1, keepdims=True))
    return dx, (dy * n).sum(axis=rows), dy.sum(axis=rows)


own = train(plugged(layer_norm_forward, own_forward), plugged(layer_norm_backward, own_backward), steps=100)
for step in (1, 25, 50, 100):
    print(f"step {step:3}: the library's {right.losses[step - 1]:.3f}, ours {own.losses[step - 1]:.3f}")

# %% [markdown]
# The same at first, then a little apart, and both are right. The library's function adds up in another order, float32
# rounds the two sums differently, and each update makes the difference a little larger. The gradient check runs in
# float64 and compares one gradient, not a hundred updates.
#
# ## Exercises
#
# `minitransformer learn start 8` writes this page into your folder, followed by six functions with blanks. Fill one,
# save, and ask `minitransformer learn check`. If you are stuck: `minitransformer learn hint`.
#
# When `layer_norm_backward` passes, let it train a model: `minitransformer learn plug layer_norm_backward`.
#
# **Read next:** `layer_norm_backward` in `minitransformer/functional/layer_norm.py`, and `Residual` in
# `minitransformer/layers/residual.py`: both orders, forward and backward, in one class.
