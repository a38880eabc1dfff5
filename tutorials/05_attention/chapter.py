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
# # 5. Attention: a weighted mean that chooses its own weights
#
# A model reads eight letters and has to write them again. When it writes the fifth letter, it needs to see the fifth
# letter, and no other. The place to look at depends on what it has written so far. How can a layer that consists of
# multiplications *look* somewhere?
#
# In this chapter you build that layer, find out why its scores are divided by $\sqrt{d_k}$, and read its backward off
# its forward, line by line, from the last to the first.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck, plugged
from minitransformer.functional import (
    attention_backward, attention_forward, softmax_backward, softmax_forward)
from minitransformer.learn import yours
from minitransformer.learn.plug import train

rng = np.random.default_rng(0)

# %% [markdown]
# ## Queries ask, keys answer
#
# Each place that writes asks a question: a vector, the *query*. Each place that can be read has a label: a vector,
# the *key*. The *score* says how well the label fits the question. It is their dot product. And each place that can
# be read has something to say: a vector, the *value*.
#
# **By hand.** One query $q = (2, 0)$ and two keys, $k_1 = (1, 0)$ and $k_2 = (0, 1)$, with the values 10 and 20. The
# dot products are 2 and 0. Divided by $\sqrt 2$ they are 1.41 and 0 (the reason for the root comes soon). The softmax
# makes $e^{1.41} / (e^{1.41} + 1) = 0.80$ of the first, and $0.20$ of the second. The answer is
# $0.80 \cdot 10 + 0.20 \cdot 20 = 12$ (11.96 without rounding).
#
# **Predict:** what is the answer for the query $(0, 2)$? For $(0, 0)$?

# %%
keys, values = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[10.0], [20.0]])
for query in ([2.0, 0.0], [0.0, 2.0], [0.0, 0.0]):
    e = np.exp(keys @ query / math.sqrt(2))
    p = e / e.sum()
    print(query, "weights", p.round(2), "answer", (p @ values).round(2))

# %% [markdown]
# A query that fits all keys equally well gets the plain mean, 15. The better it fits one key, the closer the answer is to
# that key's value. A small change of a query changes the answer a little. That is why it can be learned.
#
# ## A weighted mean of values
#
# Now all queries at once. $T_q$ places write, $T_k$ places can be read. Each query is one row of $Q$, each key one row of
# $K$, each value one row of $V$. A key must be as long as a query, $d_k$; a value may have another length, $d_v$.
#
# $$ \underset{(T_q, T_k)}{S} = \frac{Q K^\top}{\sqrt{d_k}} $$
#
# $$ \underset{(T_q, T_k)}{P} = \operatorname{softmax}(S), \qquad \underset{(T_q, d_v)}{Y} = P V $$
#
# The softmax runs along each row: the weights of *one query* over all keys sum to 1.
#
# In a model, and in the exercises, there are axes in front of these two: $B$ sentences of a batch, and $H$ heads
# (chapter 7). `@` multiplies the last two axes and keeps those in front. But `K.T` reverses *all* axes, so write
# `K.swapaxes(-1, -2)` for $K^\top$.
#
# **Predict:** the cell below has five tokens. The query of a token is the same vector as its key, and the keys of
# different tokens have the dot product 0. Which cells of the picture are dark?

# %%
Q = K = 4 * np.eye(5)
P, _ = softmax_forward(Q @ K.T / math.sqrt(5))
figure, axes = plt.subplots(figsize=(4, 3.2), layout="constrained")
image = axes.imshow(P, cmap="Blues", vmin=0, vmax=1)
axes.set_xlabel("key: the tokens it may look at")
axes.set_ylabel("query: the token that asks")
bar = figure.colorbar(image, label="attention weight")

# %% [markdown]
# The diagonal: each token fits itself best. With queries and keys of its own, made from the tokens by two different
# matrices, a model can learn *other* questions, such as "which letter stands one place before me?". This is why there
# is a query and a key, and not one vector for both.
#
# A mask forbids some pairs (True means "may attend"): their scores become $-\infty$ before the softmax. Chapter 6 is
# about masks.
#
# ## Why divide by the square root of d_k
#
# Take a query and a key of $d_k$ numbers each, drawn from a standard normal. **Before you run the cell: how large is
# their dot product, roughly, for $d_k = 10$? For 1,000?**

# %%
for d_k in (10, 100, 1000):
    q, k = rng.standard_normal((2, 10_000, d_k))
    dots = (q * k).sum(axis=-1)
    print(f"d_k = {d_k:5}: standard deviation {dots.std():5.1f}, square root of d_k {math.sqrt(d_k):5.1f}")

# %% [markdown]
# A dot product is a sum of $d_k$ products. Each has the mean 0 and the variance 1, and variances of independent terms
# add up: the variance is $d_k$, and the standard deviation $\sqrt{d_k}$. So what? Look at what the softmax makes of
# it.
#
# **Predict:** for $d_k = 1000$ and eight keys, how large is the largest weight? How much of the gradient reaches the
# scores?


# %%
def saturation(d_k, scale):
    """Over 2,000 queries: the mean of the largest of 8 weights, the median norm of the scores' gradient."""
    q, k = rng.standard_normal((2000, 1, d_k)), rng.standard_normal((2000, 8, d_k))
    p, cache = softmax_forward((q * k).sum(axis=-1) * scale)
    ds = softmax_backward(rng.standard_normal(p.shape), cache)
    return p.max(axis=-1).mean(), np.median(np.sqrt((ds * ds).sum(axis=-1)))


for d_k in (10, 100, 1000):
    plain, scaled = saturation(d_k, 1), saturation(d_k, 1 / math.sqrt(d_k))
    print(f"d_k = {d_k:5}: unscaled: weight {plain[0]:.2f}, gradient {plain[1]:.4f};  "
          f"scaled: weight {scaled[0]:.2f}, gradient {scaled[1]:.4f}")

# %% [markdown]
# Without the scale, at 1,000, one weight is nearly 1 and next to nothing of the gradient comes through: the softmax
# is saturated, and the model cannot change its mind. Divided by $\sqrt{d_k}$, the row for 1,000 looks like the row
# for 10.
#
# ## Backward: the forward read upside down
#
# Backward gets $dY$, of the shape $(T_q, d_v)$, and needs $dQ$, $dK$ and $dV$. You have every part already. The
# products are linear layers (chapter 1: from $y = x W$ follow $dx = dy\, W^\top$ and $dW = x^\top dy$), and between
# them is a softmax (chapter 4).
#
# | forward, downwards | backward, upwards | shape |
# |---|---|---|
# | $S = Q K^\top / \sqrt{d_k}$ | $dQ = dS\, K / \sqrt{d_k}$ and $dK = dS^\top Q / \sqrt{d_k}$ | $(T_q, d_k)$, $(T_k, d_k)$ |
# | $P = \operatorname{softmax}(S)$ | $dS = P \odot (dP - \operatorname{rowsum}(dP \odot P))$ | $(T_q, T_k)$ |
# | $Y = P V$ | $dP = dY\, V^\top$ and $dV = P^\top dY$ | $(T_q, T_k)$, $(T_k, d_v)$ |
#
# $\odot$ multiplies element by element, and rowsum adds up each row and keeps its axis, as `keepdims=True` does. Read the
# table's gradients from the bottom to the top. The scale stands in one line of the forward, and in the same line
# of the backward, for both gradients.
#
# **By hand**, for the query $(2, 0)$ above with $dY = 1$: $dP = (10, 20)$. The row sum is the mean of $dP$ under the
# weights, $0.80 \cdot 10 + 0.20 \cdot 20 = 12$: the answer itself. So $dS$ is $0.80 \cdot (10 - 12) = -1.6$ for the first
# key and $0.20 \cdot (20 - 12) = 1.6$ for the second. The loss grows if the second key is scored higher: its value is above
# the mean.
#
# **Predict:** what does $dK$ sum to, over the keys? (Add one vector to all keys: which weights change?)

# %%
query, key, value = rng.standard_normal((3, 4)), rng.standard_normal((5, 4)), rng.standard_normal((5, 2))
y, cache = attention_forward(query, key, value)
dquery, dkey, dvalue = attention_backward(rng.standard_normal(y.shape), cache)
print("dkey summed over the keys:", np.abs(dkey.sum(axis=0)).max().round(12))

# %% [markdown]
# Zero. A vector added to all keys adds the same number to all scores of a query, and a softmax does not notice that. Such a
# rule is worth more than ten examples: a wrong backward breaks it, and you see which part is wrong.
#
# ## Prove it

# %%
report = gradcheck((attention_forward, attention_backward), [query, key, value], name="attention")
print(report)
assert report.passed

# %% [markdown]
# ## Break it
#
# A model with 4 heads of $d_k = 16$ numbers each has vectors of $d_{model} = 4 \cdot 16 = 64$ numbers. Dividing by
# $\sqrt{d_{model}}$ in place of $\sqrt{d_k}$ is a famous slip. Here it is made in forward *and* backward, so the gradient
# is the true gradient of a wrong function. (`__wrapped__` is the library's own function: while ours is plugged in, the
# bare name would call ours again.)
#
# **Predict:** does the gradient check see it? Does the loss?


# %%
def by_d_model(query, key, value, *more):
    return attention_forward.__wrapped__(query / 2, key, value, *more)    # 1/2: from sqrt(16) to sqrt(64)


def by_d_model_backward(dy, cache):
    dquery, dkey, dvalue = attention_backward.__wrapped__(dy, cache)
    return dquery / 2, dkey, dvalue


check = gradcheck((by_d_model, by_d_model_backward), [query, key, value], name="by d_model")
print("the gradient check:", "passed" if check.passed else "failed")

# %%
right = train(steps=100).losses
wrong = train(plugged(attention_forward, by_d_model), plugged(attention_backward, by_d_model_backward),
              steps=100).losses
for step in (1, 50, 100):
    print(f"step {step:3}: right {right[step - 1]:.3f}, by d_model {wrong[step - 1]:.3f}")

# %% [markdown]
# Neither sees it. The model learns larger queries, and makes up for it. A gradient check proves that backward belongs
# to forward; it cannot know which forward you wanted. For that you need the paper's formula, or a reference to
# compare with. The judge of the exercises compares with one, so it tells $\sqrt{d_k}$ from $\sqrt{d_{model}}$.
#
# A wrong *backward* is another matter. Here is one without the scale, and what the gradient doctor says:


# %%
def unscaled_backward(dy, cache):
    dquery, dkey, dvalue = attention_backward(dy, cache)
    return dquery * math.sqrt(cache.query.shape[-1]), dkey * math.sqrt(cache.query.shape[-1]), dvalue


report = gradcheck((attention_forward, unscaled_backward), [query, key, value], name="unscaled")
print(report.findings["unscaled"])

# %% [markdown]
# ## Exercises
#
# `minitransformer learn start 5` writes this page into your folder, followed by four functions with blanks. Fill one,
# save, and ask `minitransformer learn check`.
#
# When `attention` passes, it can do what this page began with: `minitransformer learn plug attention` trains a model
# that uses your attention in all its layers, and lets it copy letters.
#
# **Read next:** `attention_forward` and `attention_backward` in `minitransformer/functional/attention.py`.

# %% [exercise] scores

# %% [exercise] attention

# %% [exercise] value_backward

# %% [exercise] attention_backward
