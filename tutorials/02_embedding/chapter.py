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
# In "the dog chased the cat" the word *the* occurs twice. Its vector gets a gradient from the first place and another one
# from the second. You write `dW[ids] += dy` in NumPy, and one of the two is gone, without an error and without a warning.
# Why? And how does a model notice?

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck, layers, plugged
from minitransformer_course import lab, yours
from minitransformer_course.judge.plug import train

lab.you_are_here("embedding")
rng = np.random.default_rng(0)

# %% [markdown]
# ## A table of vectors
#
# A *token* is a string, and a *token id* is its number in the vocabulary. A table $W$ of shape $(V, d_{model})$ holds one
# vector for each of the $V$ ids, and the embedding looks up one row for each token. The ids of $B$ sentences of $T$ tokens
# have shape $(B, T)$, so the vectors have shape $(B, T, d_{model})$.
#
# The same table is used again at the end of the model (see below), in sums of $d_{model}$ products. To keep these sums near
# size 1, the numbers in $W$ are drawn with standard deviation $1/\sqrt{d_{model}}$. At the beginning, the model adds a
# vector for the position (chapter 3), made of sines and cosines of size 0.71.
#
# **Predict:** for $d_{model} = 512$, by what factor are the numbers of the position larger than those of the token?

# %%
for d_model in (4, 64, 512):
    size = layers.Embedding(1000, d_model, rng).weight.data.std()
    print(f"d_model {d_model:3}: token {size:.3f}, position {math.sqrt(0.5):.3f}, {math.sqrt(0.5) / size:4.1f} times as large")

# %% [markdown]
# The positions would drown the tokens. The paper multiplies each row by a factor and does not say why. Choose the factor that
# gives the numbers size 1, whatever $d_{model}$ is.
#
# **By hand.** For $d_{model} = 4$ the numbers of $W$ are of size 0.5. If the row of *the* is $(0.5, 0, -0.5, 0)$, then *the*
# becomes $(1, 0, -1, 0)$, in both places where it occurs. What is the factor for 512?

# %% [exercise] embedding

# %% [derivation]
# Multiplying numbers by a factor multiplies their standard deviation by the same factor. The deviation is
# $1/\sqrt{d_{model}}$ before and 1 after, so the factor is $\sqrt{d_{model}}$, which is 22.6 for 512:
#
# $$ y_{bt} = \sqrt{d_{model}}\; W_{ids_{bt}} \qquad (B, T, d_{model}) $$
#
# NumPy looks up rows with an array of ids of any shape: `W[ids]` has shape $(B, T, d_{model})$ if the ids have shape
# $(B, T)$.

# %% [markdown]
# ## Two arrows into one row
#
# The forward copies each row to every place where its token occurs. The backward sends the gradient of each place back
# along the same arrow.

# %%
sentence = "the dog chased the cat".split()
vocabulary = {"the": 0, "dog": 1, "chased": 2, "cat": 3}
ids = np.array([[vocabulary[token] for token in sentence]])    # (B, T) = (1, 5)
figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
lab.show_lookup(axes, sentence, ids[0], list(vocabulary))

# %% [markdown]
# Let the upstream gradient be $(1, 0, 0, 0)$ at the first *the*, $(0, 2, 0, 0)$ at the second, and 0 elsewhere, in a table
# with $d_{model} = 4$.
#
# **Predict:** what is the gradient of the row for *the*, which the forward multiplies by 2? The cell measures it by
# nudging the row's four numbers.

# %%
W, dy = rng.standard_normal((4, 4)) / 2, np.zeros((1, 5, 4))
dy[0, 0], dy[0, 3] = [1, 0, 0, 0], [0, 2, 0, 0]
measured = [(dy * (embedding(ids, W + nudge) - embedding(ids, W))).sum() / 0.01
            for nudge in 0.01 * np.eye(16).reshape(16, 4, 4)[:4]]
print("measured:          ", np.round(measured, 6) + 0)
dW = np.zeros((4, 4))
dW[ids] += 2 * dy
print("dW[ids] += 2 * dy: ", dW[0])

# %% [markdown]
# The second line has lost a gradient. `dW[ids] += dy` means `dW[ids] = dW[ids] + dy`, so NumPy reads the row for *the*
# twice and adds a different gradient to each copy. It then writes both copies back to the same place, where the last one
# wins.
#
# How you avoid this is up to you (a loop over the places, or `np.add.at`), but your answer must keep one rule. Each place
# gives its gradient to exactly one row, so the sum of $dW$ over all rows equals the sum of `dy` over all places, apart
# from the factor.

# %% [exercise] embedding_backward

# %% [derivation]
# Write each id as a row of zeros with a single 1, its *one-hot* vector. Then the lookup is a matrix product,
# $y = \sqrt{d_{model}}\; \text{onehot}\; W$, which is a linear layer without a bias. You derived its gradient in chapter 1:
#
# $$ dW = \sqrt{d_{model}}\; \text{onehot}^\top dy \qquad (V, B\,T)(B\,T, d_{model}) $$
#
# Row $v$ of this product picks the places where the one-hot vector has its 1 at $v$:
#
# $$ dW_v = \sqrt{d_{model}} \sum_{b, t:\ ids_{bt} = v} dy_{bt} \qquad (d_{model},) $$
#
# Computing the product itself would waste most of the time on zeros. `np.add.at(dW, ids, dy)` adds the places one after the
# other, and a loop over the places does the same. The library uses neither, because the first cannot run on complex numbers
# on a GPU and the second is slow. Instead, it sorts the ids and sums runs of equal ones.

# %% [markdown]
# ## Prove it
#
# The check needs a sentence in which a token occurs twice.


# %%
class Mine(layers.Embedding):
    def backward(self, dy, cache):
        self.weight.grad += embedding_backward(dy, cache.ids, self.weight.data)    # yours, once it passes


def lossy(self, dy, cache):
    self.weight.grad[cache.ids] += math.sqrt(dy.shape[-1]) * dy


print(gradcheck(Mine(4, 6, rng), [ids]))
with plugged(layers.Embedding.backward, lossy):
    print(gradcheck(layers.Embedding(4, 6, rng), [ids], name="lossy").findings["lossy"])

# %% [markdown]
# ## Break it
#
# How much does a lost repeat cost in training? We train the small model of chapter 1 again. Its batches are full of
# repeats, because they are made of only 26 letters.
#
# **Predict:** early on, a model may have learned that the answer is one of 26 letters, but nothing else. What is its loss
# at that point, the negative natural logarithm of the probability that it gives to the right letter?

# %%
right = train(steps=200).losses
wrong = train(plugged(layers.Embedding.backward, lossy), steps=200).losses
figure, axes = plt.subplots(figsize=(5.4, 3.2), layout="constrained")
lab.show_losses(axes, {"right": right, "lost repeats": wrong}, level=(math.log(26), f"ln 26 = {math.log(26):.2f}"))

# %% [markdown]
# The two curves rest on a *plateau* at 3.26 between steps 15 and 35, where the model knows that the answer is a letter but does
# not yet know which one. If a plateau lies at the logarithm of a number of choices, you can tell what the model has understood
# so far.
#
# After step 120 the red curve falls behind. Here are the mean losses over steps 181 to 200 for three seeds, from
# `research/experiments/wrong_gradients.py`:
#
# | seed | right | lost repeats |
# |---|--:|--:|
# | 0 | 0.35 | 0.40 |
# | 1 | 0.31 | 0.44 |
# | 2 | 0.30 | 0.38 |
#
# Each row is left with the gradient of one place out of many, which is smaller and noisier than the sum, so the model
# learns the same thing more slowly.
#
# ## The same table at the end
#
# After its last layer the model has a *hidden state* $h$ for each position, a vector of $d_{model}$ numbers. From it, the model
# has to compute a *logit* for each token in the vocabulary, which is a score that softmax turns into a probability. The paper
# uses the same table again (*weight sharing*) and computes $\text{logits} = h W^\top$, where $h$ has shape $(N, d_{model})$. A
# token is likely if its vector points where $h$ points.

# %% [exercise] tied_backward

# %% [derivation]
# With indices, $\text{logits}_{nv} = \sum_d h_{nd} W_{vd}$. The number $h_{nd}$ touches the logits of all tokens $v$ at its
# own position, and $W_{vd}$ touches the logits of its own token at all positions $n$:
#
# $$ dh_{nd} = \sum_v d\text{logits}_{nv} W_{vd} \quad\Longrightarrow\quad dh = d\text{logits}\; W \qquad (N, V)(V, d_{model}) $$
#
# $$ dW_{vd} = \sum_n d\text{logits}_{nv} h_{nd} \quad\Longrightarrow\quad dW = d\text{logits}^\top h \qquad (V, N)(N, d_{model}) $$

# %% [markdown]
# The model that writes *drawkcab* has a single table and uses it three times: for the letters that it reads, for those that
# it has written, and for the logits. The gradients of these uses are added (chapter 1b). The next cell separates them for
# *banana*: it computes the gradient first with all three uses and then without the two of the embedding.
#
# **Predict:** how many of the 26 letters get a gradient from the embedding, and how many from the logits?


# %%
def table_gradient():
    model, letters = lab.drawkcab()
    lab.add_gradients(model, letters, "banana")
    return model.source_embedding.weight.grad[letters.encode("abcdefghijklmnopqrstuvwxyz")]    # (26, 32)


together = table_gradient()
with plugged(layers.Embedding.backward, lambda self, dy, cache: None):
    at_the_end = table_gradient()
figure, axes = plt.subplots(2, sharex=True, figsize=(6, 3.6), layout="constrained")
for one, gradient, name in zip(axes, (together - at_the_end, at_the_end), ("embedding", "logits")):
    one.bar([*"abcdefghijklmnopqrstuvwxyz"], np.sqrt((gradient * gradient).sum(axis=1)), color="tab:purple")
    one.set_ylabel(f"{name}:\nlength of gradient")
label = axes[1].set_xlabel("row of the table")

# %% [markdown]
# The embedding moves only the rows of the letters in the word. The logits move every row, those of the right letters
# towards $h$ and all others away from it.
#
# ## Your Transformer

# %%
lab.run_yours("2")

# %% [markdown]
# **Read next:** `Embedding` in `minitransformer/layers/embedding.py`, and how it sums repeats in the same order every time.
