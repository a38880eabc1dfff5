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
# # 6. Masks: who may look at whom
#
# You train a model and it predicts more than 90 % of all tokens. You let it write, and nearly every token is wrong.
# The code runs, the loss is low, every gradient is right. What happened?
#
# It cheated. In training it could look at the token that it had to predict, and it learned to copy it. One cell of a
# table of True and False was wrong. This chapter is about that table.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import PAD, greedy, gradcheck, make_batch, plugged
from minitransformer.data.drawn import draw_held_out
from minitransformer.functional import attention_backward, attention_forward, causal_mask, padding_mask
from minitransformer.learn.plug import train
from minitransformer.tasks import TASKS

rng = np.random.default_rng(0)

# %% [markdown]
# ## True means: may attend
#
# A mask is a table of True and False with a cell for each pair of a query (row) and a key (column). In this library
# **True means "may attend"**. In others True means "masked out": PyTorch has one convention in one function and the
# other in the next. So whenever you read a mask, ask first what True means.
#
# Where the mask is False, the score becomes $-\infty$ before the softmax, and the weight becomes 0. **By hand:**
# three scores $(0, 0, 0)$ with the mask (True, True, False) become $(0, 0, -\infty)$. The exponentials are
# $(1, 1, 0)$, the weights $(1/2, 1/2, 0)$.
#
# ## Causal: no looking ahead
#
# The decoder writes from left to right. In training all places are computed at once, which is fast, but place $t$
# must not see what comes later: when the model is used, that does not exist yet. So query $t$ may attend to the keys
# $0, \dots, t$. The mask has the shape $(T, T)$.
#
# **Predict:** which cells are True for four places? How many are True in the first row?

# %%
print(causal_mask(np.ones((1, 4), int)).astype(int))

# %% [markdown]
# A lower triangle, and the diagonal belongs to it: a place may look at itself. It knows the token that *stands*
# there; the one it has to predict comes next.
#
# ## Padding: not a word
#
# Sentences of different length lie in one rectangular array, and the short ones are filled up with the id 0. Those
# places are no words. They depend on the *keys* of a sentence, so the mask has the shape $(B, 1, 1, T_k)$: it
# broadcasts over heads and queries.
#
# **Predict:** for the ids below, which shape has the mask, and which cells are False?

# %%
ids = np.array([[5, 7, 2, 0, 0], [8, 3, 9, 4, 2]])
print(padding_mask(ids).shape)
print(padding_mask(ids)[:, 0, 0].astype(int))

# %% [markdown]
# Why mask keys and not queries? What a padded query computes is never used: the loss leaves it out, too. It has to: a
# padded place would be easy to predict, and would count as a success. The loss is a sum over real tokens, divided by
# *their* number.
#
# ## Both at once
#
# In the decoder both rules hold: not later *and* not padding. The causal mask is $(T, T)$, the padding mask
# $(B, 1, 1, T)$, and `&` broadcasts them to $(B, 1, T, T)$.

# %%
both = causal_mask(ids) & padding_mask(ids)
figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
for one, mask, name in zip(axes, both[:, 0], ("two of five are padding", "no padding")):
    image = one.imshow(mask, cmap="Blues", vmin=0, vmax=1)
    one.set_title(name)
    one.set_xlabel("key: the place it may look at")
axes[0].set_ylabel("query: the place that looks")
bar = figure.colorbar(image, ax=axes, ticks=[0, 1], label="0: False, 1: True (may attend)")

# %% [markdown]
# ## The target that was not shifted
#
# The decoder gets `<bos> d o g` and has to predict `d o g <eos>`: at each place the *next* token. These are two cuts
# of one sentence, `ids[:, :-1]` and `ids[:, 1:]`. If you forget the shift, the token to predict stands at the place
# itself, and the causal mask allows that. The model needs no attention at all to copy it, and the loss falls to zero
# within minutes.
#
# **Predict:** which token is at place 1 of the input, and which at place 1 of the target?

# %%
batch = make_batch([([9, 8], [4, 5, 6])])
print("input: ", batch.target, " (1: begin)")
print("target:", batch.next_target, " (2: end)")

# %% [markdown]
# This is also why training sees the complete target at once and use does not: in training the right prefix is known
# for each place, and the mask makes sure that it is only a prefix.
#
# ## Prove it
#
# A masked pair must send no gradient, in either direction. The check nudges every number, masked or not.

# %%
query, key, value = rng.standard_normal((1, 4, 3)), rng.standard_normal((1, 4, 3)), rng.standard_normal((1, 4, 2))
mask = causal_mask(np.ones((1, 4), int))


def forward(query, key, value):
    return attention_forward(query, key, value, mask)


report = gradcheck((forward, attention_backward), [query, key, value], name="causal attention")
print(report.summary())
assert report.passed

# %% [markdown]
# ## Break it: the model that cheats
#
# Now let the decoder look ahead, and train it on the copy task. **Predict:** what happens to the loss? And when the
# model is used?


# %%
def leaking(ids):
    return np.ones((ids.shape[1], ids.shape[1]), bool)


honest = train()
with plugged(causal_mask, leaking):
    cheat = train()
print(f"loss after 200 steps: honest {honest.losses[-1]:.2f}, cheat {cheat.losses[-1]:.2f}")

# %% [markdown]
# From the loss you would not know. Now test both on sentences that they have not seen: first as in training, with the
# right target as input, then as in use, where each model has only what it wrote itself.


# %%
pairs = draw_held_out(TASKS["copy"](batch=24), 100)
batch = make_batch(pairs)


def as_in_training(model):
    logits, _ = model.forward(batch.source, batch.target)
    return (logits.argmax(-1) == batch.next_target)[batch.next_target != PAD].mean()


def as_in_use(model):
    right = [[a == b for a, b in zip(list(answer) + [None] * 20, target)]
             for answer, (_, target) in zip(greedy(model, batch.source), pairs)]
    return np.mean(sum(right, []))


# %%
print(f"honest: {as_in_training(honest.model):.0%} as in training, {as_in_use(honest.model):.0%} in use")
with plugged(causal_mask, leaking):
    print(f"cheat:  {as_in_training(cheat.model):.0%} as in training, {as_in_use(cheat.model):.0%} in use")

# %% [markdown]
# **Caught, the first way:** a score as in training that is far above the score in use.
#
# **The second way** needs no training at all. Change the last token of a target. What the model says at *earlier*
# places must not change, not even in the last digit.

# %%
changed = batch.target.copy()
changed[:, -1] = np.where(changed[:, -1] == 5, 6, 5)
for name, model, plug in (("honest", honest.model, None), ("cheat", cheat.model, leaking)):
    with plugged(causal_mask, plug):
        before, after = (model.forward(batch.source, target)[0] for target in (batch.target, changed))
    print(f"{name}: earlier logits move by {np.abs(after - before)[:, :-1].max():.4g}")

# %% [markdown]
# **The third way** is to look. Draw the decoder's attention to itself. Above the diagonal there must be nothing.

# %%
figure, axes = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained")
for one, (name, model, plug) in zip(axes, (("honest", honest.model, None), ("cheat", cheat.model, leaking))):
    with plugged(causal_mask, plug):
        p = model.attention_weights(batch.source[:1], batch.target[:1])["decoder"][0][0].mean(axis=0)
    image = one.imshow(p, cmap="Blues", vmin=0, vmax=1)
    one.set_title(f"{name}\n{np.triu(p, 1).sum() / p.sum():.0%} of the weight\nlooks ahead")
    one.set_xlabel("key: the place looked at")
axes[0].set_ylabel("query: the place that looks")
bar = figure.colorbar(image, ax=axes, label="mean attention weight of the heads")

# %% [markdown]
# What did *not* catch it: the loss, and the gradient check. The gradient of a model that cheats is the right gradient
# of a wrong model.
#
# ## Exercises
#
# `minitransformer learn start 6` writes this page into your folder, followed by five functions with blanks. Each is
# two or three lines. Fill one, save, and ask `minitransformer learn check`. When `causal_mask` passes, let it train a
# model: `minitransformer learn plug causal_mask`.
#
# **Read next:** `minitransformer/functional/masks.py`, and `decode` in `minitransformer/models/transformer.py`, where
# the masks are joined.
