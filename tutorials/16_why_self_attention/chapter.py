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
#
# *한국어: 자기 어텐션 (self-attention), 합성곱 (convolution), 장기 의존성 (long-range dependency), 수용 영역 (receptive field),
# 해석 가능성 (interpretability).*

# %%
from minitransformer_course import lab, yours

lab.you_are_here("attention", "heads", "masks")

# %% [markdown]
# Section 4 of the paper says that self-attention is faster than a recurrent layer as long as the length $n$ is below the width
# $d$. We measured both layers at $d = 64$ (`research/benchmarks/table_1.md`). Self-attention was faster up to a length of about
# 1,300, which is twenty times $d$, although it performs more multiplications at *every* length. Which one is wrong: the paper,
# the clock or the count?
#
# The paper gives three reasons for self-attention, and Table 1 has a column for each: the cost of a layer, the steps that must
# wait for each other, and the length of the path between two words. The paper adds a fourth, that such models may be easier to
# interpret. You count the first three here and test the fourth.

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
# Here is Table 1, plus the separable convolution of section 4. A kernel covers $k$ positions, and each query of restricted
# attention meets $r$ keys. Sequential steps have to run one after another. The longest path is the number of layers or steps
# between the two positions that are hardest to connect.
#
# | layer | multiplications | sequential steps | longest path |
# |---|---|---|---|
# | self-attention | $O(n^2 d)$ | $O(1)$ | $O(1)$ |
# | recurrent | $O(n d^2)$ | $O(n)$ | $O(n)$ |
# | convolutional | $O(k n d^2)$ | $O(1)$ | $O(\log_k n)$ |
# | separable | $O(k n d + n d^2)$ | $O(1)$ | $O(\log_k n)$ |
# | self-attention, restricted | $O(r n d)$ | $O(1)$ | $O(n / r)$ |
#
# Big-O notation drops constant factors and smaller terms, so it cannot say which layer is faster at a given size.
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
# The next cell runs the library's own layers on arrays that record every product:

# %%
n, d = 96, 64
yours_counted = multiplications(*np.array([[n], [d], [KERNEL], [2 * RADIUS + 1]]))
for (name, kind), own in zip(KINDS.items(), yours_counted):
    counted, steps = count(kind.make(d), n, d)
    print(f"{name:15} counted {counted:9,}, yours {own[0]:9,}, ratio {counted / own[0]:.3f}, {steps} steps")

# %% [markdown]
# Four ratios are 1. The fifth is larger because the restricted layer computes a few pairs that it then masks. The last column
# counts the products that had to run one after another.
#
# **Predict:** with eight heads instead of one, are there more multiplications or fewer? Are there more steps or fewer?

# %%
layers = {"one head": SelfAttention(64, 1, rng), "eight heads": SelfAttention(64, 8, rng), "recurrent": RNN(64, 64, rng)}
figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
lab.costs.show_steps(panels, {name: at_steps(layer, n, d) for name, layer in layers.items()})
for name, layer in layers.items():
    print(f"{name:11} {count(layer, n, d)}")

# %% [markdown]
# Neither number changes. Eight heads compute eight times as many scores, each from an eighth as many numbers. A processor can
# work on all positions at once because no position waits for the one before it. The recurrent layer performs fewer
# multiplications, but in 96 portions, one after another. So neither the clock nor the count is wrong: such steps take time, and
# the count ignores them.
#
# Earlier remedies were *factorisation tricks*, which replace a large matrix by the product of two smaller ones, and
# *conditional computation*, which runs only some parts of the network for each token. Both remove multiplications, and neither
# removes a step.
#
# How much *training time* do parallel steps save? With 1.4 million parameters and 2,500 updates on Multi30K, a Transformer took
# 296 seconds and an LSTM with attention 332 (medians of three seeds, `research/experiments/table_3.md`). Two cores and short
# sentences leave little to gain, but a GPU has thousands of cores to fill.
#
# ## Where n < d wins
#
# Which comparison did the paper make? Here are the counts at $d = 512$, the width of its base model:

# %%
n = 2 ** np.arange(4, 15)
self_attention, recurrent, convolution, separable, restricted = multiplications(n, 512 + 0 * n, 3 + 0 * n, 65 + 0 * n)
counts = {"self-attention": self_attention, "recurrent": recurrent, "LSTM": 4 * recurrent, "convolution, k = 3": convolution,
          "separable, k = 3": separable, "restricted, r = 65": restricted}
figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
lab.costs.show_costs(axes, n, 512, counts)

# %% [markdown]
# The paper compared $n^2 d$ with $n d^2$, which cross at $n = d$, and left out self-attention's linear layers. With all
# products counted, self-attention never costs less than the plain recurrent layer. Self-attention costs less than an LSTM,
# which computes three gates and a candidate, until $n = 2 d$, and up to that length most of its cost is in the linear layers.
# In the table, a convolution costs $k$ times as much as a recurrent layer.
#
# The paper adds that a separable convolution "even with $k = n$" costs as much as self-attention and a feed-forward layer
# together. **Predict:** as $n$ grows, does their ratio stay bounded for $k = 3$, for $k = n$, or for both?

# %%
for name, k in (("k = 3", 3 + 0 * n), ("k = n", n)):
    ratio = self_attention / multiplications(n, 512 + 0 * n, k, n)[3]
    print(f"{name}: self-attention / separable =", *ratio[::2].round(1))

# %% [markdown]
# The ratio stays bounded only for $k = n$, where it falls from 4 towards 2. That is what "equal" means in big-O notation.
#
# ## Who sees whom
#
# The cheap layers pay in the last column of the table: if each layer sees only a window, information about a distant word
# arrives only after several layers. Depending on such a word is called a *long-range dependency*, and the positions that an
# output depends on are its *receptive field*.

# %% [exercise] window_masks

# %% [derivation]
# **The rule: everything depends only on the distance $t - u$** from the position $t$ that looks to the position $u$ that is
# seen. Row minus column gives it for all pairs, $(T, 1) - (T) \to (T, T)$. Restricted attention sees $|t - u| \leq$ radius,
# which is $2 \cdot \text{radius} + 1$ positions. With a dilation $\delta$, the kernel's positions lie
# $0, \delta, 2\delta, \dots, (k - 1)\,\delta$ back, so $t - u$ must be a multiple of $\delta$, at least 0 and below
# $k\, \delta$.

# %% [markdown]
# **Prove it** with the library's layers. The gradient of an output reaches an input if and only if the output's position sees
# that input (blue):

# %%
restricted, dilated = window_masks(16, 3, 3, 4)
layers = {"restricted, radius 3": RestrictedSelfAttention(8, 2, np.random.default_rng(1), radius=3),
          "k = 3, dilation 4": Convolution(8, 8, rng, 3, dilation=4, causal=True)}
figure, panels = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
for axes, mask, (name, layer) in zip(panels, (restricted, dilated), layers.items()):
    axes.imshow(mask, cmap="Blues", vmin=0, vmax=1.4)
    axes.set(xlabel="position that is seen", ylabel="position that looks", title=name)
    print(f"{name}: {(lab.costs.sees(layer.astype(float), 16, 8) == mask).mean():.0%} of all pairs agree")

# %% [markdown]
# **Break it.** Full self-attention gets the same weights and your mask, and then a mask that leaves out the farthest
# neighbours. Does the gradient check notice?

# %%
fast, full = (kind(8, 2, np.random.default_rng(1), **given).astype(float)
              for kind, given in ((RestrictedSelfAttention, {"radius": 3}), (SelfAttention, {})))
x = rng.standard_normal((1, 16, 8))
for mask in (restricted, window_masks(16, 2, 1, 1)[0]):
    report, difference = gradcheck(full, [x, mask], methods=["complex"]), full.forward(x, mask)[0] - fast.forward(x)[0]
    print(f"gradient check passed: {report.passed}, difference from the restricted layer {np.abs(difference).max():.0e}")

# %% [markdown]
# The check passes both times, because the wrong layer computes the right gradient of the wrong function.
#
# ## How many layers
#
# **By hand.** A causal layer with $k = 2$ sees its own position and the one before. With a second such layer on top, the last
# position sees 3. If the second layer looks 2 back instead of 1, the last position sees 4. Add a third that looks 4 back, and
# count again.

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
figure, panels = plt.subplots(2, 1, figsize=(8, 4.6), layout="constrained", sharex=True)
for axes, name, dilations in zip(panels, ("plain", "dilated"), ((1, 1, 1), (1, 3, 9))):
    lab.costs.show_stack(axes, [window_masks(27, 0, 3, dilation)[1] for dilation in dilations], name)
for length in (27, 243, 10_000):
    print(f"n = {length:,}, k = 3: plain and dilated", layers_needed(length, 3))

# %% [markdown]
# Self-attention needs one layer at any length, which is what its $n^2$ buys.
#
# ## What heads look at
#
# Section 4 ends with a hope: "self-attention could yield more interpretable models". Figures 3 to 5 show heads of the paper's
# encoder that seem to follow syntax and meaning, for example from *its* to its owner. For *The animal did not cross the street
# because it was too tired*, such pictures have a dark cell at *animal* in the row of *it*. **Predict:** does a small model have
# such a cell?
#
# Ours has one layer in each stack and four heads, and translates sentences like this one into German, where *it* becomes *er*,
# *sie* or *es*, depending on the noun: *das Tier* is *es*, *die Straße* is *sie*. No training sentence had both *animal* and
# *street*.

# %%
translator, unseen = lab.pronouns.tired_animal(), lab.pronouns.unseen()
sentences = ["the animal did not cross the street because it was too " + adjective for adjective in ("tired", "wide")]
figure, panels = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for axes, sentence in zip(panels, sentences):
    lab.pronouns.show_rows(axes, *lab.pronouns.rows_of(translator, sentence))
    print(lab.write(translator, lab.pronouns.VOCABULARY, sentence))
print(f"pronouns right in 200 unseen sentences: {lab.pronouns.right_pronouns(translator, unseen):.0%}")

# %% [markdown]
# In the upper rows, the encoder reads *it*. These rows have no dark cell at *animal*, and hardly change with the adjective. In
# the lower rows, the decoder writes the pronoun: head 0 looks at *street* in both sentences, and head 2 at *animal* or *wide*.
#
# A map shows where a head looks, not whether the answer depends on it. To test that, take one word away from one row, so that
# the others share its weight. The cell prints the word that is then the most likely, with its probability. **Predict** which
# words the pronoun depends on.

# %%
for sentence in sentences:
    for where, row in (("encoder", "it"), ("cross", "the pronoun")):
        found = [f"without {word}: {lab.pronouns.without(translator, sentence, where, word)}"
                 for word in ("animal", "street", sentence.split()[-1])]
        print(f"{sentence[-5:]}: row of {row:11}", "; ".join(found))

# %% [markdown]
# The row of *it* can lose any of these words, and the pronoun stays. The pronoun *es* depends on *animal*, and *sie* depends on
# both *street* and *wide*. So the decoder decides.
#
# The picture also shows attention's *effective resolution*, which averaging reduces: a head returns one mean, while a
# convolution has a matrix for each distance. Several heads "counteract" this. Here heads 0 and 2 look at one word each, with a
# weight of 1, and the two values arrive side by side.
#
# ## Do heads follow syntax?
#
# To claim that a head follows a relation, you need many sentences and a *baseline*. In *cross the street*, the object is always
# two places after the verb.

# %% [exercise] follows

# %% [derivation]
# **The rule: a share means something only if it is compared with what a simpler explanation achieves.** `np.nonzero(partner >=
# 0)` lists the queries that have a partner, $n$ of them, so `weights[b, :, t]` is $(n, H, T_k)$. Its argmax over the keys, $(n,
# H)$, is compared with the partners, $(n, 1)$, and the mean over $n$ is $(H)$. The simpler explanation is a head that knows
# only distances. It is right wherever $\text{partner} - t$ has the value that occurs most often.

# %%
weights = translator.attention_weights(*unseen.inputs)
for relation, (kind, partner) in lab.pronouns.partners(unseen).items():
    share, fixed = follows(weights[kind][0], partner)
    print(f"{relation:18} heads {share.round(2)}, fixed distance {fixed:.2f}")

# %% [markdown]
# Head 3 of the encoder finds the object of 83 % of the verbs, but a head that looks two places ahead would find all of them.
# From the pronoun to its noun, a fixed distance explains 16 %, while head 0 of the decoder finds all places (54 %) and head 2
# all animals (46 %). Other seeds solve the task differently: with seed 25, the row of *it* has its largest weight on the
# adjective in 90 % of the sentences. Others have made such a table for [BERT](https://arxiv.org/abs/1906.04341), or shown how
# easily [maps mislead](https://arxiv.org/abs/1902.10186). `minitransformer attention` draws the maps of your own runs, and of
# [SmolLM2](../../docs/interchange.md).
#
# ## Your Transformer

# %%
lab.run_yours("16")

# %% [markdown]
# **Read next:** `restricted_attention_forward` in `minitransformer/zoo/attention/restricted.py`, then
# `minitransformer_course/lab/pronouns.py`.
