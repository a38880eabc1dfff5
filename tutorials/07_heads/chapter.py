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
# One row of attention weights sums to 1. A query that looks at two places gives each half of its attention and gets a
# *mean* of the two, in which they can no longer be told apart. What if a word needs two things: the letter to copy,
# and the place where it stands?
#
# It asks twice. A *head* is a query, a key and a value of its own. This chapter is about shapes, and about one
# missing transpose that shapes do not show.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck, make_batch, plugged
from minitransformer.functional import attention_backward, attention_forward
from minitransformer.layers import MultiHeadAttention, SelfAttention
from minitransformer.learn.plug import train

rng = np.random.default_rng(0)

# %% [markdown]
# ## Several heads
#
# $$ \text{head}_i = \operatorname{Attention}(x W_Q^i,\ x W_K^i,\ x W_V^i), \qquad y = \operatorname{concat}(\text{head}_1, \dots, \text{head}_H)\, W_O $$
#
# Each head has its own small matrices, $W_Q^i$ and $W_K^i$ of the shape $(d_{model}, d_k)$ and $W_V^i$ of
# $(d_{model}, d_v)$. In code the matrices of all heads lie side by side in one, $W_Q = (W_Q^1 | \dots | W_Q^H)$ of
# the shape $(d_{model}, H d_k)$, and one product makes the queries of all heads.
#
# **By hand.** $d_{model} = 4$, two heads, $d_k = 2$. A token's query is $(1, 2, 3, 4)$. Head 1 asks with $(1, 2)$ and
# head 2 with $(3, 4)$, each divided by $\sqrt 2$: by the width of one head, not of all.
#
# **Predict:** $d_{model}$ is 512. Which has more weights: one head with $d_k = 512$, or eight with $d_k = 64$? And
# which makes more attention weights, for a sentence of 100 tokens?

# %%
for heads in (1, 8):
    layer = MultiHeadAttention(512, heads, rng)
    weights = sum(p.data.size for p in layer.parameters().values())
    print(f"{heads} heads: {weights:,} weights, {heads * 100 * 100:,} attention weights")

# %% [markdown]
# Heads are free of weights: eight narrow questions cost as much as a wide one. What grows are the attention maps, one
# for each head. $d_k$ and $d_v$ need not be equal, and need not be $d_{model} / H$: the queries' width says how
# finely heads can ask, the values' width how much they can bring back.
#
# ## Split and merge
#
# The product $x W_Q$ has the shape $(B, T, H d)$. Attention wants $(B, H, T, d)$: for each head a table with a row
# for each place. So cut the last axis into $(H, d)$, and swap two axes.
#
# **Predict:** below, two tokens with four numbers each. What does head 0 hold? And what would it hold after a
# `reshape` straight to $(H, T, d)$?

# %%
x = np.array([[[1, 2, 3, 4], [5, 6, 7, 8]]])                 # (B, T, H d) = (1, 2, 4), H = 2
print("split, then swapped:", x.reshape(1, 2, 2, 2).swapaxes(1, 2)[0, 0].tolist())
print("reshaped at once:   ", x.reshape(1, 2, 2, 2)[0, 0].tolist())

# %% [markdown]
# The second has the right shape and the wrong numbers: head 0 gets all of the first token and nothing of the second.
# A `reshape` never moves a number, it only reads the same sequence in other rows.
#
# After attention the way back: swap, then join, `heads.swapaxes(1, 2).reshape(B, T, H * d)`. Merging is the inverse
# of splitting. Since neither adds or multiplies, each is the backward of the other.
#
# ## Backward: one input, three ways
#
# In self-attention the same $x$ is query, key and value. It touches the loss in three ways, and the chain rule adds
# them:
#
# $$ dx = dq\, W_Q^\top + dk\, W_K^\top + dv\, W_V^\top $$
#
# All of shape $(B, T, d_{model})$. If you forget one, the shape is right, and the other two train.
#
# ## Prove it
#
# Sizes that are all different: a batch of 2, 3 places, 2 heads, $d_{model} = 6$, $d_k = 4$, $d_v = 5$.

# %%
layer = SelfAttention(6, 2, rng, d_k=4, d_v=5)
report = gradcheck(layer, [rng.standard_normal((2, 3, 6))], name="self-attention")
print(report.summary())
assert report.passed

# %% [markdown]
# ## Break it: the merge without its swap
#
# People have asked about this one for years, in several repositories: the code lacks the swap before the reshape, and
# the copy task is learned all the same. First, what the slip does. **Predict:** whose pieces does the output of place
# 0 contain?

# %%
heads = np.arange(6).reshape(1, 1, 6, 1) + 10 * np.arange(2).reshape(1, 2, 1, 1)    # head h, place t: 10 h + t
print("merged right, place 0:", heads.swapaxes(1, 2).reshape(1, 6, 2)[0, 0], "(place 0 of both heads)")
print("merged wrong, place 0:", heads.reshape(1, 6, 2)[0, 0], "(places 0 and 1 of the first head)")

# %% [markdown]
# Place 0 gets what places 0 and 1 have found. Now train with it. The slip is made in the forward, and autograd (or a
# careful author) makes the matching backward. So the gradient is the right one of a wrong function. **Predict:** does
# it train?


# %%
def mixed(query, key, value, *more):
    y, cache = attention_forward.__wrapped__(query, key, value, *more)
    B, H, T, d = y.shape
    return y.reshape(B, T, H, d).swapaxes(1, 2), cache    # merged rightly after this, it is as if merged without the swap


def mixed_backward(dy, cache):
    return attention_backward.__wrapped__(dy.swapaxes(1, 2).reshape(dy.shape), cache)


# %%
right = train()
wrong = train(plugged(attention_forward, mixed), plugged(attention_backward, mixed_backward))
for step in (1, 50, 100, 150, 200):
    print(f"step {step:3}: right {right.losses[step - 1]:.3f}, without the swap {wrong.losses[step - 1]:.3f}")
for name, model in (("right", right), ("without the swap", wrong)):
    source, answer = model.example
    print(f"{name}: {source} -> {answer or '(nothing)'}")

# %% [markdown]
# It trains: the loss falls, as people report. It is the other line that gives it away. In a decoder the mix is a
# leak, as in chapter 6: place 0 receives what place 1 saw. A model that writes has no place 1 yet. Neither shapes nor
# gradients nor the curve show it; a comparison with right numbers does, and that is what the judge makes.
#
# ## What heads learn
#
# The model that you have just trained copies letters. In its decoder, each place has to find the letter to write: it
# looks at the encoder's places through four heads. **Predict:** where will the dark cells be?

# %%
sources = [[3 + letter for letter in (7, 0, 19, 2, 11, 5, 14, 8)]]
batch = make_batch([(source, source) for source in sources])
p = right.model.attention_weights(batch.source, batch.target)["cross"][0][0]    # (H, T_q, T_k)
figure, axes = plt.subplots(1, 4, figsize=(10, 2.9), sharey=True, layout="constrained")
for h, one in enumerate(axes):
    image = one.imshow(p[h], cmap="Blues", vmin=0, vmax=1)
    one.set_title(f"head {h}")
    one.set_xticks(range(0, 9, 2))
    one.set_xlabel("key: letter of the source")
axes[0].set_ylabel("query: place written")
bar = figure.colorbar(image, ax=axes, label="attention weight")
for h in range(4):
    near = np.mean([p[h, t, t] for t in range(8)])
    print(f"head {h}: {near:.0%} of its attention is on the letter to copy")

# %% [markdown]
# Nobody told the heads where to look. All four have found the diagonal, each of them in its own way: where one is unsure
# between two neighbours, another one is not. A mean of four such answers, weighted by $W_O$, is better than each alone.
#
# ## Exercises
#
# `minitransformer learn start 7` writes this page into your folder, followed by four functions with blanks. Fill one,
# save, and ask `minitransformer learn check`. When `merge_heads` passes: `minitransformer learn plug merge_heads`.
#
# **Read next:** `MultiHeadAttention` in `minitransformer/layers/attention.py`.
