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
# # 3. Positions: how a model knows who stands where
#
# "dog bites man" and "man bites dog" hold the same three words. An embedding gives each word its vector, and attention
# takes means of vectors. A mean does not depend on the order. So what tells the two sentences apart? With embeddings
# alone: nothing. This chapter adds what is missing.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import functional, gradcheck, greedy, make_batch, plugged
from minitransformer.layers import LearnedPositions, SelfAttention
from minitransformer.learn import yours
from minitransformer.learn.plug import train

rng = np.random.default_rng(0)

# %% [markdown]
# ## Attention does not know an order
#
# **Predict:** three tokens, of 8 numbers each, go through self-attention (chapter 5 opens this box). Then the same
# three in another order. How do the two outputs differ?

# %%
attention = SelfAttention(8, 2, rng)
x, order = rng.standard_normal((1, 3, 8)), [2, 0, 1]
y, _ = attention.forward(x)
shuffled, _ = attention.forward(x[:, order])
print("the same outputs, shuffled:", np.allclose(shuffled, y[:, order]))

# %% [markdown]
# Each token gets exactly what it got before, wherever it stands. Attention sums over all tokens, and a sum does not
# depend on the order of its terms. So the *vectors* must say where they stand: to each embedding the model adds a
# vector that depends on the position alone, $y_t = x_t + PE_t$.
#
# ## A row of clocks
#
# How would you write a position as numbers? As 0, 1, 2, ...: then position 500 drowns every word. As bits: 0 or 1,
# each column half as fast as the one before. The paper's table is a smooth version of bits. Each *pair* of columns is
# the hand of a clock, and each clock turns more slowly than the one before:
#
# $$ PE_{t, 2i} = \sin(t\, \omega_i), \quad PE_{t, 2i+1} = \cos(t\, \omega_i) $$
#
# $$ \omega_i = 10000^{-2i / d_{model}} $$
#
# **By hand**, for $d_{model} = 4$: the frequencies are $\omega_0 = 1$ and $\omega_1 = 10000^{-1/2} = 0.01$. Position
# 0 is $(0, 1, 0, 1)$. Position 1 is $(\sin 1, \cos 1, \sin 0.01, \cos 0.01)$, that is, $(0.84, 0.54, 0.01, 1.00)$. One
# clock has moved, the other one hardly.
#
# **Predict:** in a picture of the table, with a row for each position, where are the columns that change fast?

# %%
PE = functional.sinusoids(100, 64)    # (T, d_model)
print(functional.sinusoids(2, 4).round(2))
figure, axes = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
image = axes.imshow(PE, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
axes.set_xlabel("dimension: sines in even columns, cosines in odd ones")
axes.set_ylabel("position")
bar = figure.colorbar(image, label="value")

# %% [markdown]
# On the left, neighbours differ; on the right, only far positions do. Together the clocks name every position.
#
# ## Walking is turning
#
# To look "three places back", attention has to know how a position changes when you walk three places. With clocks,
# every hand turns by the same angle, wherever it started. From the addition formulas, with $a = t\, \omega$
# and $b = k\, \omega$,
#
# $$ \sin(a + b) = \sin a \cos b + \cos a \sin b $$
#
# $$ \cos(a + b) = \cos a \cos b - \sin a \sin b $$
#
# The right sides need $\sin a$ and $\cos a$, which are in the row of $t$, and $b$, which does not depend on $t$. So
# $PE_{t+k}$ is a *rotation* of $PE_t$, the same for every $t$: a matrix that one linear layer can learn.
#
# **Predict:** what is the dot product of the rows of 10 and 13, and of 80 and 83?

# %%
turn = 3 * 10000.0 ** (-np.arange(0, 64, 2) / 64)
rotated = np.empty((90, 64))
rotated[:, 0::2] = PE[:90, 0::2] * np.cos(turn) + PE[:90, 1::2] * np.sin(turn)
rotated[:, 1::2] = PE[:90, 1::2] * np.cos(turn) - PE[:90, 0::2] * np.sin(turn)
print("three steps on, by turning: error", np.abs(rotated - PE[3:93]).max().round(12))
print("dot products:", (PE[10] @ PE[13]).round(6), (PE[80] @ PE[83]).round(6))

# %% [markdown]
# They are equal: if two rows turn together, the angle between them stays. The dot product of two positions depends on
# their distance alone. **Predict:** what does its curve over the distance look like?

# %%
figure, axes = plt.subplots(figsize=(4.8, 2.8), layout="constrained")
for t, style, color, width in ((20, "-", "tab:gray", 5), (50, "--", "black", 1.5)):
    axes.plot(np.arange(-15, 16), PE[t - 15:t + 16] @ PE[t], style, color=color, linewidth=width,
              label=f"position {t}")
axes.set_xlabel("distance: how many places away the other position is")
axes.set_ylabel("dot product of the two rows")
legend = axes.legend()

# %% [markdown]
# ## Learned positions
#
# The other way is a table of parameters, $y_t = x_t + W_t$, of the shape $(L, d_{model})$ for at most $L$ places.
# Backward: $x$ is only added to, so $dx = dy$. Row $t$ touches place $t$ of every sentence of the batch, so
# $dW_t = \sum_b dy_{bt}$. Rows that were not used get 0. **By hand:** if $dy$ at place 0 is 3 in one sentence and 4 in the
# other, $dW_0 = 7$.
#
# ## Prove it

# %%
report = gradcheck(LearnedPositions(7, 4, rng), [rng.standard_normal((2, 3, 4))], name="learned positions")
print(report)
assert report.passed

# %% [markdown]
# ## Beyond the trained length
#
# A learned table has no row $L$. The sinusoids have a row for every position. Does that mean that a model can use it?
# Our model learns to copy up to 12 letters. **Predict:** how many of 20 letters does it copy?

# %%
trained = train()


# %%
def copied(length):
    """(50, length), True or False: which letters of 50 sequences the model copies to the right place."""
    draw = np.random.default_rng(length)
    sources = [draw.integers(3, 29, length).tolist() for _ in range(50)]
    answers = greedy(trained.model, make_batch([(source, source) for source in sources]).source)
    return np.array([[a == b for a, b in zip(source, list(answer) + [0] * length)]
                     for source, answer in zip(sources, answers)])


for length in (4, 8, 12, 16, 20):
    right = copied(length)
    behind = f", of the others {right[:, 12:].mean():4.0%}" if length > 12 else ""
    print(f"{length:2} letters: {right[:, :12].mean():4.0%} of the first twelve are right{behind}")

# %% [markdown]
# After the twelfth letter little is right. The table has a row for position 15, but the model never trained on it: the
# slow clocks stand where no training sentence saw them. This is why "sinusoids extrapolate" should be read with care.
#
# ## Why added, and not concatenated?
#
# If the position's numbers stood *beside* the word's, the two would be kept apart, but every matrix that reads them
# would have to be larger. A sum costs nothing. Is anything lost? In 512 dimensions there is room: two vectors drawn
# at random are nearly orthogonal, so a layer can read one and ignore the other. **Predict:** how large is the cosine of
# the angle between an embedding and a position, for $d_{model} = 512$?

# %%
words, places = rng.standard_normal((1000, 512)), functional.sinusoids(1000, 512)
cosines = (words * places).sum(axis=1) / np.sqrt((words ** 2).sum(axis=1) * (places ** 2).sum(axis=1))
print(f"typically {np.abs(cosines).mean():.3f}, at most {np.abs(cosines).max():.3f}")

# %% [markdown]
# ## Break it
#
# Take the positions away. When the model writes a letter, it still sees only the letters that it has written so far
# (the causal mask, chapter 6). **Predict:** what can it learn of the copy task?


# %%
def nowhere(length, d_model, xp=np, dtype="float64"):    # called as functional.sinusoids is
    return np.zeros((length, d_model), dtype)


wrong = train(plugged(functional.sinusoids, nowhere)).losses
for step in (1, 50, 100, 200):
    print(f"step {step:3}: with positions {trained.losses[step - 1]:.3f}, without {wrong[step - 1]:.3f}")

# %% [markdown]
# It learns which letters are there, and little of their order: after 200 steps its loss is ten times as large. Every
# gradient of this model is right: a gradient check proves derivatives, not ideas.
#
# ## Exercises
#
# `minitransformer learn start 3` writes this page into your folder, followed by three functions with blanks. Fill
# one, save, and ask `minitransformer learn check`. When `sinusoids` passes: `minitransformer learn plug sinusoids`.
#
# **Read next:** `sinusoids` in `minitransformer/functional/positions.py`, and `minitransformer/layers/positions.py`.

# %% [exercise] sinusoids

# %% [exercise] rotate_positions

# %% [exercise] learned_positions_backward
