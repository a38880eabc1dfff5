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
# # 8. What holds a deep model together: residual, LayerNorm, dropout, feed-forward
#
# Stack twelve layers and send a gradient down. How much of it arrives at the first one? Without care: next to
# nothing, or far too much. The Transformer has four small parts that keep it alive. One of them, LayerNorm, has the
# gradient that is wrong in more libraries than any other. By the end of this chapter you can derive it, and recognise
# the wrong ones.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import Transformer, TransformerConfig, functional, gradcheck, make_batch, plugged
from minitransformer.functional.layer_norm import layer_norm_backward, layer_norm_forward
from minitransformer.learn.plug import train

rng = np.random.default_rng(0)

# %% [markdown]
# ## Residual: a way around
#
# **Predict:** twenty layers multiply a gradient by random matrices of size 0.5 each. What is left of it? And if each
# layer is $y = x + x W$?


# %%
def through(layers, size, around):
    dy = np.ones(64) / 8    # length 1
    for _ in range(layers):
        W = size * rng.standard_normal((64, 64)) / 8
        dy = (dy if around else 0) + dy @ W.T
    return np.sqrt((dy * dy).sum())


for size in (0.5, 0.1):
    print(f"layers of size {size}: {through(20, size, False):.0e} without, {through(20, size, True):.1f} with a way around")

# %% [markdown]
# **By hand.** One number, $y = x + 3x$, and $dY = 10$. If $x$ grows by 0.01, then $y$ grows by 0.01 around the layer
# and by 0.03 through it. So $dx = 10 + 30 = 40$: the two ways are *added*. In general, for $y = x + f(x)$,
#
# $$ dx = dy + f'(x)^\top dy $$
#
# Even if the layer sends nothing back, $dy$ itself arrives.
#
# ## LayerNorm: every row to one scale
#
# With a way around every layer, the numbers grow: at size 0.5 the gradient did, too. LayerNorm puts each row (each
# token) back on one scale.
#
# $$ n = \frac{x - \operatorname{mean}(x)}{\sqrt{\operatorname{var}(x) + \epsilon}}, \qquad y = \gamma \odot n + \beta $$
#
# Shapes: $x$, $n$ and $y$ are $(\dots, D)$; mean and variance $(\dots, 1)$, one for each token; $\gamma$ and $\beta$
# are $(D)$.
#
# **By hand.** $x = (1, 2, 6)$ has the mean 3. Centred it is $(-2, -1, 3)$, the squares have the mean $14/3$, and its
# root is 2.16. So $n = (-0.93, -0.46, 1.39)$. **Predict:** what is $n$ for $(10, 20, 60)$? For $(101, 102, 106)$?

# %%
for x in ([1.0, 2, 6], [10.0, 20, 60], [101.0, 102, 106]):
    print(x, layer_norm_forward(np.array([x]), np.ones(3), np.zeros(3))[0].round(2))

# %% [markdown]
# The same three times. A row that is shifted or stretched gives the same answer. Two sentences about the forward, and
# each will be a rule for the backward.
#
# ## The backward of LayerNorm
#
# Three ways lead from one $x_i$ to the outputs of its row: $x_i$ itself, the mean, and the variance. Write
# $c = x - \operatorname{mean}(x)$ and $s = 1 / \sqrt{\operatorname{var} + \epsilon}$, so $n = c\, s$, and call
# $dn = dy \odot \gamma$.
#
# 1. *The mean.* Each $c_j$ contains $-x_i / D$: $\ \partial c_j / \partial x_i = \delta_{ij} - 1/D$.
# 2. *The variance.* It is the mean of $c_j^2$, so $\partial \operatorname{var} / \partial x_i = 2 c_i / D$ (what
#    comes through the mean is a sum of
#    all $c_j$, and that is 0). By the chain rule $\partial s / \partial x_i = -\tfrac12 s^3 \cdot 2 c_i / D = -s^2 n_i / D$.
# 3. *The product rule*, for $n_j = c_j\, s$:
#
# $$ \frac{\partial n_j}{\partial x_i} = s\,(\delta_{ij} - \tfrac1D) - c_j\, s^2 \frac{n_i}{D} = s \Big( \delta_{ij} - \frac1D - \frac{n_j n_i}{D} \Big) $$
#
# Now sum over all outputs $j$, each times $dn_j$. The three terms become $dn_i$ and two means over the row:
#
# $$ dx = s \Big( dn - \operatorname{mean}(dn) - n \odot \operatorname{mean}(dn \odot n) \Big) $$
#
# Shapes: $dx$, $dn$, $n$ are $(\dots, D)$; $s$ and both means are $(\dots, 1)$. And the parameters, which every token
# shares, get sums over all rows: $d\gamma = \sum dy \odot n$, $d\beta = \sum dy$.
#
# **Predict:** what does each row of $dx$ sum to? And what is the dot product of $dx$ with $n$?

# %%
x, gamma, beta = rng.standard_normal((2, 3, 8)), rng.standard_normal(8), rng.standard_normal(8)
y, cache = layer_norm_forward(x, gamma, beta)
dx, dgamma, dbeta = layer_norm_backward(rng.standard_normal(y.shape), cache)
print("sums of the rows:", np.abs(dx.sum(axis=-1)).max().round(12))
print("dot products with n:", np.abs((dx * cache.normed).sum(axis=-1)).max().round(4))

# %% [markdown]
# Both are 0 (the second but for $\epsilon$). A shift of a row changes nothing, so $dx$ is orthogonal to
# $(1, 1, \dots, 1)$. A longer row changes nothing, so $dx$ is orthogonal to $n$. A backward that lacks a term breaks
# one of the two rules, and which one says which term.
#
# ## Prove it, and see how not to
#
# Four wrong backwards. **Predict:** which of them pass a check with $\gamma = 1$ and an upstream gradient of ones?
# With random ones?

# %%
mean = lambda a: a.mean(axis=-1, keepdims=True)
wrong = {
    "zeros": lambda dn, n, s: 0 * dn,
    "sign flipped": lambda dn, n, s: -s * (dn - mean(dn) - n * mean(dn * n)),
    "1 / std missing": lambda dn, n, s: dn - mean(dn) - n * mean(dn * n),
    "variance term missing": lambda dn, n, s: s * (dn - mean(dn)),
}
for name, gamma, dy in (("ones", np.ones(8), np.ones_like(x)), ("random", gamma, rng.standard_normal(x.shape))):
    _, cache = layer_norm_forward(x, gamma, beta)
    right = layer_norm_backward(dy, cache)[0]
    errors = {key: np.abs(f(dy * gamma, cache.normed, cache.inverse) - right).max() for key, f in wrong.items()}
    print(f"{name:6}:", ", ".join(f"{key} {'passes' if error < 1e-9 else 'fails'}" for key, error in errors.items()))

# %% [markdown]
# With ones, all four pass: $dn$ is constant along the row, so the true gradient is 0. And so is any wrong one that is
# a multiple of it. Now the check that does see them:

# %%
report = gradcheck((layer_norm_forward, layer_norm_backward), [x, gamma, beta], name="layer_norm")
print(report.summary())
assert report.passed

# %% [markdown]
# ## Dropout: noise with the right mean
#
# In training, each number is dropped with the probability $r$, so that no other may rely on it. **By hand:** of 100
# ones, 20 are dropped. The sum is 80. Multiply by $1 / (1 - r) = 1.25$ and it is 100 again: the mean stays, and
# evaluation needs no correction. Backward multiplies by *the same mask*, the scale included. **Predict:** what
# happens if it scales and forgets the mask?


# %%
def scaled_only(dy, cache):
    return dy * cache.mask.max()    # 1 / (1 - rate) everywhere


report = gradcheck((functional.dropout_forward, scaled_only), [x, 0.3], name="scaled only")
print(report.findings["scaled only"])

# %% [markdown]
# This is no invention: the Dropout of a well-known NumPy library does it (its issue 94 is open). A second one keeps
# the mask on `self` and uses one Dropout object several times in a block: each backward then sees the last mask. Here
# a cache belongs to its call.
#
# ## Feed-forward: two layers and a bend
#
# After the tokens have exchanged what they know, each is worked on by itself: $h = \max(0, x W_1 + b_1)$,
# $y = h W_2 + b_2$, with $d_{ff}$ usually $4\, d_{model}$. The ReLU passes a gradient where its input was positive,
# and nothing elsewhere. **Predict:** which part of the paper's base model do these two matrices hold?

# %%
d_model, d_ff, layers = 512, 2048, 6
feed_forward = 2 * d_model * d_ff + d_ff + d_model
attention = 4 * (d_model * d_model + d_model)
encoder, decoder = layers * (attention + feed_forward), layers * (2 * attention + feed_forward)
print(f"feed-forward {2 * layers * feed_forward / 1e6:.1f} million, attention {3 * layers * attention / 1e6:.1f} million, "
      f"{2 * layers * feed_forward / (encoder + decoder):.0%} of the layers' weights are feed-forward")

# %% [markdown]
# ## Pre-norm or post-norm?
#
# The paper normalises *after* adding: $\operatorname{norm}(x + f(x))$, post-norm. Most later models normalise
# *before* the layer: $x + f(\operatorname{norm}(x))$, pre-norm. **Predict:** in which of the two does the lowest of
# twelve decoder layers get the smaller gradient?


# %%
def gradient_norms(pre_norm):
    model = Transformer(TransformerConfig.named("toy", 30, num_layers=12, pre_norm=pre_norm), seed=0)
    texts = [np.random.default_rng(i).integers(3, 30, size=10).tolist() for i in range(16)]
    batch = make_batch([(text, text) for text in texts])
    sums, cache = model.loss_forward(batch)
    model.loss_backward(1 / batch.terms, cache)
    grads = {name: float((p.grad ** 2).sum()) for name, p in model.parameters().items()}
    return [sum(g for name, g in grads.items() if name.startswith(f"decoder.layers.{i}.")) ** 0.5 for i in range(12)]


norms = {"post-norm (the paper)": gradient_norms(False), "pre-norm": gradient_norms(True)}
for name, values in norms.items():
    print(f"{name}: lowest layer {values[0]:.2f}, highest {values[-1]:.2f}")

# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for (name, values), style in zip(norms.items(), ("-", "--")):
    axes.plot(range(1, 13), values, style, color="tab:purple", marker="o", label=name)
axes.set_xlabel("decoder layer, from the bottom to the top")
axes.set_ylabel("norm of the gradient")
axes.set_yscale("log")
legend = axes.legend()

# %% [markdown]
# In post-norm every gradient passes a LayerNorm on the way around, too, and shrinks from layer to layer. This is why
# the paper needs its warm-up, and why deep models are pre-norm: there the way around is free. Pre-norm has one more
# LayerNorm at the end of each stack, since nobody else has normalised the sum.
#
# ## Break it
#
# In another NumPy Transformer $\gamma$ stands outside the two means:
# $dx = s\, \gamma\, (dy - \operatorname{mean}(dy) - n \operatorname{mean}(dy\, n))$. While $\gamma = 1$, as in every
# new model and in every lazy test, this is right. **Predict:** does a model train with it?


# %%
def gamma_outside(dy, cache):
    n, s, gamma = cache
    rows = tuple(range(dy.ndim - 1))
    return s * gamma * (dy - mean(dy) - n * mean(dy * n)), (dy * n).sum(axis=rows), dy.sum(axis=rows)


right, wrong = train(steps=100).losses, train(plugged(layer_norm_backward, gamma_outside), steps=100).losses
for step in (1, 50, 100):
    print(f"step {step:3}: right {right[step - 1]:.3f}, gamma outside {wrong[step - 1]:.3f}")
report = gradcheck((layer_norm_forward, gamma_outside), [x, gamma, beta], name="gamma outside")
print(report.findings["gamma outside"])

# %% [markdown]
# The loss says nothing. The check does, because its $\gamma$ is random.
#
# ## Exercises
#
# `minitransformer learn start 8` writes this page into your folder, followed by five functions with blanks. Fill one,
# save, and ask `minitransformer learn check`. If your LayerNorm backward is wrong, the answer says which of the two
# rules it breaks.
#
# When it passes: `minitransformer learn plug layer_norm_backward`.
#
# **Read next:** `minitransformer/functional/layer_norm.py`, then `Residual` in `minitransformer/layers/residual.py`.
