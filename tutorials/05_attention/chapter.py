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
# *한국어: 어텐션 (attention), 쿼리 (query), 키 (key), 값 (value), 점수 (score), 가중합 (weighted sum).*

# %%
from minitransformer_course import lab, yours

lab.you_are_here("attention")

# %% [markdown]
# In chapter 1 you saw queries find their keys: for each letter that the model writes, the right letter of *backward* gets the
# largest score. But a score only says where to look, and nothing has been fetched from there yet. How can a layer made of
# multiplications fetch something from a place that it has just chosen?
#
# Below are the weights of two of the trained model's four *heads* (chapter 7), with a row for each letter that it writes and a
# column for each letter that it may look at. **Predict:** with chapter 4 in mind, what do the weights in each row sum to?

# %%
import math

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
# Each row sums to 1, so it defines a mean, and the letter below a dark cell makes up most of that mean. In this chapter you
# build the layer behind this picture, and write by hand the numbers that let it read a word backwards.
#
# ## One vector, three jobs
#
# A translator turns *the dog bit the man* into Korean: 개가 남자를 물었다. Korean puts the verb at the end, so before
# writing the last word she looks back at the English sentence with a question in mind: which of these words is
# the verb? Every word carries a label, and the label of *bit*, "verb, past tense", fits the question. What she
# takes away, though, is neither the question nor the label, but the meaning of the word.
#
# Attention gives these three jobs to three vectors. The position being written asks its question with a
# *query*. Each position that can be read is labelled with a *key* and carries its meaning in a *value*. None of the three is
# there from the start: a learned matrix computes each one, from a vector $y$ of the sentence being written or a vector $x$ of
# the sentence being read.
#
# $$ q = y\, W_q, \qquad k = x\, W_k, \qquad v = x\, W_v $$
#
# In *cross-attention*, as in the translation, the queries come from one sentence and the keys and values from another. In
# *self-attention* all three come from the same sentence, by three *projections*, one matrix each. Take a model that judges
# whether a review is positive (*sentiment analysis*, `docs/classification.md`). In *not a good film*, the query of *good* can
# look for a negation, and find the key of *not*. What it fetches turns the vector of *good* into the opposite.
#
# Why a query *and* a key? If one vector did both jobs, the score of A for B would always equal the score of B for A, since
# $q \cdot k = k \cdot q$. *good* could not look for *not* without *not* looking for *good* just as much.
#
# **By hand.** One query $q = (2, 0)$ meets two keys, $k_1 = (1, 0)$ and $k_2 = (0, 1)$, whose values are 10 and 20. The dot
# product of a key with the query measures how well the key fits, here 2 and 0. We divide by $\sqrt 2$, because each vector
# holds two numbers, and get the *scores* 1.41 and 0. The softmax turns them into the weights $e^{1.41} / (e^{1.41} + 1) = 0.80$
# and $0.20$, and the answer is $0.80 \cdot 10 + 0.20 \cdot 20 = 12$.
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
# A query that fits all keys equally well gets the plain mean, 15, and the better it fits one key, the closer the answer is to
# that key's value. A small change to the query changes the answer a little, so a model can learn where to look.
#
# ## All queries at once
#
# Suppose that $T_q$ positions are being written and $T_k$ can be read. The queries are the rows of $Q$, of shape $(T_q, d_k)$,
# the keys those of $K$, $(T_k, d_k)$, and the values those of $V$, $(T_k, d_v)$. A key must hold as many numbers as a query,
# while a value may hold more or fewer. There may be more axes in front of these two, for sentences and heads, which `@` keeps.
# `K.T` reverses *all* axes, so write `K.swapaxes(-1, -2)` to transpose only the last two.
#
# In a mask of shape $(T_q, T_k)$, True marks the keys that a query may attend to, as in chapter 4. Now write the scores, the
# softmax and the weighted mean for all queries without a loop, the paper's *scaled dot-product attention*. (The judge reads only
# your own code. To call your softmax, write `from my_transformer import masked_softmax` above the function.)

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
# the derivatives $p (1 - p)$ are below $10^{-10}$. Almost no gradient reaches the scores, so the model can hardly learn to look
# elsewhere. Divided by $\sqrt{d_k}$, the scores have standard deviation 1 whatever $d_k$ is, and no derivative is that small.
#
# ## A question, written by hand
#
# What must $W_q$ contain for attention to read a word backwards? Let the keys be positions, that is, rows of the table in
# chapter 3. The dot product of two such rows is largest if they are the same row, so the query for letter $t$ should be the row
# of the letter to read. In a word of $n$ letters that is letter $n - 1 - t$. But the position being written knows only its own
# row, $PE_t$, so the query is $PE_t\, W_q$, with the same matrix for every $t$.
#
# Here the clocks of chapter 3 have to run backwards as $t$ grows. You can check your matrix with one rule: mirroring a position
# twice brings it back to where it was.

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
# Now run your `attention` with your matrix. The keys are positions, and the values are the letters themselves. The queries are
# multiplied by 20, because neighbouring rows are so similar that the weights would otherwise be flat.

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
# Attention reads the word backwards without any training. Your matrix is for words of eight letters, while the trained model
# handles every length up to twelve. That model learned its matrices, and for that it needed gradients.
#
# ## Backward
#
# Backward gets $dY$, of shape $(T_q, d_v)$, and needs $dQ$, $dK$ and $dV$. You know two of its parts, the scores from chapter 1
# and the softmax from chapter 4. The mean is new.
#
# **By hand**, for the query $(2, 0)$ above with $dy = 1$: the answer is $p_1 \cdot 10 + p_2 \cdot 20$, so
# $dp = (10, 20)$. The backward of the softmax subtracts the weighted mean, $0.80 \cdot 10 + 0.20 \cdot 20 = 12$. That
# leaves $0.80 \cdot (10 - 12) = -1.6$ for the first score and $0.20 \cdot (20 - 12) = 1.6$ for the second. The loss grows
# if the second key scores higher, because its value lies above the mean.
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


def backward(dy, cache):
    return attention_backward(dy, *cache)


# %%
query, key, value = rng.standard_normal((3, 4)), rng.standard_normal((5, 4)), rng.standard_normal((5, 2))
report = gradcheck((forward, backward), [query, key, value], methods=["central"], name="attention")
print(report)
dquery, dkey, dvalue = backward(rng.standard_normal((3, 2)), forward(query, key, value)[1])
print("dK summed over the keys:", np.abs(dkey.sum(axis=0)).max().round(12))
assert report.passed

# %% [markdown]
# ## Break it
#
# The trained model has 4 heads of $d_k = 8$ numbers each, so its vectors have $d_{model} = 4 \cdot 8 = 32$ numbers. Dividing by
# $\sqrt{d_{model}}$ in place of $\sqrt{d_k}$ is a famous slip. The code runs, and passes a gradient check if forward and
# backward share the slip. But these weights were trained with the right scale. **Predict:** halve all scores and let the model
# write. Does it still write *drawkcab*?


# %%
def by_d_model(query, key, value, mask=None, *dropout):    # called as functional.attention_forward is
    mask = np.broadcast_to(True if mask is None else mask, (*query.shape[:-1], key.shape[-2]))
    return attention(query / 2, key, value, mask)    # 1/2: from sqrt(8) to sqrt(32)


with plugged(functional.attention_forward, by_d_model):
    print([lab.write(model, vocabulary, word) for word in ("backward", "stressed", "attention")])

# %% [markdown]
# The model stutters. Its attention is flatter than in training, so it fetches a mixture of letters. A gradient check proves that
# a backward matches its forward, but it cannot know which forward you wanted.
#
# ## Your Transformer

# %%
lab.run_yours("5")

# %% [markdown]
# **Read next:** `attention_forward` and `attention_backward` in `minitransformer/functional/attention.py`.
