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
# # 7. Many heads: several questions at once
#
# *The animal did not cross the street because it was too tired.* To understand the word *it*, you ask the sentence several
# questions at once. Who is *it*? The animal. What is said of *it*? That it was tired. Each answer is in another place,
# but one attention has one softmax, whose weights sum to 1: what it gives to *tired*, it takes away from *animal*.
#
# So let several readers look at the sentence, each with a question of its own. Such a reader is called a *head*, and attention
# with several of them is *multi-head attention*.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck, make_batch, plugged
from minitransformer.data.drawn import draw_held_out
from minitransformer.layers.attention import MultiHeadAttention, SelfAttention
from minitransformer_course import lab, yours
from minitransformer_course.judge.fixtures import attend
from minitransformer_course.judge.plug import train

lab.you_are_here("heads")

# %% [markdown]
# ## One head gives one mean
#
# **By hand.** Two places hold the values 10 and 20. One softmax can look at both, with half of its weight on each, and the
# result is their mean, 15. **Predict** the result if the values are 20 and 10, and if they are 0 and 30.

# %%
one_head, two_heads = np.array([0.5, 0.5]), np.eye(2)
for values in ([10, 20], [20, 10], [0, 30]):
    print(values, "one head:", one_head @ values, " two heads:", two_heads @ values)

# %% [markdown]
# A mean forgets which value came from where. Two heads have two softmaxes, so each can look at one place, and their answers lie
# side by side.
#
# ## What heads are for
#
# Does this make a difference to a model in training? Here is a task that needs two places at a time. The model reads three to
# five digits and writes the last digit of the sum of every two neighbours: `3 8 5` becomes `1 3`.
#
# First we need a number to compare with. Suppose that a model has learned when to stop, and that everything before is one of
# ten digits, but not which one. An answer has three digits on average, and one EOS. **Predict** the model's average loss per
# token.

# %%
task = lab.AddNeighbours()
unseen = make_batch(draw_held_out(task, 200))
runs = {num_heads: train(task=task, steps=600, num_heads=num_heads) for num_heads in (1, 4)}
figure, axes = plt.subplots(figsize=(5.6, 3), layout="constrained")
for (num_heads, run), colour in zip(runs.items(), ("tab:red", "black")):
    axes.plot(run.losses, color=colour, label=f"heads: {num_heads}")
    print(f"heads: {num_heads}, digits right: {lab.accuracy(run.model, unseen):.0%}")
axes.axhline(3 / 4 * np.log(10), color="grey", linewidth=0.8, label="3/4 ln 10 = 1.73")
axes.set(xlabel="training step", ylabel="loss for each token")
legend = axes.legend()

# %% [markdown]
# The average loss is $(3 \ln 10 + 0) / 4 = 1.73$. Both models reach this plateau. The one with four heads leaves it, while the
# one with a single head stays there. Where do the four heads look?

# %%
found = lab.attention_of(runs[4].model, task.make_vocabulary(), "2 7 1 8 4")
figure, four = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for head, axes in enumerate(four):
    image = lab.show_map(axes, found, head)
    axes.set(xlabel="key: a digit of the source", ylabel="" if head else "query: the digit being written")
bar = figure.colorbar(image, label="attention weight")

# %% [markdown]
# Take the third row, where the model writes the 9, the sum of 1 and 8. Some heads look at the 1 and the others at the 8. In the
# next row, they look at the 8 and the 4. A head with nothing to do rests on the end of the text, `</s>`. Which head does which
# job depends on how your processor rounds.
#
# One run proves little, so here are three seeds for each number of heads, with 1,000 steps for adding and 150 for copying
# letters. Within a column, all models have the same number of parameters (`research/experiments/heads.py`).
#
# | heads | digits right, adding neighbours | letters right, copying |
# |---|---|---|
# | 1 | 12 %, 69 %, 56 % | 93 %, 89 %, 71 % |
# | 2 | 21 %, 98 %, 14 % | 85 %, 83 %, 82 % |
# | 4 | 100 %, 94 %, 96 % | 80 %, 79 %, 82 % |
# | 16 | 100 %, 99 %, 99 % | 62 %, 77 %, 74 % |
#
# Copying needs one place at a time, and sixteen small heads learn it slowest. Adding needs two, which is hard for one head.
# Translation needs several: the paper found that one head is 0.9 BLEU worse than the best number of heads, and that too many
# heads make the model worse again (table 3, rows A; BLEU is a score from 0 to 100).
#
# ## Many small questions in place of a large one
#
# A head is an attention with *projections* of its own: linear layers that make its queries, keys and values from the tokens'
# vectors. If there are $H$ heads, each of them is small: its queries, keys and values have $d_k = d_v = d_{model} / H$ numbers.
# For each of the three, the heads share one matrix, and each head owns some of its columns.
#
# | step | formula | shape |
# |---|---|---|
# | project | $Q = X W_Q, \quad K = X W_K, \quad V = X W_V$ | $(B, T, H d_k)$, and $(B, T, H d_v)$ for $V$ |
# | split | each head takes its own columns | $(B, H, T, d_k)$, and $(B, H, T, d_v)$ |
# | attend | chapter 5, in each head | $(B, H, T, d_v)$ |
# | merge | the heads side by side | $(B, T, H d_v)$ |
# | project | times $W_O$ | $(B, T, d_{model})$ |
#
# **Predict:** for $d_{model} = 64$, do sixteen heads have more parameters than one head, or the same number?

# %%
rng = np.random.default_rng(0)
for H in (1, 4, 16):
    print(f"heads: {H:2}, numbers each: {64 // H:2}, parameters: {MultiHeadAttention(64, H, rng).num_parameters():,}")

# %% [markdown]
# ## Split: the heads lie side by side
#
# The projection gives each position one long row: first the $d$ numbers of head 0, then those of head 1, and so on. Two NumPy
# operations change the axes. A **reshape never reorders**: it keeps the numbers in the same order and only moves the brackets.
# A **transpose** does reorder them.
#
# Take three positions and two heads of two numbers each. Every number names its own place: 21 is at position 2, column 1. Head
# 0 owns columns 0 and 1. **Predict** what head 0 holds if you reshape straight from $(T, H d)$ to $(H, T, d)$.

# %%
x = 10 * np.arange(3)[:, None] + np.arange(4)
print("head 0, reshaped straight:", x.reshape(2, 3, 2)[0].tolist())
figure, three = plt.subplots(1, 3, figsize=(8, 3.6), layout="constrained")
lab.show_split(three, x)

# %% [markdown]
# Reshaped straight, head 0 holds all of position 0 and half of position 1. The picture shows head 0's own numbers in blue
# and those of head 1 in yellow. After the straight reshape, the shape is right but the contents are not, and no error is
# raised.

# %% [exercise] split_heads

# %% [derivation]
# The rule is that a reshape may cut an axis into two neighbouring ones, and a transpose may then move them.
#
# | step | shape |
# |---|---|
# | cut the last axis, as each head's numbers lie side by side in it | $(B, T, H d) \to (B, T, H, d)$ |
# | swap positions and heads | $(B, T, H, d) \to (B, H, T, d)$ |
#
# If the axis were cut into $(d, H)$, head 0 would get columns 0, $H$, $2H$ and so on, and the heads would be interleaved.

# %% [exercise] merge_heads

# %% [derivation]
# The merge undoes the split, so it reverses its steps, the last one first.
#
# | step | shape |
# |---|---|
# | swap heads and positions, so that all numbers of a position come together | $(B, H, T, d) \to (B, T, H, d)$ |
# | join the last two axes | $(B, T, H, d) \to (B, T, H d)$ |

# %% [exercise] multi_head_attention

# %% [derivation]
# The order is the one in the table. The split comes after the projection, because a head's queries are made from *all* of a
# token's numbers, with the head's own columns of $W_Q$.
#
# | array | shape |
# |---|---|
# | $X W_Q$, $X W_K$ and $X W_V$, each split | $(B, H, T, d_k)$ twice, and $(B, H, T, d_v)$ |
# | what attention makes of them, in all heads at once | $(B, H, T, d_v)$ |
# | merged, and times $W_O$ | $(B, T, H d_v) \to (B, T, d_{model})$ |

# %% [markdown]
# Compare your function with the library's layer, which has the same weights:

# %%
layer, x = SelfAttention(12, 3, rng), rng.standard_normal((2, 5, 12))
weights = [part.weight.data for part in (layer.query, layer.key, layer.value, layer.output)]
print(f"largest difference {np.abs(multi_head_attention(attend, x, *weights, 3) - layer.forward(x)[0]).max():.0e}")

# %% [markdown]
# ## W_O: every head adds something
#
# Does $W_O$ mix the heads? It multiplies the merged array, in which the heads lie side by side. So take one number of one head
# and ask which row of $W_O$ it meets.

# %% [exercise] contributions

# %% [derivation]
# The rule is that if a row consists of parts, its product with a matrix is a sum, with one product for each part. Cut the rows
# of $W_O$ into $H$ blocks $W_O^{(h)}$, $(d_v, d_{model})$, and let $Z_h$, $(B, T, d_v)$, be what head $h$ found:
#
# $$ Y = [Z_0, \ldots, Z_{H-1}]\, W_O = \sum_h Z_h W_O^{(h)} $$
#
# The rows of a block are neighbours, so $(H d_v, d_{model})$ becomes $(H, d_v, d_{model})$ without a transpose, and multiplying
# $(B, H, T, d_v)$ by it pairs each head with its own block.

# %%
heads, w_o = rng.standard_normal((2, 3, 5, 4)), rng.standard_normal((3 * 4, 10))
apart = contributions(heads, w_o)
print(f"added up, they differ from merge and product by {np.abs(apart.sum(axis=1) - merge_heads(heads) @ w_o).max():.0e}")

# %% [markdown]
# So you can take a head out of a trained model: set its rows of $W_O$ to 0, and it adds nothing. The running example has four
# heads in its cross-attention. **Predict:** without one of them, does it still write *backward* backwards, or does it stammer?

# %%
words = ("backward", "attention")
for head in range(4):
    model, letters = lab.drawkcab()
    model.decoder.layers[0].cross_attention.output.weight.data[8 * head:8 * head + 8] = 0
    print(f"without head {head}:", ", ".join(lab.write(model, letters, word) for word in words))

# %% [markdown]
# *backward* survives every time, and *attention* gets one letter wrong without head 2. To reverse a word, all four heads look
# at the letter that is to be written, so their contributions say the same thing four times. Nothing in the loss asks the heads
# to differ, but they can differ if a task needs several places, as the picture of the digits shows.
#
# ## Backward: merge where the forward split
#
# A split only moves numbers, so its backward only moves their gradients back, which is what the merge does. In the same way,
# the backward of a merge is a split.
#
# In self-attention the same $x$ is used three times, and the same weights are used for every token of every sentence. **By
# hand**, with plain numbers: let $q = 2x$, $k = 3x$, $v = 5x$, and suppose that the backward of attention returns $dq = 1$,
# $dk = 10$, $dv = 100$. If $x$ moves by 0.001, the loss moves by 0.002 through the query, by 0.03 through the key, and by 0.5
# through the value. **Predict** $dx$.

# %%
def loss(x):
    q, k, v = 2 * x, 3 * x, 5 * x
    return 1 * q + 10 * k + 100 * v    # dq = 1, dk = 10, dv = 100


print(f"dx = {(loss(1.001) - loss(1)) / 0.001:.0f}")

# %% [exercise] projections_backward

# %% [derivation]
# There are two rules: the gradients along all paths from an array to the loss add up, and $y = x W$ has $dx = dy\, W^\top$ and
# $dW = x^\top dy$ (chapter 1). First apply the backward of the split, which is the merge, to all three:
# $(B, H, T, d) \to (B, T, H d)$.
#
# $$ dX = dQ\, W_Q^\top + dK\, W_K^\top + dV\, W_V^\top \qquad (B, T, d_{model}) $$
#
# A weight is used once for each of the $B T$ tokens, so its gradient is a sum over sentences *and* positions. In chapter 1, $x$
# had only one axis in front of the last one. Here it has two, and a reshape to $(B T, d_{model})$ makes them one:
#
# $$ dW_Q = X^\top dQ \qquad (d_{model}, B T) \times (B T, H d_k) \to (d_{model}, H d_k) $$
#
# `x.swapaxes(1, 2) @ dq` would sum over the positions only and return one matrix for each sentence.

# %% [markdown]
# ## Prove it
#
# Here is the library's self-attention, with your split and your merge in its forward and its backward:

# %%
own_split = plugged(MultiHeadAttention.split, lambda self, x: split_heads(x, self.num_heads))
own_merge = plugged(MultiHeadAttention.merge, lambda self, heads: merge_heads(heads))
with own_split, own_merge:
    report = gradcheck(SelfAttention(6, 3, rng, d_k=4, d_v=5), [rng.standard_normal((2, 7, 6))], methods=["complex"])
print(report)
assert report.passed

# %% [markdown]
# ## Break it: the merge without its transpose
#
# One line has been written wrong again and again (jsbaan/transformer-from-scratch, issue 4;
# jadore801120/attention-is-all-you-need-pytorch, issue 7). It is the merge, as a single reshape from $(B, H, T, d)$ to $(B, T,
# H d)$. The resulting shape is right, and the first of the two still learned its copy task. Let the running example write with
# it, then touch the last token (chapter 6) and see which outputs move.

# %%
model, letters = lab.drawkcab()
source, target = np.array([[*letters.encode("backward"), 2]]), np.array([[1, *letters.encode("drawkcab")]])
touched = np.concatenate([target[:, :-1], [[5]]], axis=1)
with plugged(MultiHeadAttention.merge, lambda self, heads: heads.reshape(len(heads), heads.shape[2], -1)):
    print("backward ->", lab.write(model, letters, "backward")[:20])
    moved = np.abs(model.forward(source, target)[0] - model.forward(source, touched)[0]).max(axis=-1)[0]
print("outputs move by", moved.round(3))

# %% [markdown]
# Each position gets numbers that the heads found for *other* positions, including later ones. That is a leak around the causal
# mask: the mask and the attention weights are right, and only touching a token reveals it.
#
# ## Your Transformer

# %%
lab.run_yours("7")

# %% [markdown]
# **Read next:** `MultiHeadAttention` in `minitransformer/layers/attention.py`.
