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
# # 15. Why self-attention
#
# *한국어: 자기 어텐션 (self-attention), 순환 신경망 (recurrent network), 합성곱 (convolution), 장기 의존성 (long-range dependency),
# 표준 오차 (standard error).*

# %%
from minitransformer_course import lab, yours

lab.you_are_here("attention", "heads", "masks")

# %% [markdown]
# Section 4 of the paper says that self-attention is faster than a recurrent layer as long as the length $n$ is below the width
# $d$. We measured both layers at $d = 64$ (`benchmarks/table_1.md`). Self-attention was faster up to a length of about
# 1,300, which is twenty times $d$, although it performs more multiplications at *every* length. Which one is wrong: the paper,
# the clock or the count?
#
# The paper defends its design with two tables. Table 1 compares layers on paper, and Table 3 compares trained models. In this
# chapter you check the first by counting, and you learn which claims the second can support.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck
from minitransformer.layers import SelfAttention
from minitransformer.zoo.baselines import RNN, Convolution, RestrictedSelfAttention
from minitransformer_course.lab.table_1 import KERNEL, KINDS, RADIUS, at_steps, count

rng = np.random.default_rng(0)

# %% [markdown]
# ## Three positions by hand
#
# This is Table 1, plus the separable convolution from the text of section 4. A kernel covers $k$ positions, and each query of
# restricted attention meets $r$ keys. Sequential steps have to wait for each other. The longest path is the number of layers or
# steps between the two positions that are hardest to connect.
#
# | layer | multiplications | sequential steps | longest path |
# |---|---|---|---|
# | self-attention | $O(n^2 d)$ | $O(1)$ | $O(1)$ |
# | recurrent | $O(n d^2)$ | $O(n)$ | $O(n)$ |
# | convolutional | $O(k n d^2)$ | $O(1)$ | $O(\log_k n)$ |
# | separable | $O(k n d + n d^2)$ | $O(1)$ | $O(\log_k n)$ |
# | self-attention, restricted | $O(r n d)$ | $O(1)$ | $O(n / r)$ |
#
# Big-O notation hides constant factors and drops smaller terms, so it cannot say which layer is faster at a given size.
#
# **By hand.** Take $n = 3$ vectors of width $d = 2$. A linear layer from 2 to 2 numbers computes 4 products for each vector, or
# 12 in all. The score of one query and one key is a sum of 2 products, and there are 9 pairs, so the scores take 18 products
# together.

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
# A formula proves nothing about code, so the next cell runs the library's own layers on arrays that record every product they
# take part in:

# %%
n, d = 96, 64
yours_counted = multiplications(*np.array([[n], [d], [KERNEL], [2 * RADIUS + 1]]))
for (name, kind), own in zip(KINDS.items(), yours_counted):
    counted, steps = count(kind.make(d), n, d)
    print(f"{name:15} counted {counted:9,}, yours {own[0]:9,}, ratio {counted / own[0]:.3f}, {steps} steps")

# %% [markdown]
# Four ratios are 1. The fifth is larger because the restricted layer cuts the sequence into blocks and multiplies a few pairs
# that it then masks. The last column is the number of products that had to run one after another.
#
# One reading of the paper claims that many heads make self-attention cheaper, and another that they make it parallel.
# **Predict:** with eight heads instead of one, are there more multiplications, fewer, or the same number? Are there more steps,
# or fewer?

# %%
layers = {"one head": SelfAttention(64, 1, rng), "eight heads": SelfAttention(64, 8, rng), "recurrent": RNN(64, 64, rng)}
figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
lab.costs.show_steps(panels, {name: at_steps(layer, n, d) for name, layer in layers.items()})
for name, layer in layers.items():
    print(f"{name:11} {count(layer, n, d)}")

# %% [markdown]
# Neither number changes. Eight heads compute eight times as many scores, each from an eighth as many numbers. A processor can
# work on all positions at once because no position waits for the one before it. The recurrent layer performs fewer
# multiplications, but in 96 portions, one after another. The first one is large, because the inputs of all positions are
# multiplied together. That answers the first question: these steps take time on the clock, and the count ignores them.
#
# ## Where n < d wins
#
# Which comparison did the paper make, then? Here are the counts at $d = 512$, the width of its base model:

# %%
n = 2 ** np.arange(4, 15)
self_attention, recurrent, convolution, separable, restricted = multiplications(n, 512 + 0 * n, 3 + 0 * n, 65 + 0 * n)
counts = {"self-attention": self_attention, "recurrent": recurrent, "LSTM": 4 * recurrent, "convolution, k = 3": convolution,
          "separable, k = 3": separable, "restricted, r = 65": restricted}
figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
lab.costs.show_costs(axes, n, 512, counts)

# %% [markdown]
# It compared $n^2 d$ with $n d^2$, which cross at $n = d$. With all products counted, self-attention never costs less than the
# plain recurrent layer. It costs less than an LSTM, which has four gates to compute, until $n = 2 d$, and up to that length
# most of its cost is in the linear layers.
#
# The paper adds that a separable convolution "even with $k = n$" costs as much as self-attention and a feed-forward layer
# together. One reading concludes that the two are "similar in cost". **Predict:** for which $k$ does their ratio stay bounded
# as $n$ grows: for $k = 3$, for $k = n$, or for both?

# %%
for name, k in (("k = 3", 3 + 0 * n), ("k = n", n)):
    ratio = self_attention / multiplications(n, 512 + 0 * n, k, n)[3]
    print(f"{name}: self-attention / separable =", *ratio[::2].round(1))

# %% [markdown]
# It stays bounded only for $k = n$, where it falls from 4 to 2 and no further. That is what "equal" means in big-O notation.
#
# ## Who sees whom
#
# The cheap layers pay in the last column of the table. If each layer sees only a window, it takes several layers before a word
# hears about a distant one.

# %% [exercise] window_masks

# %% [derivation]
# **The rule: everything depends only on the distance $t - u$** from the position $t$ that looks to the position $u$ that is
# seen. Row minus column gives it for all pairs, $(T, 1) - (T) \to (T, T)$. Restricted attention sees $|t - u| \leq$ radius,
# which is $2 \cdot \text{radius} + 1$ positions. With a dilation $\delta$, the kernel's positions lie
# $0, \delta, 2\delta, \dots, (k - 1)\,\delta$ back, so $t - u$ must be a multiple of $\delta$, at least 0 and below
# $k\, \delta$.

# %% [markdown]
# **Prove it** with the gradients of the library's layers. The gradient of one output reaches an input if and only if the
# output's position sees it. Blue marks what is seen:

# %%
restricted, dilated = window_masks(16, 3, 3, 4)
layers = {"restricted, radius 3": RestrictedSelfAttention(8, 2, np.random.default_rng(1), radius=3),
          "k = 3, dilation 4": Convolution(8, 8, rng, 3, dilation=4, causal=True)}
figure, panels = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
for axes, mask, (name, layer) in zip(panels, (restricted, dilated), layers.items()):
    lab.costs.show_sees(axes, mask, name)
    print(f"{name}: {(lab.costs.sees(layer.astype(float), 16, 8) == mask).mean():.0%} of all pairs agree")

# %% [markdown]
# **Break it.** Give full self-attention the same weights and your mask, and then a mask that leaves out the farthest neighbour
# on each side. Does the gradient check notice?

# %%
fast, full = (kind(8, 2, np.random.default_rng(1), **given).astype(float)
              for kind, given in ((RestrictedSelfAttention, {"radius": 3}), (SelfAttention, {})))
x = rng.standard_normal((1, 16, 8))
for mask in (restricted, window_masks(16, 2, 1, 1)[0]):
    report, difference = gradcheck(full, [x, mask], methods=["complex"]), full.forward(x, mask)[0] - fast.forward(x)[0]
    print(f"gradient check passed: {report.passed}, difference from the restricted layer {np.abs(difference).max():.0e}")

# %% [markdown]
# It passes both times, because the wrong layer computes the right gradient of the wrong function. Only a comparison with
# something you trust reveals the mistake.
#
# ## How many layers
#
# **By hand.** A causal layer with $k = 2$ sees its own position and the one before. Put a second such layer on top, and the
# last position sees 3 positions. If the second layer looks 2 back instead of 1, it sees 4. Add a third layer that looks 4 back,
# and count again.

# %% [exercise] layers_needed

# %% [derivation]
# **The rule: the reaches of stacked layers add.** A layer of dilation $\delta$ reaches $(k - 1)\,\delta$ positions further back
# than its inputs do. For $L$ plain layers,
#
# $$ 1 + L\,(k - 1) \geq n \quad\Longrightarrow\quad L = \left\lceil \frac{n - 1}{k - 1} \right\rceil $$
#
# With dilations $1, k, k^2, \dots$ the sum is geometric:
#
# $$ 1 + (k - 1)(1 + k + \dots + k^{L - 1}) = 1 + (k^L - 1) = k^L $$
#
# So $L$ is the smallest whole number with $k^L \geq n$, which is $\lceil \log_k n \rceil$. One reading of the paper says that
# ByteNet's path grows exponentially, and another calls $O(n / k)$ a complexity. What grows exponentially is the number of
# positions that $L$ layers see, so the path grows logarithmically. Both formulas count layers, and neither gives the cost of a
# layer.

# %%
figure, panels = plt.subplots(2, 1, figsize=(8, 4.6), layout="constrained", sharex=True)
for axes, name, dilations in zip(panels, ("plain", "dilated"), ((1, 1, 1), (1, 3, 9))):
    lab.costs.show_stack(axes, [window_masks(27, 0, 3, dilation)[1] for dilation in dilations], name)
for length in (27, 243, 10_000):
    print(f"n = {length:,}, k = 3: plain and dilated", layers_needed(length, 3))

# %% [markdown]
# Self-attention needs one layer at any length, and that is what it buys with its $n^2$.
#
# ## One change, two seeds
#
# In Table 3 the authors vary one choice at a time, and you can add a row of your own in ten minutes. The next cell trains the
# running example and a variation of it for 120 steps, with two seeds each. Edit the value of `change` as you like, for example
# to `{"d_model": 16}`, `{"d_ff": 32}` or `{"attention": "unscaled"}`.

# %%
change = {"num_heads": 2}    # half as many
base, row = (np.array([lab.costs.loss(seed, **given) for seed in (0, 1)]) for given in ({}, change))
for seed in (0, 1):
    print(f"seed {seed}: base {base[seed]:.2f}, changed {row[seed]:.2f}")

# %% [markdown]
# On our machine, seed 0 is worse with half the heads, and seed 1 is better, so with a single seed you could have published
# either result. What you need is the standard error of the difference.

# %% [exercise] differences

# %% [derivation]
# **First rule: a mean computed from the scores themselves hides part of their spread.** The sum of the squares around a row's
# own mean has expectation $(S - 1)\,\sigma^2$, so each row counts as one score fewer. Divide the sum over all rows by
# $(S_0 - 1) + R\,(S - 1)$. A real difference between rows does not count, because each row has its own mean:
#
# $$ s^2 = \frac{\sum_i (b_i - \bar b)^2 + \sum_{r, i} (x_{ri} - \bar x_r)^2}{(S_0 - 1) + R\,(S - 1)} $$
#
# **Second rule: variances of independent numbers add**, even when the numbers are subtracted. A mean of $S$ scores has variance
# $\sigma^2 / S$:
#
# $$ \text{error} = s\, \sqrt{\frac{1}{S_0} + \frac{1}{S}} $$
#
# `np.std` divides by $S$ unless you write `ddof=1`. With two seeds that makes the spread too small by a factor of 1.4.

# %%
difference, error = differences(base, row[None])
print(f"changed - base = {difference[0]:+.2f}, error {error:.2f}")

# %% [markdown]
# A difference of two standard errors is often called significant. **Predict** how often pure noise produces one, for a single
# variation and for 14 that share their spread: is it closer to 5 % or to 15 %?

# %%
for R in (1, 14):
    drawn = [differences(rng.standard_normal(3), rng.standard_normal((R, 2))) for _ in range(2000)]
    print(f"{R} variations: {np.mean([abs(difference[0]) > 2 * error for difference, error in drawn]):.0%} false alarms")

# %% [markdown]
# From three seeds and two, the error itself is a guess, and noise passes for a result one time in seven. With 14 rows to
# estimate the spread from, that happens about one time in sixteen, so among 14 rows you should expect one false alarm.
#
# Here are 14 recorded rows, each from a Transformer trained for five minutes to translate (`experiments/table_3.md`). **Predict**
# which hurts most: one head instead of four, one layer instead of two, or no division by $\sqrt{d_k}$?

# %%
scores = list(lab.costs.TABLE_3.values())
difference, error = differences(np.array(scores[0]), np.array(scores[1:]))
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
lab.costs.show_table_3(axes, difference, error)
print(f"error {error:.2f} BLEU; {(abs(difference) > 2 * error).sum()} of {len(difference)} rows are two errors from the base")

# %% [markdown]
# Leaving out the division costs 9.5 points, and leaving out one layer 2.4, but one head cannot be told apart from four. Pre-norm
# lies just outside the band, and by the count above one row may be there by chance, so this row needs more seeds.
#
# ## A rule for the word better
#
# A rule that respects the spread says "better" less often, which is unpopular. **Who is right?**

# %% [exercise] test_rule

# %% [derivation]
# **A rule can be wrong in two ways, so a test needs two kinds of draws.** If nothing has changed, every "better" is a false
# alarm. Comparing two means raises one in half of all draws, and so does comparing the best seeds. If the change is large, a
# rule has to notice it, or the rule that never says "better" would win. With thousands of draws, $(N, 5)$, both shares are
# known to about a percent. That two results vanish is no argument, because the old rule turned half of all useless changes into
# results.

# %%
lab.verdicts(test_rule)

# %% [markdown]
# For a real row of your own, train the base and the change on sorting, with two seeds each. That makes four runs of about a
# minute, such as this one:
#
# ```bash
# minitransformer train sort --config tiny --num-layers 2 --d-ff 512 --steps 800 --num-heads 1 --seed 0
# ```
#
# ## Your Transformer
#
# How far does the running example need to see? To write a word backwards, it has to know how far each letter is from the end,
# and only the encoder's self-attention can tell. **Predict:** if the encoder sees only 4 positions to each side, how many
# letters of *drawkcab* come out right?

# %%
radii = range(9)
shares = lab.costs.letters_right(lambda T, radius: window_masks(T, radius, 1, 1)[0], radii)
lab.costs.show_letters(shares, radii, "drawkcab")
lab.run_yours()

# %% [markdown]
# The first four come out right, and hardly any others do, because only these letters are within four positions of `</s>`. A
# model with two such layers could learn to reach twice as far. With full self-attention, one layer reaches everything.
#
# **Read next:** `restricted_attention_forward` in `minitransformer/zoo/attention/restricted.py`, then `count` in
# `minitransformer_course/lab/table_1.py`.
