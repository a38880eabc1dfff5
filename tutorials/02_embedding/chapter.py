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
# # 2. Tokens to vectors: the embedding
#
# "the dog chased the cat": the word *the* stands there twice. Its vector gets a gradient from the first place and
# another one from the second. In NumPy you write `dW[ids] += dy`, and one of the two is gone: no error, no warning, only a
# model that learns more slowly. Why?

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck, layers, plugged
from minitransformer.learn import yours
from minitransformer.learn.plug import train

rng = np.random.default_rng(0)

# %% [markdown]
# ## A table of vectors
#
# A *token* is a string, a *token id* its number in the vocabulary. A table $W$ of the shape $(V, d_{model})$ holds
# one vector of $d_{model}$ numbers for each of the $V$ ids. The embedding looks them up, for a batch of $B$ sentences
# of $T$ tokens each:
#
# $$ y_{bt} = \sqrt{d_{model}} \; W_{ids_{bt}} $$
#
# The ids are $(B, T)$, and $y$ is $(B, T, d_{model})$.
#
# **By hand.** Let $d_{model} = 4$ and the row of *the* be $(0.5, 0, -0.5, 0)$. Then
# $y = 2 \cdot (0.5, 0, -0.5, 0) = (1, 0, -1, 0)$, in both places.
#
# **Predict:** for one sentence of five tokens, which shape does $y$ have?

# %%
vocabulary = {"the": 0, "dog": 1, "chased": 2, "cat": 3}
ids = np.array([[vocabulary[token] for token in "the dog chased the cat".split()]])    # (B, T) = (1, 5)
W = rng.standard_normal((4, 4)) / 2                                                       # (V, d_model)
y = math.sqrt(4) * W[ids]                                                                 # (1, 5, 4)
print(ids, y.shape)
print("both places of 'the' are equal:", (y[0, 0] == y[0, 3]).all())

# %% [markdown]
# ### Why the factor?
#
# The library draws the numbers of $W$ with the standard deviation $1/\sqrt{d_{model}}$, because the same table is
# used again at the end of the model (see below), and there small numbers are right. Next, the model adds a vector for
# the position (chapter 3): sines and cosines, typically of the size $1/\sqrt 2 = 0.71$. **Predict:** how large are
# the vectors' numbers next to them, without the factor and with it?

# %%
for d_model in (64, 512):
    table = layers.Embedding(1000, d_model, rng).weight.data
    print(f"d_model {d_model}: numbers of size {table.std():.3f} without, "
          f"{math.sqrt(d_model) * table.std():.2f} with the factor; positions: {math.sqrt(1 / 2):.2f}")

# %% [markdown]
# Without the factor the positions drown the tokens: at $d_{model} = 512$ by sixteen to one.
#
# ## Backward: repeated tokens
#
# A lookup is a matrix product in disguise. Write each id as a row of zeros with a single 1, its *one-hot* vector;
# then $y = \sqrt{d_{model}}\; \mathrm{onehot}\; W$. It is a linear layer, and you know its gradient from chapter 1:
# $dW = \sqrt{d_{model}}\; \mathrm{onehot}^\top dy$. Row $v$ of it is
#
# $$ dW_v = \sqrt{d_{model}} \sum_{b, t:\ ids_{bt} = v} dy_{bt} $$
#
# the sum over all places where $v$ stands. **By hand:** *the* stands in places 0 and 3. Let $dy$ be $(1, 0, 0, 0)$ at
# the first and $(0, 2, 0, 0)$ at the second. Then its row gets $2 \cdot (1, 2, 0, 0) = (2, 4, 0, 0)$.
#
# **Predict:** what does `dW[ids] += dy` make of it?

# %%
dy = np.zeros((1, 5, 4))
dy[0, 0], dy[0, 3] = [1, 0, 0, 0], [0, 2, 0, 0]
lost, right = np.zeros((4, 4)), np.zeros((4, 4))
lost[ids] += 2 * dy
np.add.at(right, ids, 2 * dy)
print("dW[ids] += dy:", lost[0])
print("np.add.at:    ", right[0])

# %% [markdown]
# `dW[ids] += dy` means `dW[ids] = dW[ids] + dy`. NumPy reads the row twice, adds to each copy, and writes both back
# to the same place. The last one wins. `np.add.at` adds them one after the other. (The library uses neither:
# `np.add.at` is slow. It sorts the ids and sums runs of equal ones.)
#
# Each place gives its $dy$ to exactly one row. So the sum over all rows of $dW$ is $\sqrt{d_{model}}$ times the sum of
# $dy$ over all places. A lost repeat breaks this rule.
#
# ## Prove it

# %%
embedding = layers.Embedding(4, 6, rng)
report = gradcheck(embedding, [ids])
print(report)
assert report.passed

# %% [markdown]
# ## The same table at the end
#
# At its end the model has a vector for each position, together its *hidden states* $h$ of the shape $(N, d_{model})$. It
# needs a *logit* for each token of the vocabulary: a score, which softmax turns into a probability. The paper uses the
# same table: $\text{logits} = h W^\top$. A token is likely if its vector points where $h$ points. The table then gets two
# gradients, and they are added: a sum over two uses, as in chapter 1. From $\text{logits}_{nv} = \sum_d h_{nd} W_{vd}$ follow
#
# $$ dh = d\text{logits}\; W, \qquad dW = d\text{logits}^\top h $$
#
# **Predict:** in how many rows of the table is the gradient of each use not zero, for a batch with 3 different tokens
# and 1,000 in the vocabulary?

# %%
W, batch = rng.standard_normal((1000, 8)), np.array([5, 7, 5, 9])
from_embedding = np.zeros_like(W)
np.add.at(from_embedding, batch, rng.standard_normal((4, 8)))
from_logits = rng.standard_normal((4, 1000)).T @ rng.standard_normal((4, 8))
for name, dW in (("embedding", from_embedding), ("output projection", from_logits)):
    print(f"{name}: {(dW != 0).any(axis=1).sum()} of 1,000 rows")

# %% [markdown]
# The embedding moves the tokens that were there. The output projection moves all: those that were right towards $h$,
# the others away from it.
#
# ## Break it
#
# How much does a lost repeat cost? On the copy task letters repeat. (`math.sqrt`, because the model computes in
# float32: `np.sqrt` of a number is a float64, and makes float64 of an array of float32 that it multiplies.)
# **Predict:** does the loss with `+=` fall, and how far is it behind after 100 steps?


# %%
def lossy_backward(self, dy, cache):
    self.weight.grad[cache.ids] += math.sqrt(dy.shape[-1]) * dy


right = train(steps=100).losses
wrong = train(plugged(layers.Embedding.backward, lossy_backward), steps=100).losses
figure, axes = plt.subplots(figsize=(4.8, 2.8), layout="constrained")
axes.plot(right, color="black", label="repeats are added")
axes.plot(wrong, color="tab:red", linestyle="--", label="repeats are lost")
axes.set_xlabel("training step")
axes.set_ylabel("loss for each token")
axes.legend()
print(f"after 100 steps: right {right[-1]:.3f}, lost repeats {wrong[-1]:.3f}")

# %% [markdown]
# The wrong one falls, too, a little behind: a gap that people blame on the learning rate. The output projection gives the
# same table a right gradient, and that carries most of the learning. The check needs a repeated token:


# %%
class Lossy(layers.Embedding):
    backward = lossy_backward


two_sentences = np.array([[0, 1, 2, 0, 3], [0, 3, 2, 0, 1]])
print(gradcheck(Lossy(4, 6, rng), [two_sentences], name="lossy").findings["lossy"])

# %% [markdown]
# ## Exercises
#
# `minitransformer learn start 2` writes this page into your folder, followed by three functions with blanks. Fill
# one, save, and ask `minitransformer learn check`. When `embedding_backward` passes, let it train a model:
# `minitransformer learn plug embedding_backward`.
#
# **Read next:** `Embedding` in `minitransformer/layers/embedding.py`, and how it sums repeats in the same order every
# time.

# %% [exercise] embedding

# %% [exercise] embedding_backward

# %% [exercise] tied_backward
