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
# # 16. Why self-attention

# %%
from minitransformer_course import lab, yours

lab.you_are_here("attention", "heads")

# %% [markdown]
# Section 4 of the paper says that self-attention is faster than a recurrent layer as long as the length $n$ of the sequence is
# below the width $d$ of its vectors, and Table 1 supports this with a count of operations. In this chapter you audit the
# sentence twice, with a clock and with a count of your own. They will contradict each other. Which one is wrong: the paper, the
# clock or the count?

# %%
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from minitransformer.layers import SelfAttention
from minitransformer.zoo.baselines import RNN
from minitransformer_course.lab.table_1 import KERNEL, KINDS, RADIUS, at_steps, count

rng = np.random.default_rng(0)

# %% [markdown]
# ## The clock
#
# The next cell measures both layers at $d = 64$, on one sequence of $n$ vectors. **Predict:** if the paper is right, up to which
# length is self-attention faster?


# %%
def seconds(layer, n, sequences=1, d=64, rounds=5):
    """The fastest of several forward passes."""
    x, times = rng.standard_normal((sequences, n, d)).astype(np.float32), []
    for _round in range(rounds):
        start = perf_counter()
        layer.forward(x)
        times.append(perf_counter() - start)
    return min(times)


attention, recurrent = SelfAttention(64, 1, rng), RNN(64, 64, rng)
for n in (32, 64, 128, 256, 512, 1024):
    print(f"n = {n:5,}: self-attention {1e3 * seconds(attention, n):6.2f} ms, recurrent {1e3 * seconds(recurrent, n):6.2f} ms")

# %% [markdown]
# By the paper's rule, the recurrent layer should win from 64 on. On the machines that we tried, it
# needed several hundred. (Measured with the gradients and on another machine, it was [about
# 1,300](../../research/benchmarks/table_1.md).)
#
# ## The count
#
# Here is Table 1, plus the separable convolution of section 4. A kernel covers $k$ positions, and each query of restricted
# attention meets $r$ keys. Sequential steps are those that have to run one after another. The longest path is the
# number of layers or steps between the two positions that are hardest to connect.
#
# | layer | multiplications | sequential steps | longest path |
# |---|---|---|---|
# | self-attention | $O(n^2 d)$ | $O(1)$ | $O(1)$ |
# | recurrent | $O(n d^2)$ | $O(n)$ | $O(n)$ |
# | convolutional | $O(k n d^2)$ | $O(1)$ | $O(\log_k n)$ |
# | separable | $O(k n d + n d^2)$ | $O(1)$ | $O(\log_k n)$ |
# | self-attention, restricted | $O(r n d)$ | $O(1)$ | $O(n / r)$ |
#
# Big-O notation drops constant factors and smaller terms, so it cannot say which layer is faster at a given size. For that, you
# need the exact number.
#
# **By hand.** Take $n = 3$ vectors of width $d = 2$. A linear layer from 2 to 2 numbers computes 4 products for each vector, or
# 12 in all. The score of one query and one key is a sum of 2 products, and there are 9 pairs, so the scores take 18 products.

# %% [exercise] multiplications

# %% [derivation]
# **The rule: a matrix product $(a, b) \times (b, c)$ takes $a\, b\, c$ multiplications**, because each of its $a\, c$ numbers
# is a sum of $b$ products. The rest is a list of shapes.
#
# | layer | its products | multiplications |
# |---|---|---|
# | self-attention | four times $(n, d) \times (d, d)$; $(n, d) \times (d, n)$; $(n, n) \times (n, d)$ | $4 n d^2 + 2 n^2 d$ |
# | recurrent | $(n, d) \times (d, d)$; $n$ times $(1, d) \times (d, d)$ | $2 n d^2$ |
# | convolutional | $(n, k d) \times (k d, d)$ | $k n d^2$ |
# | separable | $d$ times $(n, k) \times (k, 1)$; $(n, d) \times (d, d)$ | $k n d + n d^2$ |
# | restricted | four times $(n, d) \times (d, d)$; twice $n$ times $r$ pairs of $d$ numbers | $4 n d^2 + 2 n r d$ |
#
# The paper's table leaves out the four linear layers of self-attention and, in the recurrent layer, the product with the input.

# %% [markdown]
# Does the code do what the formulas say? The next cell runs the library's layers on arrays that note every matrix product: how
# many multiplications it takes, and how many other products it had to wait for.

# %%
n, d = 96, 64
yours_counted = multiplications(*np.array([[n], [d], [KERNEL], [2 * RADIUS + 1]]))
for (name, kind), own in zip(KINDS.items(), yours_counted):
    counted, steps = count(kind.make(d), n, d)
    print(f"{name:15} counted {counted:9,}, yours {own[0]:9,}, ratio {counted / own[0]:.3f}, {steps} steps")

# %% [markdown]
# The restricted layer computes a few pairs that it then masks, so its count alone exceeds yours. Now compare the first two rows.
# Their difference, $2 n d^2 + 2 n^2 d$, is positive for every $n$, so by the count the recurrent layer should *always* win. By
# the clock, it loses up to a length of several hundred.
#
# ## What the count leaves out
#
# The last column of the output counts the products that had to run one after another. **Predict:** with eight heads instead of
# one, are there more multiplications or fewer? Are there more steps or fewer?

# %%
layers = {"one head": attention, "eight heads": SelfAttention(64, 8, rng), "recurrent": recurrent}
figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
lab.costs.show_steps(panels, {name: at_steps(layer, n, d) for name, layer in layers.items()})
for name, layer in layers.items():
    print(f"{name:11} {count(layer, n, d)}")

# %% [markdown]
# Eight heads compute eight times as many scores, each from an eighth as many numbers. So it is not the heads that make attention
# parallel: all positions can be computed at once because none waits for the one before it. The recurrent layer multiplies all its
# inputs in one step and then needs 95 small products, one after another, each of which takes the time of a call, however little
# it multiplies.
#
# If this explains the clock, there is a test. With $B$ sequences in a batch, a step multiplies $B$ times as much and waits as
# often as before. **Predict:** with 8 sequences instead of one, does a step take eight times as long? Which layer is faster at
# $n = 128$ with 64 sequences?

# %%
for sequences in (1, 8, 64):
    one, other = (seconds(layer, 128, sequences) for layer in (recurrent, attention))
    print(f"{sequences:2} sequences: {1e6 * one / 128:4.0f} µs for a recurrent step; self-attention takes {other / one:.1f} times "
          "as long as the recurrent layer")

# %% [markdown]
# A small step is mostly overhead, which a batch pays only once. Once each step has enough to multiply, the clock agrees with the
# count, and the recurrent layer is faster. So neither of them is wrong. The clock measures multiplications and waiting, the
# count knows only multiplications, and how much waiting costs depends on how much the processor could do meanwhile.
#
# Two earlier remedies were *factorisation tricks*, which replace a large matrix by the product of two smaller ones, and
# *conditional computation*, which runs only some parts of the network for each token. Both remove multiplications, and neither
# removes a step.
#
# How much *training time* do parallel steps save? With 1.4 million parameters and 2,500 updates on Multi30K, a Transformer took
# 296 seconds and an LSTM with attention 332 (medians of three seeds, `research/experiments/table_3.md`). Two cores and short
# sentences leave little to gain.
#
# ## Where n < d comes from
#
# The count does not explain the paper's sentence, either. Here are your numbers at $d = 512$, the width of its base model:

# %%
n = 2 ** np.arange(4, 15, dtype=np.int64)
full, one_state, convolution, separable, restricted = multiplications(n, 512 + 0 * n, 3 + 0 * n, 65 + 0 * n)
counts = {"self-attention": full, "recurrent": one_state, "LSTM": 4 * one_state, "convolution, k = 3": convolution,
          "separable, k = 3": separable, "restricted, r = 65": restricted}
figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
lab.costs.show_costs(axes, n, 512, counts)

# %% [markdown]
# The paper compares $n^2 d$ with $n d^2$, which cross at $n = d$, and leaves out self-attention's
# linear layers. With all products counted, self-attention costs less than an LSTM, which computes
# three gates and a candidate, until $n = 2 d$, and up to that length most of its cost is in the
# linear layers. In Table 1, a convolution costs $k$ times as much as a recurrent layer. By your
# count it is $k / 2$.
#
# The paper adds that a separable convolution "even with $k = n$" costs as much as self-attention and a feed-forward layer
# together. **Predict:** as $n$ grows, does the ratio of self-attention to the separable convolution stay bounded for $k = 3$, for
# $k = n$, or for both?

# %%
for name, k in (("k = 3", 3 + 0 * n), ("k = n", n)):
    ratio = full / multiplications(n, 512 + 0 * n, k, n)[3]
    print(f"{name}: self-attention / separable =", *ratio[::2].round(1))

# %% [markdown]
# For $k = n$ the ratio falls from 4 towards 2, and that is all that "equal" means in big-O notation.
#
# ## Layers are steps, too
#
# A convolution is cheap by the count and has no steps inside. Its price is in the last column of the table: each layer
# sees only a window, its *receptive field*, so a word that depends on a distant one (a *long-range dependency*) needs several
# layers, and layers wait for each other.
#
# **By hand.** A causal layer with $k = 2$ sees its own position and the one before. With a second such layer on top, the last
# position sees 3. If the second layer looks 2 back instead of 1 (a *dilation* of 2), the last position sees 4. Add a third that
# looks 4 back, and count again.

# %% [exercise] layers_needed

# %% [derivation]
# **The rule: every layer adds to the receptive field.** A layer of dilation $\delta$ looks $(k - 1)\,\delta$ positions further
# back than its inputs do. For $L$ plain layers,
#
# $$ 1 + L\,(k - 1) \geq n \quad\Longrightarrow\quad L = \left\lceil \frac{n - 1}{k - 1} \right\rceil $$
#
# With dilations $1, k, k^2, \dots$ the sum is geometric:
#
# $$ 1 + (k - 1)(1 + k + \dots + k^{L - 1}) = 1 + (k^L - 1) = k^L $$
#
# So $L$ is the smallest whole number with $k^L \geq n$, which is $\lceil \log_k n \rceil$. The number of positions that $L$
# layers see grows exponentially, so the path grows logarithmically. Both formulas count layers, and neither gives the cost of a
# layer.

# %%
before = np.arange(27)[:, None] - np.arange(27)    # how far back each position (row) has to look to see each other one
figure, panels = plt.subplots(2, 1, figsize=(8, 4.6), layout="constrained", sharex=True)
for axes, name, dilations in zip(panels, ("plain", "dilated"), ((1, 1, 1), (1, 3, 9))):
    lab.costs.show_stack(axes, [np.isin(before, (0, step, 2 * step)) for step in dilations], name)
for length in (27, 243, 10_000):
    print(f"n = {length:,}, k = 3: plain and dilated", layers_needed(length, 3))

# %% [markdown]
# Self-attention needs one layer at any length, which is what its $n^2$ buys. With $r$ keys for each query, restricted attention
# is between the two: it costs $r / n$ of the pairs, and needs $O(n / r)$ layers.
#
# ## What is known now
#
# "Faster if $n < d$" holds for the terms that Table 1 prints. With all products counted, the plain recurrent layer is cheaper at
# every length, and by the clock, self-attention was faster well beyond $n = d$, but only with one sequence at a time. Two
# reasons of the paper stand without any condition: no position waits for another, and every word is one layer away from every
# other. Section 4 ends with a fourth reason, that self-attention "could yield more interpretable models". The next chapter tests
# it.
#
# **Read next:** `restricted_attention_forward` in `minitransformer/zoo/attention/restricted.py`, and `Counted` in
# `minitransformer_course/lab/table_1.py`, the array that counts.
