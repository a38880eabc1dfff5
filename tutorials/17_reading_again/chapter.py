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
# # 17. Reading the paper again
#
# *한국어: 어휘 (vocabulary), 레이블 스무딩 (label smoothing), 선형 투영 (projection), 위치별 (position-wise).*

# %%
from minitransformer_course import lab, yours

lab.you_are_here("embedding", "encoder", "decoder", "loss", "adam", "decoding")

# %% [markdown]
# The first time, you read the paper to find out what a Transformer is. Now that you have written all of it, you can read it
# another way: which of its sentences can be checked, and do they hold? The explanations that people read instead of the paper
# deserve the same treatment. This chapter takes one number from the paper and four sentences from its readers, and you settle
# each of them with a function of a few lines.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck

model, vocabulary = lab.drawkcab()

# %% [markdown]
# ## A number that the paper does not explain
#
# Table 3 says that the base model has 65 million parameters, and section 5.1 says that the vocabulary has about 37,000 tokens.
# You counted the layers' parameters in chapter 9.
#
# **By hand.** The layers have 44,138,496 parameters and the table of embeddings has $37{,}000 \cdot 512 = 18{,}944{,}000$.
# Together that is 63,082,496, which rounds to 63 million. **Predict:** how many tokens would make it 65?
#
# One rounded number allows a range of vocabularies. Ten more rows of the table give a number of parameters, and each of them
# changes different sizes, so each is an independent witness. Rows (B) lower $d_k$ and leave $d_v$ alone.

# %% [exercise] implied_vocabulary

# %% [derivation]
# **The rule: count what does not depend on $V$, and the rest is $V\, d_{model}$.** A linear layer from $a$ to $b$ numbers has
# $(a + 1)\, b$ parameters. Attention has two layers from $d_{model}$ to $H d_k$, one to $H d_v$, and one back from $H d_v$:
#
# $$ A = H (2 d_k + d_v)(d_{model} + 1) + (H d_v + 1)\, d_{model} $$
#
# With $F = (d_{model} + 1)\, d_{ff} + (d_{ff} + 1)\, d_{model}$ and $2 d_{model}$ for a LayerNorm, an encoder layer has $A + F$
# and two LayerNorms, and a decoder layer has $2A + F$ and three LayerNorms:
#
# $$ L = N\, (3A + 2F + 10\, d_{model}), \qquad V = \frac{P - L}{d_{model}} \qquad (R) $$
#
# A printed number $m$ stands for any $P$ from $10^6 (m - \frac12)$ to $10^6 (m + \frac12)$.

# %%
sizes = dict(N=6, d_model=512, d_ff=2048, H=8, d_k=64, d_v=64)
changes = {"base": (65, {}), "d_k = 16": (58, dict(d_k=16)), "d_k = 32": (60, dict(d_k=32)), "N = 2": (36, dict(N=2)),
           "N = 4": (50, dict(N=4)), "N = 8": (80, dict(N=8)), "d_model = 256": (28, dict(d_model=256, d_k=32, d_v=32)),
           "d_model = 1,024": (168, dict(d_model=1024, d_k=128, d_v=128)), "d_ff = 1,024": (53, dict(d_ff=1024)),
           "d_ff = 4,096": (90, dict(d_ff=4096)), "big": (213, dict(d_model=1024, d_ff=4096, H=16))}
rows = np.array([[millions, *(sizes | change).values()] for millions, change in changes.values()])
low, high = implied_vocabulary(*rows.T)
print(f"all rows but the last allow {low[:-1].max():,.0f} to {high[:-1].min():,.0f} tokens")

# %%
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.hlines(range(11), low, high, color="tab:blue", linewidth=5)
axes.axvline(37_000, color="black", linestyle=":")
axes.set(yticks=range(11), yticklabels=changes, xlabel="vocabulary that the number of parameters allows (dotted: 37,000)")
axes.invert_yaxis()

# %% [markdown]
# No row allows 37,000. Ten of the eleven agree on about 41,000, although each of them changes a different size. The big model
# allows at most 36,300. So ten rows count something that the paper does not mention and that grows with $d_{model}$ as 4,000
# more tokens would. The numbers do not say what it is.
#
# ## A plus sign that is missing
#
# A sentence about a program can be settled by a test of that program. In the remaining exercises you write the test, and the
# judge runs it on several versions, some right and some wrong. It must tell them apart without knowing who wrote which.
#
# The first sentence is a formula. With label smoothing (chapter 10), the target is the row
# $q' = (1 - \varepsilon)\, q + \varepsilon\, u$, where $u$ is uniform. One explanation expands the loss $H(q', p)$ into
# $(1 - \varepsilon)\, H(q, p)\; \varepsilon\, H(u, p)$, without a plus sign. Others have the plus sign but swap $u$ and $p$.
#
# **By hand.** Take two tokens with $p = (0.8, 0.2)$ and $\varepsilon = 0.5$, and let the first be the target. The target row is
# $(0.75, 0.25)$, so the loss is $0.75 \cdot 0.223 + 0.25 \cdot 1.609 = 0.57$. The printed product is
# $0.5 \cdot 0.223 \cdot 0.5 \cdot 0.916 = 0.05$. With swapped arguments, the second term is $0.5 \ln 2$ and the sum is 0.46.

# %% [exercise] test_expansion

# %% [derivation]
# **The rule: cross-entropy, $H(a, b) = -\sum_i a_i \log b_i$, is linear in its first argument.** Both rows have shape $(K)$:
#
# $$ H(q', p) = (1 - \varepsilon)\, H(q, p) + \varepsilon\, H(u, p) $$
#
# It is not linear in the second argument, which is inside the logarithm. $H(p, u)$ is $\log K$ whatever $p$ is. Several wrong
# formulas agree with the right one for $\varepsilon = 0$ or for a uniform $p$, so a test has to avoid both.

# %% [markdown]
# Suppose that the swapped formula became code. The next cell checks its gradient against the loss that was meant. **Predict:**
# which part of the true gradient does it lack?

# %%
def loss(logits):
    p = np.exp(logits) / np.exp(logits).sum()
    return -(0.7 * np.log(p[:1]) + 0.3 * np.log(p).mean()), p    # the target is token 0


print(gradcheck((loss, lambda dy, p: 0.7 * dy * (p - np.eye(len(p))[0])), [np.array([0.3, -0.8, 1.1, 0.2])], name="swapped"))

# %% [markdown]
# It lacks $\varepsilon\,(p - u)$, because its second term does not depend on the logits. What is left is the loss without
# smoothing, scaled down a little, and the logits grow without bound, as they did in chapter 10.
#
# ## The numbers of Adam
#
# Section 5.3 sets $\beta_1 = 0.9$, $\beta_2 = 0.98$ and $\epsilon = 10^{-9}$. One explanation prints 0.9 for all three.

# %% [exercise] test_adapts

# %% [derivation]
# **The rule: a quotient of two quantities with the same unit has no unit.** If all gradients are multiplied by $c > 0$, then
# $\hat m$ becomes $c\, \hat m$, $\hat v$ becomes $c^2\, \hat v$, and
#
# $$ \frac{c\, \hat m}{\sqrt{c^2\, \hat v} + \epsilon} = \frac{\hat m}{\sqrt{\hat v} + \epsilon / c} \qquad (T) $$
#
# Only $\epsilon$ notices the scale $c$, and an $\epsilon$ of $10^{-9}$ is too small to matter. With 0.9, the denominator is
# roughly $\epsilon$ for all small gradients, and what remains is gradient descent with momentum. The betas change the steps,
# but Adam adapts with any of them.

# %% [markdown]
# If a gradient $g$ stays the same for a while, $\hat m = g$ and $\hat v = g^2$, and the step is $g / (|g| + \epsilon)$ times
# the learning rate. In the picture, a band marks the middle half of the gradients of our model that writes *drawkcab*.
# **Predict:** with an $\epsilon$ of 0.9, are the steps in this band closer to 1 or to 0?

# %%
lab.inside.add_gradients(model, vocabulary, "backward")
gradients = np.abs(np.concatenate([one.grad.ravel() for one in model.parameters().values()]))
sizes = np.logspace(-10, 2, 100)
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
for eps, style in ((1e-9, "-"), (0.9, "--")):
    axes.loglog(sizes, sizes / (sizes + eps), style, color="black", label=f"epsilon = {eps}")
axes.axvspan(*np.quantile(gradients[gradients > 0], (0.25, 0.75)), color="tab:purple", alpha=0.3)
axes.set(xlabel="size of the gradient", ylabel="step / learning rate")
legend = axes.legend()

# %% [markdown]
# They are close to 0, far shorter than intended, and proportional to the gradient, so nothing adapts.
#
# ## One source, three projections
#
# One explanation says that in self-attention, query, key and value "are the same value". Chapter 5 gave an argument against it:
# the score of A for B would always equal the score of B for A. Scores are rarely shown, though. Papers and explorers show the
# weights after the softmax. Do these still give it away?
#
# **By hand.** Let two tokens have the weights $(0.9, 0.1)$ and $(0.5, 0.5)$. The scores $s_{00} = \ln 9$ and
# $s_{01} = s_{10} = s_{11} = 0$ give exactly these weights, and the scores are symmetric. With two tokens, symmetric scores
# exist for any weights, so you need a third token.

# %% [exercise] test_one_vector

# %% [derivation]
# **The rule: what belongs to a row cancels around a loop.** The logarithm of a weight is its score minus a number that belongs
# to the row:
#
# $$ \log p_{ij} = s_{ij} - z_i, \qquad z_i = \log \sum_k e^{s_{ik}} \qquad (T, T) $$
#
# Walk from token 0 to 1 to 2 and back to 0, and add the logarithms on the way. You leave every row once, so the sum is
# $s_{01} + s_{12} + s_{20} - z_0 - z_1 - z_2$. The other way round gives $s_{10} + s_{21} + s_{02} - z_0 - z_1 - z_2$. If the
# scores are symmetric, the two sums are equal. With two tokens, both directions are the same loop, so nothing shows.

# %% [markdown]
# Now ask a trained model. Each dot is a loop through three letters of *backward* in one head of the encoder. In the second
# model, the keys are projected with the weights of the queries. **Predict:** where do its dots lie?

# %%
same = lab.drawkcab()[0]
attention = same.encoder.layers[0].self_attention
for one, other in ((attention.key.weight, attention.query.weight), (attention.key.bias, attention.query.bias)):
    one.data[...] = other.data
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
for one, name, colour, side in ((model, "trained", "tab:blue", -0.15), (same, "one vector", "tab:orange", 0.15)):
    log_p = np.log(lab.attention_of(one, vocabulary, "backward", "encoder").weights)    # (H, T, T)
    lean = log_p - log_p.swapaxes(1, 2)
    loops = lean[:, :, :, None] + lean[:, None] - lean[:, :, None]    # i to j, j to k, k to i
    for head, found in enumerate(loops):
        axes.plot(head + 1 + side + 0 * found.ravel(), found.ravel(), ".", color=colour, label=None if head else name)
axes.set(xticks=range(1, 5), xlabel="head of the encoder", ylabel="there minus back")
axes.legend()
print("backward ->", lab.write(same, vocabulary, "backward"))

# %% [markdown]
# They all lie at 0, while those of the trained model do not. Its tokens have learned to look at others without being looked at
# in return. This model needs that, because with one vector for both it no longer writes the word.
#
# ## What a position sees
#
# The last sentence is about the word *position-wise*. One explanation says that the position-wise network "captures the context
# of the sentence".

# %% [exercise] test_position_wise

# %% [derivation]
# **The rule: a function of $x_t$ alone has the same value wherever $x_t$ is the same.** So take two sentences, each $(T, d)$,
# that agree at $t$ and differ everywhere else, and compare row $t$ of the outputs. Try every $t$, because a causal layer hides
# nothing from its last position and everything from its first. Reordering the rows is not enough, because self-attention
# reorders its answers in the same way. Nor may the test feed a single row, because that moves the row to position 0, and a
# layer that knows its position still works on each position alone.

# %% [markdown]
# Here is that test as a picture, for two sub-layers of the trained encoder. **Predict:** what does each picture look like?

# %%
layer, x = model.encoder.layers[0], model.source_input.forward(np.array([vocabulary.encode("backward")]))[0]    # x: (1, 8, d)
runs = {"self-attention": lambda x: layer.self_attention.forward(x, None)[0],
        "feed-forward": lambda x: layer.feed_forward.forward(x)[0]}
figure, both = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for axes, (name, run) in zip(both, runs.items()):
    nudged = [run(x + np.eye(8)[u, :, None]) for u in range(8)]
    change = np.array([np.abs(y - run(x)).max(axis=-1)[0] for y in nudged]).T
    figure.colorbar(axes.imshow(change, cmap="Blues", vmin=0), ax=axes, label="largest change", shrink=0.7)
    axes.set(title=name, xlabel="position that was changed", ylabel="position that changes")
    axes.set_xticks(range(8), "backward")
    axes.set_yticks(range(8), "backward")

# %% [markdown]
# The feed-forward network shows only a diagonal. Whatever a position knows about its context was brought there by attention.
#
# ## The neighbours, the plans, the contradictions
#
# **Related work.** Section 2 names the neighbours. The Extended Neural GPU, ByteNet and ConvS2S compute all positions at once
# with convolutions. The farther apart two positions are, the more layers they need: in proportion to the distance in ConvS2S,
# and to its logarithm in ByteNet (chapter 15). Memory networks attend several times to what they have stored. Intra-attention
# is an older name for self-attention, which was mostly used inside recurrent networks. The paper's step was to leave out
# everything else.
#
# **The plans.** Section 7 names three:
#
# - Images, audio and video have their own Transformers today, such as those for [vision](https://arxiv.org/abs/2010.11929) and
#   for [speech](https://arxiv.org/abs/2212.04356).
# - Restricted attention for long inputs exists as [sliding windows](https://arxiv.org/abs/2004.05150). Full attention no longer
#   has to [store](https://arxiv.org/abs/2205.14135) its $T \times T$ matrix.
# - Less sequential generation was tried by writing [all tokens at once](https://arxiv.org/abs/1711.02281). Today's method is to
#   guess several tokens and [check them together](https://arxiv.org/abs/2211.17192).
#
# **The contradictions.** The text of section 6.1 gives a BLEU of 41.0 for English to French, while the abstract and Table 2
# give 41.8. The text and figure 1 normalise after each sub-layer, while the code released with the paper does so before it
# (chapter 8b). The third contradiction is the 4,000 tokens.
#
# **Where to go next.** [The paper, place by place](../../docs/paper_map.md) leads from every section, equation, table, figure
# and footnote to its code, its chapter, an exercise and the test that proves it. Read the paper once more with that page beside
# it. Then read a paper from this year and look for the sentences that a test can settle.
#
# ## Your Transformer

# %%
lab.run_yours()

# %% [markdown]
# **Read next:** `tutorials/one_file.py`, which is the whole paper in one file, and `training_step` in
# `minitransformer/training/step.py`, where everything in this book comes together.
