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

# %%
from minitransformer_course import lab, yours

lab.you_are_here("positions")

# %% [markdown]
# The model of this book reads a word and writes it backwards: give it *stressed*, and it writes *desserts*. The two words
# hold the same eight letters, and the embedding of chapter 2 gave each letter its vector without asking where the letter
# is. So how does the model know which of the two words it is reading?
#
# **Predict:** suppose we take away whatever tells the trained model where a letter is, and let it read *stressed* and
# *desserts*. Does it write two different answers, or the same answer twice?

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import functional, gradcheck, plugged

model, vocabulary = lab.drawkcab()


# %%
def nowhere(length, d_model, xp=np, dtype="float64"):    # called as functional.sinusoids is
    return np.zeros((length, d_model), dtype)


words = "stressed", "desserts"
print("the trained model: ", [lab.write(model, vocabulary, word) for word in words])
with plugged(functional.sinusoids, nowhere):
    print("without positions: ", [lab.write(model, vocabulary, word) for word in words])

# %% [markdown]
# The model reads with attention, which chapter 5 opens up, and attention takes weighted means of vectors. A mean does not
# depend on the order of its terms, so both words look the same to it. The vectors themselves therefore have to say where they
# are. To each embedding, the model adds its *positional encoding*, a vector that depends only on the position.
#
# $$ y_t = x_t + PE_t $$
#
# ## A row of clocks
#
# How would you write a position as numbers? If you count 0, 1, 2, ..., then the number for position 500 drowns out every
# word. Bits are better: the last bit changes at every step, the one before it half as often, and no number is ever larger
# than 1. The paper's table is a smooth version of bits, in which each *pair* of columns is the hand of a clock. The sine
# says how far the hand points to the right, and the cosine how far it points up. All hands start at the top, and each clock
# turns more slowly than the one before it. The number of positions that a hand needs for one full turn is its *wavelength*.
#
# **By hand**, for $d_{model} = 4$: there are two clocks, with wavelengths $2 \pi \approx 6.28$ and $200 \pi \approx 628$. At
# position 0 both hands point up, so the row is $(0, 1, 0, 1)$. At position 1 the first hand has made $1 / 6.28$ of a turn,
# which is an angle of 1, and the second $1 / 628$ of a turn, which is an angle of 0.01. The row is therefore $(\sin 1, \cos 1,
# \sin 0.01, \cos 0.01)$, or $(0.84, 0.54, 0.01, 1.00)$.
#
# Here are the four clocks for $d_{model} = 8$ at the first eight positions.

# %%
right, up = functional.sinusoids(8, 8).reshape(8, 4, 2).T    # each (4, 8): of each clock, at each position
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
t, i = np.meshgrid(range(8), range(4))
axes.scatter(t, i, s=1200, facecolors="white", edgecolors="lightgray")
axes.quiver(t, i, right, up, scale=22, width=0.006)
axes.set(xlim=(-0.5, 7.5), ylim=(3.5, -0.5), aspect="equal", xlabel="position")
axes.set_yticks(range(4), [f"clock {i}: columns {2 * i}, {2 * i + 1}" for i in range(4)])
axes.set_title("how far to the right: the sine; how far up: the cosine", fontsize=10)
axes.spines[:].set_visible(False)

# %% [markdown]
# Clock 0 makes more than one turn and clock 1 a ninth of a turn, while the other two seem to stand still. They are waiting
# for longer texts, since their wavelengths are 628 and 6,283. Each wavelength is the same multiple of the one before it,
# and once you know the wavelengths, you know all that you need to fill the table.

# %% [exercise] sinusoids

# %% [derivation]
# **The rule: an angle is the fraction of a turn that has been made, times $2 \pi$.** One turn takes a wavelength of
# $\lambda_i = 2 \pi \cdot 10000^{2i / d_{model}}$ positions, so $t$ positions make $t / \lambda_i$ turns:
#
# $$ \text{angle}_{t, i} = 2 \pi \, \frac{t}{\lambda_i} = t \cdot 10000^{-2i / d_{model}} = t \, \omega_i $$
#
# The $2 \pi$ cancels, and $\omega_i = 10000^{-2i / d_{model}}$ is the *frequency* of the clock. This is the formula that
# the paper prints:
#
# $$ PE_{t, 2i} = \sin(t\, \omega_i), \qquad PE_{t, 2i+1} = \cos(t\, \omega_i) $$
#
# In arrays, the positions as a column, $(T, 1)$, times the frequencies as a row, $(d_{model} / 2)$, give all the angles,
# $(T, d_{model} / 2)$. Their sines fill every second column of the table, $(T, d_{model})$, starting with column 0, and
# their cosines fill the columns between.

# %% [markdown]
# **Predict:** the paper says that the wavelengths go from $2 \pi$ to $10000 \cdot 2 \pi = 62{,}832$. Does the slowest clock for
# $d_{model} = 512$ need exactly that many positions for a turn, or fewer?

# %%
wavelengths = 2 * math.pi * 10000.0 ** (np.arange(0, 512, 2) / 512)
print(f"the fastest clock {wavelengths[0]:.2f}, the slowest {wavelengths[-1]:,.0f}")
figure, (table, waves) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
image = table.imshow(sinusoids(np.arange(100), 512), cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
table.set(xlabel="column of the table", ylabel="position")
bar = figure.colorbar(image, ax=table, label="sine or cosine")
waves.semilogy(wavelengths, color="black")
waves.set(xlabel="pair of columns", ylabel="positions for one turn")
waves.axhspan(1, 100, color="gold", alpha=0.4, label="a text of 100 words")
shown = waves.legend(fontsize=9)

# %% [markdown]
# The last exponent is 510/512, so the slowest clock does not quite reach the paper's number. On the left is the table itself,
# as a *heat map*. The fast clocks make stripes at its left edge, and from the middle on, a column hardly changes within 100
# positions. In a text of 100 words, only the clocks in the yellow band make a full turn, and these tell neighbours apart. The
# slower ones tell the beginning of a long text from its end. A row says where a token is in its sequence, and nothing about
# which sentence that is.
#
# ## Walking is turning
#
# The paper's authors chose sines because they hoped that a model could then learn to look, say, three places back. For
# that, the row of position $t - 3$ has to follow from the row of position $t$ by one rule that is the same for all $t$.
# Look at the clocks again: whenever you walk one position further, the hand of clock $i$ turns by the same angle, wherever
# it pointed before.
#
# In this exercise you are given rows of the table without their positions, and you compute the rows that are $k$ positions
# further on. Two checks are free: no hand may change its length, and walking $k$ steps forward and then $k$ steps back must
# bring you home.

# %% [exercise] rotate_positions

# %% [derivation]
# **The rule: the addition formulas.** Write $a = t\, \omega_i$ for the angle of the old hand, which is unknown, and
# $b = k\, \omega_i$ for the turn, which is known:
#
# $$ \sin(a + b) = \sin a \cos b + \cos a \sin b $$
#
# $$ \cos(a + b) = \cos a \cos b - \sin a \sin b $$
#
# The right-hand sides need $\sin a$ and $\cos a$, each $(T, d_{model} / 2)$, which you find in the row of $t$. They also
# need $\cos b$ and $\sin b$, each $(d_{model} / 2)$, which are the same for every $t$. The angle $a$ itself is never
# needed. Each pair is multiplied by a rotation matrix, so $PE_{t + k}$ is a linear function of $PE_t$, and it is the same
# function at every position:
#
# $$ \begin{pmatrix} \sin(a + b) \\ \cos(a + b) \end{pmatrix} =
# \begin{pmatrix} \cos b & \sin b \\ -\sin b & \cos b \end{pmatrix} \begin{pmatrix} \sin a \\ \cos a \end{pmatrix} $$
#
# A linear layer can learn such a matrix. In chapter 5 you write one yourself.

# %% [markdown]
# Two hands that turn together keep the angle between them. **Predict:** the rows of positions 10 and 13 have some dot
# product. Do the rows of positions 80 and 83 have the same one, or a different one?

# %%
PE = sinusoids(np.arange(100), 64)
moved = rotate_positions(PE[10:14], 70)    # 10, 11, 12, 13 walk to 80, 81, 82, 83
print("walked, not looked up: error", np.abs(moved - PE[80:84]).max().round(12))
print("dot products:", (PE[10] @ PE[13]).round(6), (moved[0] @ moved[3]).round(6))
figure, axes = plt.subplots(figsize=(4.8, 2.8), layout="constrained")
for t, style, color, width in ((20, "-", "silver", 5), (50, "--", "black", 1.5)):
    axes.plot(np.arange(-15, 16), PE[t - 15:t + 16] @ PE[t], style, color=color, linewidth=width,
              label=f"from position {t}")
axes.set(xlabel="distance: how many positions away the other row is", ylabel="dot product of the two rows")
shown = axes.legend()

# %% [markdown]
# The dot product of two rows depends only on their distance: it is largest at distance 0 and falls off in the same way on both
# sides. In chapter 5 the model decides by dot products, too, but first it multiplies each row by a matrix. Without these
# matrices it could see nothing of two positions but their distance. With them it can see more, as you will show.
#
# ## Learned positions
#
# The paper also tried another way, with nearly identical results: it replaced the sinusoids with a table $W$ of parameters
# that has one row for each of at most $L$ positions, so $y_t = x_t + W_t$. Such a table needs a gradient, and you saw with
# the embedding of chapter 2 what happens to a row that many tokens use.

# %% [exercise] learned_positions_backward

# %% [derivation]
# **The rule: a parameter collects the gradient of everything that it touches.** The forward does nothing to $x$ but add to
# it, so $dx = dy$, of shape $(B, T, D)$. Row $t$ of $W$ is added at position $t$ of *every* sentence in the batch, so its
# gradient is the sum over the sentences:
#
# $$ dW_t = \sum_b dy_{b, t} $$
#
# If $dy$ at position 0 is 3 in one sentence and 4 in the other, $dW_0 = 7$. Rows after the last position touch nothing, so
# they get 0. They are not left out, because $dW$ has the shape of $W$, $(L, D)$.

# %% [markdown]
# **Prove it.** Instead of a layer, `gradcheck` also accepts a pair of functions: a forward that returns $y$ and a cache,
# and your backward.

# %%
rng = np.random.default_rng(0)
report = gradcheck((lambda x, W: (x + W[:x.shape[1]], W), learned_positions_backward),
                   [rng.standard_normal((2, 3, 4)), rng.standard_normal((7, 4))], name="learned positions")
print(report)
assert report.passed

# %% [markdown]
# ## Beyond the trained length
#
# A learned table ends with row $L - 1$, while the sinusoids never end: there is a row for position 13, and one for position
# 60,000. The model of this book was trained on words of up to 12 letters. **Predict:** it reverses random words of 12
# letters without a mistake. Does it get more than half of 20 words of 13 letters right, or fewer?


# %%
def exact(length):
    """The share of 20 random words of this length that the model writes backwards without a mistake."""
    draw = np.random.default_rng(length)
    words = ["".join(draw.choice(list("abcdefghijklmnopqrstuvwxyz"), length)) for _ in range(20)]
    return np.mean([lab.write(model, vocabulary, word) == word[::-1] for word in words])


for length in (4, 8, 12, 13, 16):
    print(f"{length:2} letters: {exact(length):4.0%} of the words")

# %% [markdown]
# One more letter is enough. The table has the row, but no training word ever used it, and the layers above it have never seen
# the slow hands point where they point now. That sinusoids extrapolate to longer texts is something that the paper hoped for,
# not something that it found.
#
# ## Why added, and not appended?
#
# If the position's numbers were placed *beside* the word's, the two would stay separate, but every matrix that reads them
# would have to be larger. A sum costs nothing, and with 512 dimensions it loses little, because two vectors drawn at random
# are nearly orthogonal, so a layer can read one and ignore the other.

# %%
words, places = rng.standard_normal((1000, 512)), sinusoids(np.arange(1000), 512)
cosines = (words * places).sum(axis=1) / np.sqrt((words ** 2).sum(axis=1) * (places ** 2).sum(axis=1))
print(f"cosine of word and position: typically {np.abs(cosines).mean():.3f}, at most {np.abs(cosines).max():.3f}")

# %% [markdown]
# ## Break it
#
# The paper counts positions from 0. The library fairseq counts from the id of padding plus one (its issue 1177), so that the
# first position is 2 in many of its models. If you train with one kind and run with another, every letter gets the row of a
# neighbour, but all distances between positions are still right. **Predict:** does the trained model still write *desserts*, or
# something else?


# %%
def from_one(length, d_model, xp=np, dtype="float64"):
    return sinusoids(np.arange(1, length + 1), d_model).astype(dtype)


with plugged(functional.sinusoids, from_one):
    print([lab.write(model, vocabulary, word) for word in ("stressed", "desserts", "backward")])

# %% [markdown]
# To write letter $t$ of a word of $n$ letters, the model has to read letter $n - 1 - t$, so what counts here is not the
# distance between the two positions but their sum. Distances survive the shift, while a sum grows by 2 when both of its terms
# grow by 1. If you load weights that someone else trained, compare the position tables first.
#
# ## Your Transformer

# %%
lab.run_yours("3")

# %% [markdown]
# **Read next:** `sinusoids` in `minitransformer/functional/positions.py`, then `LearnedPositions` in
# `minitransformer/layers/positions.py`.
