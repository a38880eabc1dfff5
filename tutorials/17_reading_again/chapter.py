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
# *한국어: 논문 (paper), 어휘 (vocabulary), 매개변수 (parameter), 위치별 (position-wise), 기울기 (gradient).*

# %%
from minitransformer.learn import lab, yours

lab.you_are_here("embedding", "encoder", "decoder", "loss", "adam", "decoding")

# %% [markdown]
# The first time, you read the paper to find out what a Transformer is. Now you have written all of it and can read it in
# another way, with a pencil in your hand: which of its sentences can be checked, and do they hold? The explanations that
# people read instead of the paper deserve the same. This chapter takes one number of the paper and four sentences of its
# readers, and you settle each with a function of a few lines.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck

model, vocabulary = lab.drawkcab()

# %% [markdown]
# ## A number that the paper does not explain
#
# Table 3 says that the base model has 65 million parameters, and section 5.1 that the vocabulary has about 37,000 tokens.
# In chapter 9 you counted the rest.
#
# **By hand.** The layers have 44,138,496 parameters and the table of embeddings has $37{,}000 \cdot 512 = 18{,}944{,}000$.
# Together they are 63,082,496, which anybody would round to 63 million. **Predict:** how many tokens would make it 65?
#
# One rounded number allows a range of vocabularies. The table has ten more rows with a number of parameters, and each of
# them changes another size, so each is a witness of its own. Rows (B) lower $d_k$ and leave $d_v$ alone.

# %% [exercise] implied_vocabulary

# %% [derivation]
# **The rule: count what does not depend on $V$, and the rest is $V\, d_{model}$.** A linear layer from $a$ to $b$ numbers has
# $(a + 1)\, b$ parameters. Attention has two from $d_{model}$ to $H d_k$, one to $H d_v$, and one back from there:
#
# $$ A = H (2 d_k + d_v)(d_{model} + 1) + (H d_v + 1)\, d_{model} $$
#
# With $F = (d_{model} + 1)\, d_{ff} + (d_{ff} + 1)\, d_{model}$ and $2 d_{model}$ for a LayerNorm, an encoder layer has
# $A + F$ and two LayerNorms, and a decoder layer has $2A + F$ and three of them:
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
# No row allows 37,000. Ten of the eleven agree on about 41,000, although they were changed in different sizes, and the big
# model has a range of its own, below 37,000. So something has been counted that the paper does not mention, and in ten rows
# it grows with $d_{model}$ as 4,000 more tokens would. That is as far as the numbers go. They do not say what it is, and you
# should not either.
#
# ## Sentences that a test can settle
#
# A sentence about a program is worth what a test of it is worth. In each of the following exercises you write the test,
# and the judge runs it on several versions, right and wrong. It has to tell them apart without knowing who wrote which.
#
# **The gradient of a logit.** A much-read explanation gives the gradient of the loss by a logit as $q\,(p - 1)$, where $q$
# is 1 at the target and 0 elsewhere.
#
# **By hand.** Three tokens have equal logits, so each has $p = 1/3$, and the first is the target. The formula says
# $(-2/3, 0, 0)$. But if all three logits rise by 1, the probabilities stay the same, and so does the loss. The three
# slopes would have to sum to 0.

# %% [exercise] test_logit_gradient

# %% [derivation]
# **The definition of a derivative, and nothing else.** The loss of logits $z$ with target $y$ is
# $\log \sum_i e^{z_i} - z_y$, one number. For each of the $V$ logits, with a small $h$,
#
# $$ \frac{\partial\, loss}{\partial z_i} \approx \frac{loss(z + h\, e_i) - loss(z - h\, e_i)}{2 h} \qquad (V) $$
#
# where $e_i$ is 1 at $i$ and 0 elsewhere. The error of the quotient is near $h^2$, here $10^{-10}$, so `np.allclose` with
# its tolerance of about $10^{-5}$ passes every correct version, however it rounds.

# %% [markdown]
# What would happen to a model that learns with it? Let one vector of logits learn from targets that are *a* in 60 % of the
# cases, *b* in 30 % and *c* in 10 %. **Predict:** with $q\,(p - 1)$, which probability does *c* end with?

# %%
truth = np.array([0.6, 0.3, 0.1])
learned = {"the targets": truth}
for name, gradient in (("learned with p - q", lambda p: p - truth), ("learned with q (p - 1)", lambda p: truth * (p - 1))):
    logits = np.zeros(3)
    for _step in range(4000):
        p = np.exp(logits) / np.exp(logits).sum()
        logits -= 0.1 * gradient(p)    # the mean over the targets
    learned[name] = p
figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
for i, (name, p) in enumerate(learned.items()):
    axes.bar(np.arange(3) + 0.25 * i, p, 0.22, label=name, color=("tab:gray", "tab:green", "tab:purple")[i])
axes.set(xticks=np.arange(3) + 0.25, xticklabels="abc", xlabel="token", ylabel="probability")
axes.legend()

# %% [markdown]
# It ends with almost none. A token that is wrong gets no gradient, so it is never pushed down, yet the frequent tokens are
# pushed up so often that the rare one disappears beneath them. The model learns, and forgets what is rare.
#
# **Smoothing, taken apart.** The same explanation writes the smoothed loss as a product of two terms. Another one writes it
# as a sum, and swaps $u$ and $p$ in the second.

# %% [exercise] test_expansion

# %% [derivation]
# **The rule: cross-entropy $H(q, p) = -\sum_i q_i \log p_i$ is linear in its first argument.** With
# $q' = (1 - \varepsilon)\, q + \varepsilon\, u$,
#
# $$ H(q', p) = (1 - \varepsilon)\, H(q, p) + \varepsilon\, H(u, p) $$
#
# It is not linear in the second, where the logarithm is, and $H(p, u) = \log V$ whatever $p$ is. A test must avoid the two
# places where wrong formulas agree with the right one: $\varepsilon = 0$, and a uniform $p$.

# %% [markdown]
# Does the gradient of the swapped formula look wrong? Here is a check of it against the loss that was meant:

# %%
def loss(logits):
    p = np.exp(logits) / np.exp(logits).sum()
    return -(0.7 * np.log(p[:1]) + 0.3 * np.log(p).mean()), p    # the target is token 0


print(gradcheck((loss, lambda dy, p: 0.7 * dy * (p - np.eye(len(p))[0])), [np.array([0.3, -0.8, 1.1, 0.2])], name="swapped"))

# %% [markdown]
# Its second term is a constant, so it has no gradient, and what is left is the loss without smoothing, a little smaller.
#
# **The numbers of Adam.** Section 5.3 has $\beta_1 = 0.9$, $\beta_2 = 0.98$ and $\epsilon = 10^{-9}$. One reading prints 0.9
# for all three.

# %% [exercise] test_adapts

# %% [derivation]
# **The rule: a quotient of two quantities with the same unit has no unit.** If all gradients are multiplied by $c > 0$, then
# $\hat m$ becomes $c\, \hat m$, $\hat v$ becomes $c^2\, \hat v$, and
#
# $$ \frac{c\, \hat m}{\sqrt{c^2\, \hat v} + \epsilon} = \frac{\hat m}{\sqrt{\hat v} + \epsilon / c} \qquad (T) $$
#
# This depends on $c$ only by $\epsilon$. With $10^{-9}$ nobody sees it. With 0.9 the denominator is $\epsilon$ for all
# small gradients, and what remains is gradient descent with momentum. The betas do not matter here.

# %% [markdown]
# If a gradient $g$ stays the same for a while, $\hat m = g$ and $\hat v = g^2$, and the step is $g / (|g| + \epsilon)$ times the
# learning rate. The band shows the middle half of the gradients of our model that writes *drawkcab*. **Predict:** for an
# $\epsilon$ of 0.9, are the steps there nearer to 1, or to 0?

# %%
lab.inside.add_gradients(model, vocabulary, "backward")
gradients = np.abs(np.concatenate([one.grad.ravel() for one in model.parameters().values()]))
sizes = np.logspace(-10, 2, 100)
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
for eps, style in ((1e-9, "-"), (0.9, "--")):
    axes.loglog(sizes, sizes / (sizes + eps), style, color="black", label=f"epsilon = {eps}")
axes.axvspan(*np.quantile(gradients[gradients > 0], (0.25, 0.75)), color="tab:purple", alpha=0.3)
axes.set(xlabel="size of the gradient", ylabel="step / learning rate")
axes.legend()

# %% [markdown]
# They are near 0, thousands of times shorter than meant, and proportional to the gradient. Nothing adapts.
#
# **What a position sees.** The last sentence is about the word *position-wise*: the feed-forward network is said to "capture
# the context of the sentence".

# %% [exercise] test_position_wise

# %% [derivation]
# **The rule: if $y_t$ depends on $x_t$ alone, then changing any other $x_u$ leaves it as it is.** The other direction holds for
# a test as well: if $y_t$ depends on some $x_u$, nearly every change of $x_u$ shows it. So change each row of $x$, $(T, d)$,
# in turn, and look at all other rows of $y$. Reordering the rows is not enough, since self-attention commutes with it.

# %% [markdown]
# Here is that test as a picture, for two sub-layers of the trained encoder. **Predict:** what does each of them look like?

# %%
layer, x = model.encoder.layers[0], model.source_input.forward(np.array([vocabulary.encode("backward")]))[0]    # x: (1, 8, d)
runs = {"self-attention": lambda x: layer.self_attention.forward(x, None)[0], "feed-forward": lambda x: layer.feed_forward.forward(x)[0]}
figure, both = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
for axes, (name, run) in zip(both, runs.items()):
    nudged = [run(x + np.eye(8)[u, :, None]) for u in range(8)]
    axes.imshow(np.array([np.abs(y - run(x)).max(axis=-1)[0] for y in nudged]).T, cmap="Blues", vmin=0)
    axes.set(title=name, xlabel="position that was changed", ylabel="position that changes")
    axes.set_xticks(range(8), "backward")
    axes.set_yticks(range(8), "backward")

# %% [markdown]
# The feed-forward network is a diagonal. Whatever a position knows of its context, attention has brought there.
#
# ## What became of it
#
# **Related work.** Section 2 has four neighbours. Extended Neural GPU, ByteNet and ConvS2S compute all positions at once with
# convolutions, and two distant positions need more layers the further they are apart (chapter 15). Memory networks attend
# again and again to what they have stored, and intra-attention looks at the same sentence, but inside a recurrent network.
# What was new is that nothing else remains.
#
# **Its plans.** Section 7 names three.
#
# | plan | what became of it |
# |---|---|
# | images, audio and video | [vision transformers](https://arxiv.org/abs/2010.11929), [speech recognition](https://arxiv.org/abs/2212.04356) |
# | local, restricted attention for long inputs | [sliding windows](https://arxiv.org/abs/2004.05150), while [full attention](https://arxiv.org/abs/2205.14135) learned to do without the $T \times T$ matrix in memory |
# | generation that is less sequential | [all tokens at once](https://arxiv.org/abs/1711.02281), and later [guesses that are checked at once](https://arxiv.org/abs/2211.17192) |
#
# **Where it contradicts itself.** The text has a BLEU of 41.0 for English to French, the abstract and Table 2 have 41.8. The
# text and figure 1 normalise after each sub-layer, the code that was released with it before (chapter 8b). And then there are
# the 4,000 tokens.
#
# **Where to go next.** [The paper, place by place](../../docs/paper_map.md) leads from every section, equation, table, figure
# and footnote to its code, its chapter, an exercise and the test that proves it. Read the paper beside it once more, and then
# something that was written this year: you know its blocks.
#
# ## Your Transformer

# %%
lab.at_work()

# %% [markdown]
# **Read next:** the whole paper in `tutorials/one_file.py`, and `training_step` in `minitransformer/training/step.py`, the
# sixty lines in which everything of this book meets.
