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

# %%
from minitransformer_course import lab, yours

lab.you_are_here("attention")

# %% [markdown]
# In chapter 1, queries found their keys: for each letter that the model writes, the right letter of *backward* gets the largest
# score. But a score only says where to look. How can a layer made of multiplications fetch something from a place that it has
# just chosen?
#
# Below are the weights of two of the trained model's four *heads* (chapter 7). **Predict:** with chapter 4 in mind, what do the
# weights in each row sum to?

# %%
import math
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import functional, gradcheck, plugged

model, vocabulary = lab.drawkcab()
found = lab.attention_of(model, vocabulary, "backward")

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for head in (0, 1):
    image = lab.show_map(axes[head], found, head)
print("sums of the rows, head 0:", found.weights[0].sum(axis=1).round(3))
bar = figure.colorbar(image, label="attention weight")

# %% [markdown]
# The weights of a row define a mean, and the letter below a dark cell makes up most of that mean.
#
# ## One vector, three jobs
#
# A translator turns *the dog bit the man* into Korean: 개가 남자를 물었다. The verb comes last, so before writing it she looks back
# with a question in mind: which of these words is the verb? Every word carries a label, and that of *bit*, "verb, past tense",
# fits. What she takes away is neither the question nor the label, but the meaning of the word.
#
# Attention gives these three jobs to three vectors. The position being written asks with a *query*. Each position that can be
# read is labelled with a *key* and carries its meaning in a *value*. A learned matrix computes each of them, from a vector $h$
# of the sentence being written or a vector $x$ of the one being read:
#
# $$ q = h\, W_q, \qquad k = x\, W_k, \qquad v = x\, W_v $$
#
# In *cross-attention*, as in the translation, the queries come from one sentence and the keys and values from another. In
# *self-attention* all three come from the same sentence, by three *projections*, one matrix each. A model that judges reviews
# (*sentiment analysis*, `docs/classification.md`) can turn *good* into its opposite in *not a good film*, if the query of
# *good* finds the key of *not*.
#
# Why a query *and* a key? If one vector did both jobs, *good* could not look for *not* without *not* looking for *good* just as
# much, since $q \cdot k = k \cdot q$.
#
# **By hand.** One query $q = (2, 0)$ meets two keys, $k_1 = (1, 0)$ and $k_2 = (0, 1)$, whose values are 10 and 20. The dot
# product of a key with the query measures how well the key fits, here 2 and 0. Unlike in chapter 1, we divide by $\sqrt 2$,
# because each vector holds two numbers, and get the *scores* 1.41 and 0. The softmax turns them into the weights $e^{1.41} /
# (e^{1.41} + 1) = 0.80$ and $0.20$, and the answer is $0.80 \cdot 10 + 0.20 \cdot 20 = 12$.
#
# **Predict:** what is the answer for the query $(0, 2)$? And for $(0, 0)$?

# %%
keys, values = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([10.0, 20.0])
arrows = dict(angles="xy", scale_units="xy", scale=1)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.5), sharey=True, layout="constrained")
for one, query in zip(axes, np.array([[2.0, 0.0], [0.0, 2.0], [0.0, 0.0]])):
    p, _ = functional.softmax_forward(keys @ query / math.sqrt(2))
    one.scatter(0, 0, s=60, color="tab:blue")
    one.quiver(0, 0, *query, color="tab:blue", width=0.03, label="query", **arrows)
    one.quiver([0, 0], [0, 0], *keys.T, color="tab:orange", width=0.015, label="keys", **arrows)
    one.text(0.9, 0.15, "value 10", color="tab:green")
    one.text(0.1, 1.1, "value 20", color="tab:green")
    one.set(xlim=(-0.3, 2.2), ylim=(-0.3, 2.2), aspect="equal", xlabel="first number", ylabel="second number")
    one.set_title(f"weights {p[0]:.2f} and {p[1]:.2f}: answer {p @ values:.2f}", fontsize=10)
shown = one.legend(loc="upper right")

# %% [markdown]
# The better a query fits one key, the closer the answer is to that key's value. A small change to the query changes the answer
# a little, so this can be learned.
#
# ## All queries at once
#
# Suppose that $T_q$ positions are being written and $T_k$ can be read. The queries are the rows of $Q$, of shape $(T_q, d_k)$,
# the keys those of $K$, $(T_k, d_k)$, and the values those of $V$, $(T_k, d_v)$. There may be more axes in front, for sentences
# and heads, which `@` keeps. `K.T` reverses *all* axes, so write `K.swapaxes(-1, -2)` to transpose only the last two.
#
# Some keys may be forbidden. In a *mask* of shape $(T_q, T_k)$, True marks the keys that a query may attend to. A score whose
# mask is False is replaced by $-\infty$ before the softmax, and because $e^{-\infty} = 0$, that key gets weight 0. Now write
# the scores, the softmax and the weighted mean for all queries without a loop. The result is the paper's *scaled dot-product
# attention*. (Use NumPy alone. If your `softmax` of chapter 4 passes, you can call it after `from my_transformer import
# softmax`.)

# %% [exercise] attention

# %% [derivation]
# **The rule: a matrix product is a table of dot products.** The dot products of all rows of $Q$ with all rows of $K$ form the
# matrix $Q K^\top$:
#
# $$ S = \frac{Q K^\top}{\sqrt{d_k}} \qquad (T_q, T_k) $$
#
# A forbidden pair gets the score $-\infty$, whose exponential is 0. The softmax runs along each row, over the keys, so that
# the weights of *one query* sum to 1. As in chapter 4, the row's largest score is subtracted first:
#
# $$ P = \operatorname{softmax}(S) \qquad (T_q, T_k) $$
#
# **The rule once more, for the means.** The answer to query $q$ is $\sum_k P_{qk} V_k$, a weighted sum of the rows of $V$, and
# for all queries together this is again a matrix product:
#
# $$ Y = P V \qquad (T_q, d_v) $$

# %% [markdown]
# ## Why divide by the square root of d_k
#
# Draw a query and a key of $d_k$ numbers each from a standard normal. **Predict:** how large is their dot product,
# roughly, for $d_k = 1000$? It is a sum of 1,000 products, each with mean 0 and variance 1.

# %%
rng = np.random.default_rng(0)
for d_k in (10, 100, 1000):
    q, k = rng.standard_normal((1000, d_k)), rng.standard_normal((1000, 8, d_k))
    dots = np.einsum("qd,qkd->qk", q, k)    # 1,000 queries with 8 keys each
    for name, x in (("unscaled", dots), ("scaled", dots / math.sqrt(d_k))):
        p, _ = functional.softmax_forward(x)
        print(f"d_k = {d_k:4}, {name:8}: scores {x.std():4.1f}, largest weight {p.max(axis=-1).mean():.2f}, "
              f"p (1 - p) below 1e-10: {(p * (1 - p) < 1e-10).mean():6.2%}")

# %% [markdown]
# Variances of independent terms add up, so the variance of a dot product is $d_k$ and its standard deviation $\sqrt{d_k}$,
# about 32 for 1,000. The softmax of such scores is saturated (chapter 4): one weight is nearly 1, and nearly three in four of
# the derivatives $p (1 - p)$ are below $10^{-10}$. Almost no gradient reaches the scores, so a model that began this way could
# hardly learn to look elsewhere. Divided by $\sqrt{d_k}$, the scores of random vectors have standard deviation 1 whatever $d_k$
# is. Training is free to change that. In the picture of chapter 1, $d_k$ is 8, and the dot products reach 237. That head is
# saturated because it has found its letters.
#
# ## A question, written by hand
#
# What must $W_q$ contain for attention to read a word backwards? Let the keys be positions, that is, rows of the table in
# chapter 3. The dot product of two such rows is largest if they are the same row, so the query for letter $t$ should be the row
# of the letter to read. In a word of $n$ letters that is letter $n - 1 - t$. But the position being written knows only its own
# row, $PE_t$, so the query is $PE_t\, W_q$, with the same matrix for every $t$.
#
# The clocks of chapter 3 have to run backwards as $t$ grows. Check your matrix with one rule: mirroring a position twice brings
# it back.

# %% [exercise] mirror_matrix

# %% [derivation]
# **The rule: the addition formulas, for a difference.** Clock $i$ shows the angle $a = t\, \omega_i$ at position $t$, and the
# angle $(n - 1 - t)\, \omega_i = b - a$ at the position to read, where $b = (n - 1)\, \omega_i$ is the same for all $t$:
#
# $$ \sin(b - a) = -\cos b \sin a + \sin b \cos a $$
#
# $$ \cos(b - a) = \sin b \sin a + \cos b \cos a $$
#
# Both right-hand sides are linear in $\sin a$ and $\cos a$, the two numbers of the row of $t$. A row times a matrix sums
# down the columns, so the coefficients of the new sine form a column:
#
# $$ \begin{pmatrix} \sin a & \cos a \end{pmatrix} \begin{pmatrix} -\cos b & \sin b \\ \sin b & \cos b \end{pmatrix} =
# \begin{pmatrix} \sin(b - a) & \cos(b - a) \end{pmatrix} $$
#
# Each clock gets a block of $2 \times 2$ on the diagonal of $W$, which has shape $(d_{model}, d_{model})$, and the rest is 0. A
# rotation has determinant 1, while this block has determinant $-1$. So it is a reflection, and its square is the identity.

# %% [markdown]
# Now run your `attention` with your matrix. The values are the letters themselves. The queries are multiplied by 20, because
# neighbouring rows are so similar that the weights would otherwise be flat.

# %%
word, frequencies = "backward", 10000.0 ** (-np.arange(16) / 16)
PE = functional.sinusoids(8, 32)
letters = np.eye(26)[[ord(letter) - ord("a") for letter in word]]    # (T_k, 26): a 1 for each letter
y, p = attention(20 * PE @ mirror_matrix(frequencies, 8), PE, letters, np.ones((8, 8), bool))
written = "".join(chr(ord("a") + i) for i in y.argmax(axis=-1))
figure, axes = plt.subplots(figsize=(4, 3.4), layout="constrained")
image = lab.show_map(axes, found._replace(weights=p[None], queries=word, keys=word, predicted=written))
axes.set_title(f"by hand: {word} -> {written}", fontsize=10)
bar = figure.colorbar(image, label="attention weight")

# %% [markdown]
# No number here was trained. But your matrix is for words of eight letters, while the trained model handles every length up to
# twelve, with matrices that it learned from gradients.
#
# ## Backward
#
# Backward gets $dY$, of shape $(T_q, d_v)$, and needs $dQ$, $dK$ and $dV$. You know its parts: two products, like $y = x W$ in
# chapter 1, and between them the softmax of chapter 4.
#
# **By hand**, for the query $(2, 0)$ with $dy = 1$, two keys, and the values 10 and 20: the answer is $p_1 \cdot 10 + p_2 \cdot
# 20$ with $p = (0.80, 0.20)$, so $dp = (10, 20)$. The backward of the softmax subtracts the weighted mean, $0.80 \cdot 10 +
# 0.20 \cdot 20 = 12$. That leaves $0.80 \cdot (10 - 12) = -1.6$ for the first score and $0.20 \cdot (20 - 12) = 1.6$ for the
# second. The loss grows if the second key scores higher, because its value lies above the mean.
#
# **Predict:** add the same vector to all keys. Which weights change? What, then, does $dK$ sum to over the keys?

# %% [exercise] attention_backward

# %% [derivation]
# **The rule: read the forward from its last line to its first.** The products are those of chapter 1, where $y = x W$ gave
# $dx = dy\, W^\top$ and $dW = x^\top dy$, and between them is the softmax of chapter 4:
#
# | forward, downwards | backward, upwards | shape |
# |---|---|---|
# | $S = Q K^\top / \sqrt{d_k}$ | $dQ = dS\, K / \sqrt{d_k}$ and $dK = dS^\top Q / \sqrt{d_k}$ | $(T_q, d_k)$, $(T_k, d_k)$ |
# | $P = \operatorname{softmax}(S)$ | $dS = P \odot (dP - \operatorname{rowsum}(dP \odot P))$ | $(T_q, T_k)$ |
# | $Y = P V$ | $dP = dY\, V^\top$ and $dV = P^\top dY$ | $(T_q, T_k)$, $(T_k, d_v)$ |
#
# $\odot$ multiplies element by element, and rowsum adds up each row and keeps its axis, as `keepdims=True` does. The second
# factor of $S$ is $K^\top$, so the rule gives $dK^\top = Q^\top dS / \sqrt{d_k}$, whose transpose is $dS^\top Q / \sqrt{d_k}$.
# The scale appears in one line of the forward, so it appears in the same line of the backward, in both gradients. The mask
# needs no line of its own, because $P$ is 0 wherever the mask is False, and so is $dS$.

# %% [markdown]
# Adding a vector to all keys adds the same number to all scores of a query. The softmax does not notice, so $dK$ sums to 0.
# **Prove it**, with your two functions:


# %%
def forward(query, key, value):
    y, p = attention(query, key, value, np.ones((3, 5), bool))
    return y, (query, key, value, p)


# %%
backward = lambda dy, cache: attention_backward(dy, *cache)    # noqa: E731
query, key, value = rng.standard_normal((3, 4)), rng.standard_normal((5, 4)), rng.standard_normal((5, 2))
report = gradcheck((forward, backward), [query, key, value], methods=["central"], name="attention")
print(report)
dquery, dkey, dvalue = backward(rng.standard_normal((3, 2)), forward(query, key, value)[1])
print("dK summed over the keys:", np.abs(dkey.sum(axis=0)).max().round(12))
assert report.passed

# %% [markdown]
# ## Break it
#
# The trained model has 4 heads of $d_k = 8$ numbers each, so its vectors have $d_{model} = 4 \cdot 8 = 32$ numbers. The code of
# a lecture divided by $\sqrt{d_{model}}$ in place of $\sqrt{d_k}$ (karpathy/ng-video-lecture, pull request 6). Such code runs,
# and passes a gradient check. But these weights were trained with the right scale. **Predict:** halve all scores and let the
# model write. Does it still write *drawkcab*?


# %%
def by_d_model(query, key, value, mask=None, *dropout):    # called as functional.attention_forward is
    mask = np.broadcast_to(True if mask is None else mask, (*query.shape[:-1], key.shape[-2]))
    return attention(query / 2, key, value, mask)    # 1/2: from sqrt(8) to sqrt(32)


with plugged(functional.attention_forward, by_d_model):
    print([lab.write(model, vocabulary, word) for word in ("backward", "stressed", "attention")])

# %% [markdown]
# Its attention is flatter than in training, so it fetches a mixture of letters. A gradient check cannot know which forward you
# wanted.
#
# ## Attention in blocks
#
# The weights are a table of $T_q \times T_k$ numbers, 67 million per head for a text of 8,192 tokens.
# [FlashAttention](https://arxiv.org/abs/2205.14135) (2022) never stores it. It reads the keys in blocks and keeps, for each
# query, the largest score so far, the sum of the exponentials, and the sum of the values, weighted with them.
#
# **By hand.** The first block has one score, 0, with the value 10, so the sums are 1 and 10. The second has score $\ln 3$ and
# value 20. With it as the largest, the old exponential should have been $e^{0 - \ln 3} = 1/3$, so the old sums shrink to $1/3$
# and $10/3$. Now add the second block: $4/3$ and $70/3$. The answer is 17.5, the same as $\frac14 \cdot 10 + \frac34 \cdot 20$.

# %% [exercise] next_block

# %% [derivation]
# **The rule: a common factor of all exponentials cancels.** Let $m$ be the largest score so far, and $m'$ the largest score
# once the block $B$ is taken in. The old sums were computed with $e^{-m}$ in each term. Multiplied by $e^{m - m'}$, each term
# has $e^{-m'}$, as the new ones do:
#
# $$ s' = e^{m - m'} s + \sum_{k \in B} e^{x_k - m'}, \qquad a' = e^{m - m'} a + \sum_{k \in B} e^{x_k - m'} v_k $$
#
# Here $m$ and $s$ are $(T_q, 1)$ and $a$ is $(T_q, d_v)$. Before the first block, $m = -\infty$ and $e^{m - m'} = 0$. After the
# last one, $y = a / s$.


# %%
def in_blocks(query, key, value, size=64):
    largest, total, summed = np.full((len(query), 1), -np.inf), 0.0, 0.0
    for start in range(0, len(key), size):
        scores = query @ key[start:start + size].T / math.sqrt(query.shape[1])
        largest, total, summed = next_block(scores, value[start:start + size], largest, total, summed)
    return summed / total


# %%
long, everything = rng.standard_normal((3, 2048, 64)), np.ones((2048, 2048), bool)
tracemalloc.start()
y, with_a_table = attention(*long, everything)[0], tracemalloc.get_traced_memory()[1] / 1e6
tracemalloc.reset_peak()
other, blocks = in_blocks(*long), tracemalloc.get_traced_memory()[1] / 1e6
tracemalloc.stop()
print(f"{with_a_table:.0f} MB with a table, {blocks:.0f} MB in blocks, largest difference {np.abs(y - other).max():.0e}")

# %% [markdown]
# Memory no longer grows with the square of the length. The number of multiplications still does.
#
# ## Your Transformer

# %%
lab.run_yours("5")
lab.open_explorer(model, vocabulary, "backward")

# %% [markdown]
# In the file that the last line names, open *cross-attention* and click a score: it is a sum of eight products, divided by
# $\sqrt 8$.

# %% [markdown]
# **Read next:** `attention_forward` and `attention_backward` in `minitransformer/functional/attention.py`.
