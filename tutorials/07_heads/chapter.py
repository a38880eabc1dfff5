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
# You write multi-head attention and forget one transpose, where the heads are merged. No shape complains. The gradient
# check passes. The loss falls as it should, and 96 % of the next letters are predicted correctly. Then the model writes
# by itself, and not one word is right. People keep asking about this line (issue 6 of jsbaan/transformer-from-scratch,
# issue 15 of hyunwoongko/transformer).
#
# In this chapter you split attention into heads, merge them, and find out what the lost transpose does, what heads cost,
# and what they learn.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
from threadpoolctl import threadpool_limits

from minitransformer import (Adam, Transformer, TransformerConfig, gradcheck, make_batch, plugged, schedule,
                             training_step)
from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.training.evaluation import exact_match
from minitransformer.functional import attention_backward, attention_forward
from minitransformer.layers.attention import MultiHeadAttention, SelfAttention
from minitransformer.learn import yours
from minitransformer.learn.plug import train
from minitransformer.tasks import TASKS

rng = np.random.default_rng(0)

# %% [markdown]
# ## One head gives one mean
#
# A verb needs its subject *and* its object. One softmax can look at both, half and half. What comes out is their mean.
#
# **By hand.** The values of subject and object are the numbers 10 and 20. Half and half, the answer is 15. **Predict:**
# what is it if the values are 20 and 10? 0 and 30?

# %%
half = np.array([0.5, 0.5])
heads = np.eye(2)    # two heads: the first looks at the subject only, the second at the object only
for values in ([10, 20], [20, 10], [0, 30]):
    print(values, "one head:", half @ values, " two heads:", heads @ values)

# %% [markdown]
# 15, three times. A mean forgets who said what. Two heads have two softmaxes, and keep two answers side by side.
#
# ## Many small questions in place of a large one
#
# A head is an attention with *projections* of its own: linear layers that make its queries, keys and values from the
# tokens' vectors. So that $H$ heads do not cost $H$ times as much, each is small: its queries, keys and values have
# $d_k = d_v = d_{model} / H$ numbers. For a batch of $B$ sentences with $T$ tokens:
#
# | step | formula | shape |
# |---|---|---|
# | project | $Q = X W_Q, \quad K = X W_K, \quad V = X W_V$ | $(B, T, H d_k)$, and $(B, T, H d_v)$ for $V$ |
# | split | each head takes its own columns | $(B, H, T, d_k)$, and $(B, H, T, d_v)$ |
# | attend, in each head | $\operatorname{softmax}(Q_h K_h^\top / \sqrt{d_k})\, V_h$ | $(B, H, T, d_v)$ |
# | merge | the heads side by side | $(B, T, H d_v)$ |
# | project | times $W_O$ | $(B, T, d_{model})$ |
#
# The scale is that of *one* head: a dot product has $d_k$ terms, not $d_{model}$ (chapter 5). **Predict:** for
# $d_{model} = 64$, which number of heads has the most parameters, 1, 4 or 16?

# %%
for H in (1, 4, 16):
    layer = MultiHeadAttention(64, H, rng)
    print(f"num_heads {H:2}, {64 // H:2} numbers each: {layer.num_parameters():,} parameters")

# %% [markdown]
# All the same: the heads share one matrix $W_Q$, and each owns some of its columns.
#
# ## Split: the heads lie side by side
#
# The projection gives each position one long row: first the $d$ numbers of head 0, then those of head 1, and so on ($d$
# is $d_k$ for queries and keys, $d_v$ for values). The split is two steps: a reshape, $(B, T, H d) \to (B, T, H, d)$,
# and a transpose, $\to (B, H, T, d)$. A **reshape never reorders**: it reads the numbers in the same order and puts the
# brackets elsewhere. A **transpose** reorders.
#
# **By hand.** Three positions, two heads of two numbers. The number 21 stands at position 2, column 1. Head 0 owns
# columns 0 and 1. **Predict** what it holds: with the transpose, and if you reshape straight to $(B, H, T, d)$.

# %%
x = 10 * np.arange(3)[:, None] + np.arange(4)
print(x)
print("with the transpose:  head 0", x.reshape(3, 2, 2).swapaxes(0, 1)[0].tolist())
print("reshaped straight:   head 0", x.reshape(2, 3, 2)[0].tolist())

# %% [markdown]
# Reshaped straight, head 0 holds all of position 0 and half of position 1. The shape is right, the contents are not.
#
# ## What heads cost
#
# Count multiplications for one sentence. A projection takes $T d_{model}^2$, so four take $4\, T d_{model}^2$. The scores
# take $T^2 d_k$ in each head, and so do the weighted means. With $H d_k = d_{model}$, that is $2\, T^2 d_{model}$ for all
# heads, however many. But each head has $T^2$ weights, and keeps them in memory for backward. **Predict:** for
# $T = 128$ and $d_{model} = 512$, which takes more multiplications, projections or attention?

# %%
T, d_model = 128, 512
print(f"projections: {4 * T * d_model ** 2 / 1e6:.0f} million multiplications")
print(f"attention:   {2 * T ** 2 * d_model / 1e6:.0f} million multiplications")
for H in (1, 8, 64):
    print(f"num_heads {H:2}: {H * T * T:9,} attention weights (Q, K and V: {3 * T * d_model:,} numbers)")

# %% [markdown]
# The projections, eight times as much. Attention catches up at $T = 2\, d_{model}$, here at 1,024 tokens. More heads cost
# memory, but no multiplications.
#
# ## W_O: every head adds something
#
# Let $Z_h$, $(B, T, d_v)$, be what head $h$ found. Cut $W_O$ by rows into $H$ parts, $W_O^{(h)}$ of the shape
# $(d_v, d_{model})$. Then merge and last projection are one sum:
#
# $$ Y = [Z_0, \ldots, Z_{H-1}]\, W_O = \sum_h Z_h W_O^{(h)} $$
#
# Each head adds its own contribution to the output. **Predict** the difference between the two sides.

# %%
Z, W_O = rng.standard_normal((4, 7, 3)), rng.standard_normal((4 * 3, 10))    # (H, T, d_v), (H d_v, d_model)
side_by_side = np.concatenate(list(Z), axis=-1) @ W_O
added = sum(Z[h] @ W_O[3 * h:3 * h + 3] for h in range(4))
print(f"{np.abs(side_by_side - added).max():.0e}")

# %% [markdown]
# ## d_k and d_v: how fine a question, how long an answer
#
# $d_k$ and $d_v$ need not be $d_{model} / H$, and they need not be equal. $d_k$ says how finely a head can tell keys
# apart: the rank of its scores is at most $d_k$. $d_v$ says how much it can pass on from where it looks.
#
# We train small models on the copy task, 150 steps each. **Predict:** which hurts more, one number for the question or
# one for the answer? And which number of heads learns to copy fastest?

# %%
copy = TASKS["copy"](batch=24)
pairs = draw_held_out(copy, 100)


def accuracy(model, pairs):
    """The share of tokens that are predicted correctly under teacher forcing."""
    batch = make_batch(pairs)
    logits, _ = model.forward(batch.source, batch.target)
    real = batch.next_target != 0
    return (logits.argmax(axis=-1) == batch.next_target)[real].mean()


# %%
def trained(**sizes):
    config = TransformerConfig.named("toy", 29, num_layers=1, **sizes)    # 26 letters, 3 special tokens
    model = Transformer(config, seed=0)
    adam, batches = Adam(model), DrawnBatches(copy, 24, 0)
    with threadpool_limits(1):    # small arrays: one thread is faster
        for step in range(1, 151):
            training_step(model, adam, next(batches), schedule(step, 64, warmup=50, factor=0.3))
    return model


for sizes in (dict(num_heads=1), dict(num_heads=4), dict(num_heads=16), dict(num_heads=4, d_k=1, d_v=16),
              dict(num_heads=4, d_k=16, d_v=1)):
    print(f"accuracy {accuracy(trained(**sizes), pairs):4.0%} with", sizes)

# %% [markdown]
# One number for the answer hurts most: with one number, a head can hardly say which of 26 letters it saw. One number for
# the question hurts as well: on one axis, 13 positions are hard to tell apart.
#
# And *one* head learns to copy fastest: to copy a letter you look at one place. Translation is different. There the
# paper found that one head is 0.9 BLEU worse than the best number of heads, and that too many are worse again (table 3,
# rows A). BLEU is a score for translations, from 0 to 100.
#
# ## Backward: merge where the forward split
#
# A split only moves numbers. Its backward moves the gradients back: it is the merge. And the merge's backward is the split.
# So backward reads: $W_O$'s backward, split, attention's backward in each head, merge three times, three linear layers.
#
# In self-attention all three read the same $x$, so three paths lead from $x$ to the loss. Their gradients add up:
#
# $$ dX = dQ\, W_Q^\top + dK\, W_K^\top + dV\, W_V^\top $$
#
# **By hand**, with plain numbers: $q = 2x$, $k = 3x$, $v = 5x$, and attention's backward gave $dq = 1$, $dk = 10$,
# $dv = 100$. **Predict** $dx$.

# %%
dq, dk, dv = 1, 10, 100
print("dx =", 2 * dq + 3 * dk + 5 * dv)

# %% [markdown]
# $2 + 30 + 500 = 532$. If you forget a path, the shape is still right.
#
# ## Prove it
#
# Batch, positions, heads and sizes are all different:

# %%
layer = SelfAttention(6, 3, rng, d_k=4, d_v=5)    # d_model, heads
report = gradcheck(layer, [rng.standard_normal((2, 7, 6))], methods=["complex"])
print(report)
assert report.passed

# %% [markdown]
# The gradient of `key.bias` is 0 but for rounding: a vector added to all keys changes no weight (chapter 5).
#
# And if you forget the path through the keys? The doctor says:


# %%
class WithoutKeys(SelfAttention):
    def backward(self, dy, cache):
        dquery, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
        return dquery + dvalue    # the path through the keys is forgotten


report = gradcheck(WithoutKeys(6, 3, rng, d_k=4, d_v=5), [rng.standard_normal((2, 7, 6))])
print(report.findings["WithoutKeys"])

# %% [markdown]
# ## The merge that still trains
#
# Now the lost transpose: $(B, H, T, d)$ is reshaped straight to $(B, T, H d)$.
#
# **By hand.** Two heads, three positions, one number each. The number $10 h + t$ is what head $h$ found at position
# $t$. Position 0 should get 0 and 10. **Predict** what it gets without the transpose.

# %%
found = 10 * np.arange(2)[:, None] + np.arange(3)    # (H, T)
print("positions 0, 1 and 2, with the transpose:", found.T.tolist())
print("                               without it:", found.reshape(3, 2).tolist())

# %% [markdown]
# It gets 0 and 1: what head 0 found at positions 0 *and 1*. What head 1 found for it, the 10, goes to position 1.
#
# To try this in the real model, whose merge is right, we rearrange attention's output before it is merged, and its
# gradient on the way back. This is the exact gradient of a wrong function, as automatic differentiation would give it.


# %%
def misplaced(*arguments):
    y, cache = attention_forward.__wrapped__(*arguments)
    B, H, T, d = y.shape
    return y.reshape(B, T, H, d).swapaxes(1, 2), cache    # merged, it is y.reshape(B, T, H * d)


def put_back(dy, cache):
    B, H, T, d = dy.shape
    return attention_backward.__wrapped__(dy.swapaxes(1, 2).reshape(B, H, T, d), cache)


query, key, value = rng.standard_normal((3, 2, 3, 5, 4))    # each (B, H, T, d)
report = gradcheck((misplaced, put_back), [query, key, value], name="misplaced")
print("the gradient check:", "passed" if report.passed else "failed")

# %% [markdown]
# We train both models, and measure the accuracy twice: for all words in one batch, as in training, and for each word
# alone. **Predict:** for which model is there a difference?

# %%
runs = {}
for name, own in (("right", (None, None)), ("wrong", (misplaced, put_back))):
    with plugged(attention_forward, own[0]), plugged(attention_backward, own[1]):
        runs[name] = train(steps=225)
        model = runs[name].model
        alone = np.mean([accuracy(model, [pair]) for pair in pairs])
        print(f"{name}: accuracy {accuracy(model, pairs):.0%}, each word alone {alone:.0%}, "
              f"exact match {exact_match(model, pairs):.0%}")

# %%
figure, axes = plt.subplots(figsize=(4.8, 2.8), layout="constrained")
axes.plot(runs["right"].losses, color="black", label="the right merge")
axes.plot(runs["wrong"].losses, color="tab:red", linestyle="--", label="without the transpose")
axes.set_xlabel("training step")
axes.set_ylabel("loss for each token (nats)")
legend = axes.legend()

# %% [markdown]
# The curves are nearly the same, but the wrong one has spikes. **Predict** what they are. The cell sorts the last 100
# steps by the length of the batch:

# %%
batches = DrawnBatches(copy, 24, 0)    # those of the training run
length = np.array([next(batches).target.shape[1] for _ in range(225)])[125:]
for T in sorted(set(length)):
    loss = [np.mean(np.array(run.losses)[125:][length == T]) for run in runs.values()]
    print(f"T = {T}: {(length == T).sum():2} steps, loss right {loss[0]:.2f}, wrong {loss[1]:.2f}")

# %% [markdown]
# The spikes are the batches of another length. *Which* numbers a position gets depends on $T$. In training, the longest
# of 24 words nearly always has 12 letters, so $T$ is 13, and the model learns this one arrangement by heart. A word alone
# has another length, and a model that writes has a new one at each step.
#
# There is worse. In the decoder, some of these numbers come from the future. Touch the last token (chapter 6).
# **Predict** which outputs may move.

# %%
source, target = np.array([[5, 3, 4, 9, 2]]), np.array([[1, 5, 3, 4, 9]])
other = np.array([[1, 5, 3, 4, 10]])    # the last token is replaced
fresh = Transformer(TransformerConfig.named("toy", 29), seed=0)
for name, own in (("right", None), ("wrong", misplaced)):
    with plugged(attention_forward, own):
        difference = fresh.forward(source, target)[0] - fresh.forward(source, other)[0]
    print(f"{name}: how far each output moves", np.abs(difference[0]).max(axis=-1).round(4))

# %% [markdown]
# All of them move: a leak, although the causal mask is right. It leaves no trace in the attention weights.
#
# Neither shapes nor a gradient check can show this mistake. What shows it is a *rule*: no output depends on a later
# token, a sentence means the same whoever shares its batch, and a merge leaves each position its own numbers. The exercise
# judges by the last one.
#
# ## What heads learn
#
# The picture shows where the four heads of the right model's cross-attention look while it writes a word. At target
# position $t$ it has to write letter $t$ of the source. **Predict:** does each head look at places of its own?

# %%
word = make_batch([pair for pair in pairs if len(pair[0]) == 8][:1])
weights = runs["right"].model.attention_weights(word.source, word.target)["cross"][0][0]    # (H, T_q, T_k)
figure, four = plt.subplots(1, 4, figsize=(10, 3), sharey=True, layout="constrained")
for h, axes in enumerate(four):
    image = axes.imshow(weights[h], cmap="Blues", vmin=0, vmax=1)
    axes.set_title(f"head {h}")
    axes.set_xlabel("key: source position")
four[0].set_ylabel("query: target position")
bar = figure.colorbar(image, label="attention weight")

# %% [markdown]
# No. All four look at the letter that is to be written, and are unsure near the end. Does the model need all of them? A
# head adds its contribution to a sum, so you can take it out: set its rows of $W_O$ to 0. **Predict** the accuracy with
# three heads.

# %%
model = runs["right"].model
W_O = model.decoder.layers[0].cross_attention.output.weight.data
print(f"all four heads: accuracy {accuracy(model, pairs):.0%}")
for h in range(4):
    rows = slice(16 * h, 16 * h + 16)
    kept = W_O[rows].copy()
    W_O[rows] = 0    # the head says nothing
    print(f"without head {h}: accuracy {accuracy(model, pairs):.0%}")
    W_O[rows] = kept

# %% [markdown]
# Without one of them the accuracy falls by 4 to 10 points. Each is missed, and none is indispensable: they do the same
# work, and their contributions add up to a clearer answer. Nothing in the loss asks heads to be different. If a task
# needs several places, they can become different. Copying needs one.
#
# ## Exercises
#
# `minitransformer learn start 7` writes this page into your folder, followed by five functions with blanks. Fill one,
# save, and ask `minitransformer learn check`. When `merge_heads` passes, a model can train with it:
# `minitransformer learn plug merge_heads`. Then plug in one without the transpose. It hardly learns at all: now the merge
# is wrong, and the library's backward is still that of the right one.
#
# **Read next:** `MultiHeadAttention` in `minitransformer/layers/attention.py`: its `split`, its `merge`, and a
# `backward` that uses them the other way round.

# %% [exercise] split_heads

# %% [exercise] merge_heads

# %% [exercise] contributions

# %% [exercise] multi_head

# %% [exercise] projections_backward
