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
# # 13. After 2017: four new parts of a chat model

# %%
from minitransformer_course import lab, yours

lab.you_are_here("positions", "layer_norm", "heads", "feed_forward")

# %% [markdown]
# SmolLM2 is a chat model from 2024 with 135 million parameters, and it can tell you why the sky
# is blue. If you open its file, you will recognise nearly everything: embeddings, heads,
# residuals, feed-forward networks and a softmax. Besides its size, four parts are left between
# your model and this one, and in this chapter you write these four.
#
# They run in a small model of the same kind that comes with the book. It has 236 thousand
# parameters and has read tiny Shakespeare. If you have SmolLM2's file, they run in SmolLM2, too. At
# the end we change the parts of the trained model, one at a time. One change costs almost nothing,
# and others leave not a single word. Which ones?

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck
from minitransformer.functional import sinusoids
from minitransformer.zoo.modern import (
    grouped_attention_backward, grouped_attention_forward, rms_norm_backward, rms_norm_forward)
from minitransformer_course.lab import chat_model

model, text = chat_model.small(), "KING RICHARD:\nWhat must be done, my lord, "
rng = np.random.default_rng(0)
print(text + model.answer(text))


# %%
def prove(name, forward, backward, *inputs):
    report = gradcheck((forward, backward), list(inputs), name=name)
    print(report)
    assert report.passed


# %% [markdown]
# ## A norm that only divides
#
# LayerNorm subtracts the mean of each row, divides by its standard deviation, multiplies by
# $\gamma$ and adds $\beta$. RMSNorm divides each row by the square root of its mean square and
# multiplies by $\gamma$. You derived its backward in chapter 8. The forward is short, yet
# published versions have multiplied by this root (llm-foundry, issue 371) or added $\epsilon$
# outside it (OLMo, issue 281).
#
# **By hand.** The row $(3, 4)$ has mean square 12.5. Divided by its square root, 3.54, the row
# becomes $(0.85, 1.13)$, and its mean square is 1.

# %% [exercise] rms_norm

# %% [derivation]
# **The rule: $n = x s$ has mean square 1.** The mean square of $x s$ is $s^2
# \operatorname{mean}(x^2)$, so $s = 1 / \sqrt{\operatorname{mean}(x^2)}$. If you double a row,
# $s$ is halved and $n$ stays the same.
#
# **Where does ε belong?** A row of zeros needs it, and so does backward. The derivative of $\sqrt
# v$ is $1 / (2 \sqrt v)$, which is infinite at $v = 0$. In $\sqrt{v} + \epsilon$ it remains
# infinite, while $\sqrt{v + \epsilon}$ has a finite derivative everywhere:
#
# $$ s = \frac{1}{\sqrt{\operatorname{mean}(x^2) + \epsilon}} \quad (\dots, 1), \qquad
#    n = x\, s, \qquad y = \gamma\, n \quad (\dots, D) $$

# %% [markdown]
# **Prove it.** Your forward runs with the library's backward, which you derived in chapter 8.

# %%
with chat_model.running({"rms_norm": rms_norm}):
    prove("RMSNorm", rms_norm_forward, rms_norm_backward, rng.standard_normal((2, 3, 8)), rng.standard_normal(8))

# %% [markdown]
# **Predict:** the row $(0.003, 0.004)$ has mean square $1.25 \cdot 10^{-5}$, and $\epsilon$ is
# $10^{-5}$. What is the mean square of its $n$?

# %%
_y, n, _s = rms_norm(np.array([[3.0, 4], [0.003, 0.004]]), np.ones(2), 1e-5)
sizes = model.sizes(text, {"rms_norm": rms_norm})    # (layers, T)
print("mean squares of n:", (n ** 2).mean(axis=-1).round(3))
chat_model.show_sizes(sizes)

# %% [markdown]
# The mean square is $1.25 / 2.25 = 0.556$, so a row smaller than $\sqrt\epsilon$ stays small.
# Inside the model, every layer adds to $x$, so $x$ grows. The norm brings each row to size 1
# before a sub-layer reads it.
#
# ## Positions that turn
#
# The paper adds sinusoids to the embeddings, below the first layer. A score is then a product of
# two sums, which mixes the distance with both absolute positions. In chapter 3 you saw that
# moving by $k$ steps turns each pair of sinusoids by the same angle, wherever you start. *Rotary
# positions* use that rotation directly. They add nothing to the embeddings; instead, every layer
# turns pairs of numbers in its queries and keys by an angle that grows with the position.
#
# **By hand.** Query and key are both $(1, 0)$, and each step turns them by 30°. At positions 2
# and 0, the query is at 60° and the key at 0°, so their product is the cosine of 60°, which is
# 0.5. At 7 and 5, the angles are 210° and 150°, and the product is again 0.5.

# %% [exercise] rotary

# %% [derivation]
# **A rotation is a matrix, and its transpose rotates back.** For a pair that turns by $b$, the
# matrix is $R_b = \begin{pmatrix} \cos b & -\sin b \\ \sin b & \cos b \end{pmatrix}$, whose
# columns say where $(1, 0)$ and $(0, 1)$ go. The transpose is $R_b^\top = R_{-b}$, and angles add
# up: $R_a R_b = R_{a + b}$. So for a query at $t$ and a key at $s$,
#
# $$ (R_{t\omega}\, q)^\top (R_{s\omega}\, k) = q^\top R_{-t\omega} R_{s\omega}\, k = q^\top R_{(s - t)\omega}\, k $$
#
# Only the distance is left. This holds for every pair, whatever its speed $\omega_i =
# \text{base}^{-2i/d}$, and therefore for their sum. The angles have shape $(T, d/2)$, and
# broadcasting repeats them for every head and sentence of $x$, $(\dots, T, d)$.

# %% [markdown]
# **Predict:** rotary positions need no separate backward. Which change to the arguments turns
# your forward into its own backward?

# %%
places = np.array([0, 7, 2])
prove("rotary", lambda x: (rotary(x, places, 50.0), None), lambda dy, cache: rotary(dy, -places, 50.0),
      rng.standard_normal((2, 3, 8)))
query, key, at = *rng.standard_normal((2, 1, 64)), np.arange(60)
turned = rotary(np.tile(query, (60, 1)), at, 1e4) @ rotary(np.tile(key, (60, 1)), at, 1e4).T    # (t, s)
added = (query + sinusoids(60, 64)) @ (key + sinusoids(60, 64)).T
figure, both = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for axes, scores, name in zip(both, (added, turned), ("sinusoids added", "turned")):
    for t, style in zip((20, 40, 59), ("k-", "r--", "b:")):
        axes.plot(t - at[:t + 1], scores[t, :t + 1], style, label=f"query at {t}")
    axes.set(title=name, xlabel="distance from query to key", ylabel="score")
    axes.legend(fontsize=9)

# %% [markdown]
# With `-positions` every rotation is undone, which is what the transpose does. On the right, the
# three curves coincide, because a score depends only on how far away the key is.
#
# ## Which numbers are a pair?
#
# You turned neighbouring numbers, as the paper on rotary positions does. Other libraries pair the numbers $i$ and $i + d/2$,
# and readers take that for a bug (EleutherAI/gpt-neox, issue 834; rasbt/LLMs-from-scratch, issue 838), with evidence, since
# the outputs differ. **Who is right?**

# %% [exercise] test_pairs

# %% [derivation]
# **The rule: the product depends on $t - s$ alone.** Its derivation never asked which two numbers
# form a pair or which way they turn, so neighbours and halves are both right. The mixture is
# wrong, because the two numbers of a pair get different angles, and $\begin{pmatrix} \cos a &
# -\sin a \\ \sin b & \cos b \end{pmatrix}$ is not a rotation. With $d = 2$ there is only one pair
# and one angle, so the mistake cannot show. A version that never turns satisfies the rule as
# well, so the test must also require a different product at a different distance.

# %%
lab.verdicts(test_pairs)

# %% [markdown]
# Both ways to pair are right, and a model can be trained with either, but trained weights fit
# only one of them. This model pairs neighbours. The next cell runs it with halves. At first the
# columns of $W_q$ and $W_k$ stay where they are, and then they move, within each head, to where
# their pairs now are. **Predict:** do the logits of the second run differ from the right ones by
# more than rounding?

# %%
d, mine = model.model.config.d_k, {"rms_norm": rms_norm, "rotary": rotary}
right = model.logits(text, own=mine)
for name, columns in ("as they are", np.arange(d)), ("moved", np.r_[0:d:2, 1:d:2]):
    with model.as_halves(columns):
        print(f"columns {name}: the logits differ by {np.abs(model.logits(text, own=mine) - right).max():.2g}")

# %% [markdown]
# The two layouts order the same columns differently, which training never notices but an import
# has to get right. The authors of SmolLM2 published a file that pairs halves, and the file that
# `minitransformer data smollm2` downloads pairs neighbours.
#
# ## A gate in place of ReLU
#
# In the paper's feed-forward network, ReLU lets a number pass or not, depending on its sign. A
# *gated* network computes two projections, $a = x W_{gate}$ and $u = x W_{inner}$. The second
# passes through, and the first decides how much of it: $h = \operatorname{silu}(a)\, u$, where
# $\operatorname{silu}(a) = a \cdot \operatorname{sigmoid}(a)$. A third matrix, $W_{outer}$,
# brings $h$ back to $d_{model}$.
#
# **By hand.** At $a = 0$ the sigmoid is $1/2$ and $h$ is 0. Raise $a$ to 0.01, and $h$ becomes
# about $0.01 \cdot \frac12 u$. So the derivative with respect to $a$ is $u / 2$ there, while
# ReLU's derivative jumps from 0 to 1.

# %% [exercise] swiglu

# %% [derivation]
# **The product rule, twice.** Write $s = 1 / (1 + e^{-a})$. By the chain rule,
# $s' = e^{-a} / (1 + e^{-a})^2 = s\, (1 - s)$. Then
#
# $$ \frac{\partial h}{\partial a} = (s + a\, s')\, u = s\, \big( 1 + a\, (1 - s) \big)\, u, \qquad
#    \frac{\partial h}{\partial u} = a\, s \qquad (\dots, d_{ff}) $$
#
# Each number of $h$ depends only on its own $a$ and $u$, so backward is $da = dh\, \partial h /
# \partial a$ and $du = dh\, \partial h / \partial u$. Both $a$ and $u$ come from $x$, whose
# gradient is the sum $da\, W_{gate}^\top + du\, W_{inner}^\top$.
#
# **Without overflow:** $e^{-a}$ is infinite for $a = -1000$, which still gives $s = 0$, while
# $e^a / (1 + e^a)$ is NaN for $a = 1000$. With $s = \frac12 + \frac12 \tanh(a / 2)$, nothing
# overflows.

# %% [markdown]
# **Prove it.** Backward multiplies $dh$ by your two derivatives. With $u = 1$, the picture shows silu itself and its
# derivative.


# %%
def forward(a, u):
    h, *slopes = swiglu(a, u)
    return h, slopes


prove("gate", forward, lambda dh, slopes: tuple(dh * slope for slope in slopes), *rng.standard_normal((2, 3, 5)))
a = np.linspace(-6, 6, 200)
h, slope, _ = swiglu(a, np.ones(200))
figure, both = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
for axes, silu, relu, name in zip(both, (h, slope), (np.maximum(a, 0), np.where(a > 0, 1, 0)), ("gate", "slope of the gate")):
    axes.plot(a, silu, "tab:purple" if name != "gate" else "k", label="silu")
    axes.plot(a, relu, "0.6", linestyle="--", label="ReLU")
    axes.set(xlabel="a", ylabel=name)
    axes.legend(loc="upper left")

# %% [markdown]
# A gated network has three matrices where the paper's has two. **Predict:** for $d_{model} =
# 576$, the paper would choose $d_{ff} = 4 \cdot 576 = 2304$. Which $d_{ff}$ gives a gated network
# the same number of weights?

# %%
print(f"2 x 576 x 2304 = {2 * 576 * 2304:,} = 3 x 576 x {2 * 576 * 2304 // (3 * 576)}; d_ff of SmolLM2: {chat_model.SMOLLM2.d_ff}")

# %% [markdown]
# ## Fewer keys than queries
#
# The key-value cache of chapter 12 holds a key and a value for every head, layer and position,
# and each new token reads them all. *Grouped queries* make the cache smaller. There are still $H$
# heads of queries but only $G$ heads of keys and values, each shared by $R = H / G$ neighbouring
# heads.
#
# **By hand.** SmolLM2 has 30 layers with 9 heads of width 64. If each head had its own keys and
# values, every position would take $2 \cdot 30 \cdot 9 \cdot 64 = 34{,}560$ numbers. **Predict:**
# after how many positions would the cache hold more numbers than the model's 135 million weights?
# And after how many with 3 groups?

# %% [exercise] grouped_attention

# %% [derivation]
# **Neighbours share: head $h$ reads group $h // R$.** That is the order in which a reshape from
# $(B, H, T_q, d_k)$ to $(B, G, R, T_q, d_k)$ lays them out. Keys, $(B, G, 1, T_k, d_k)$, have an
# axis of length 1 in place of $R$, so NumPy repeats them for each head without copying. Scores
# are $(B, G, R, T_q, T_k)$, and the rest is as in chapter 5. `np.repeat` along the axis of heads
# gives the same result with copies, while `np.tile` puts the groups in another order, $h \bmod
# G$.
#
# **Backward: what is used several times gets the sum of its gradients.** A key is used by the $R$
# heads of its group, so $dk_g = \sum_r dk_{gr}$, and the same holds for the values.

# %% [markdown]
# **Prove it**, with the library's backward, which adds up what a shared key gets from each of its
# heads:

# %%
with chat_model.running({"grouped_attention": grouped_attention}):
    prove("grouped attention", grouped_attention_forward, grouped_attention_backward, rng.standard_normal((2, 6, 3, 4)),
          rng.standard_normal((2, 2, 5, 4)), rng.standard_normal((2, 2, 5, 7)))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
chat_model.show_cache(left, (9, 3))
query, names = np.zeros((1, 9, 1, 2)), np.arange(3.0).reshape(1, 3, 1, 1)    # the value of group g is g
y, _p = grouped_attention(query, np.zeros((1, 3, 1, 2)), names, np.ones((1, 1, 1), bool))
right.plot(y[0, :, 0, 0], "o", color="tab:green", label="yours")
right.plot(np.arange(9) % 3, "x", color="tab:red", label="in the order of np.tile")
right.set(xlabel="head of queries", ylabel="group whose value it gets", xticks=range(9), yticks=range(3), ylim=(-0.3, 3.5))
right.legend(loc="upper left")
print(*(f"{G} heads: {chat_model.PARAMETERS / (2 * 30 * G * 64):,.0f} positions" for G in (9, 3)), sep="\n")

# %% [markdown]
# With 9 heads of keys, the cache would outgrow the weights before it reached half of the model's window of 8,192 positions.
# With 3, it never does. Which heads share a group is a convention, like the pairs.
#
# ## Your Transformer
#
# All four functions are in the model now. What does each of them contribute? Change one at a
# time, and ask how many bits a character of the held-out text costs, with your function of
# chapter 12b. **Predict:** which change costs least, and which two make the model worse than
# guessing, at $\log_2 62 = 6.0$ bits? (Three of the 65 tokens never occur in a text.)

# %%
bits_per_character = lab.own("bits_per_character")
mine = {**mine, "swiglu": swiglu, "grouped_attention": grouped_attention}
swap = [0, 2, 1, 3]    # heads 1 and 2 change places, so each reads the other's group


def swapped(query, key, value, mask):
    return tuple(one[:, swap] for one in grouped_attention(query[:, swap], key, value, mask))


# %%
changes = {
    "none": {},
    "the mean subtracted": {"rms_norm": lambda x, g, e: rms_norm(x - x.mean(-1)[..., None], g, e)},
    "ReLU in the gate": {"swiglu": lambda a, u: (np.maximum(a, 0) * u, a, u)},
    "head h reads h % G": {"grouped_attention": swapped},
    "nothing turns": {"rotary": lambda x, positions, base: x},
    "no gate: h = u": {"swiglu": lambda a, u: (u, a, u)},
    "no division": {"rms_norm": lambda x, g, e: (g * x, x, np.ones_like(x[..., :1]))},
}
cost, unseen = {}, lab.text.shakespeare()[2][:40 * 96].reshape(40, 96)
for name, change in changes.items():
    with chat_model.running({**mine, **change}):
        cost[name] = bits_per_character(model.model.forward(unseen)[0], unseen)
chat_model.show_changes(cost)

# %%
for name, change in changes.items():
    print(f"{cost[name]:9.3g} bits, {name:20}", repr(model.answer("ROMEO:", {**mine, **change})))
lab.run_yours("13")

# %% [markdown]
# Without the division or without its gate, the model does worse than guessing, because it is still
# sure of what it says. Subtracting the mean, as the paper's norm does, costs least. All of this
# tells you what trained weights rely on, and not how good a model would be that was trained
# without the part.
#
# ## The same functions in SmolLM2
#
# For SmolLM2 itself, run `pip install ".[gguf]"` in your clone and `minitransformer data smollm2`
# (98 MB) in the folder of this page. The next cell then takes about half a minute.

# %%
if large := chat_model.smollm2():
    print(large.answer("Why is the sky blue?", mine))

# %% [markdown]
# The same changes in SmolLM2 ([`after_2017.py`](../../research/experiments/after_2017.py)). The
# loss is that of the unchanged answer, per token, and guessing would cost $\ln 49152 = 10.8$.
#
# | change | loss | the answer begins |
# |---|---|---|
# | none | 0.57 | `The answer to this question lies in the intricate dance` |
# | LayerNorm's mean subtracted | 0.61 | `The sky is blue because of a process called atmospheric` |
# | pairs i and i + d/2 | 5.43 | `You are a You are a You are a creative and creative and` |
# | nothing turns | 6.22 | `You are a You are a You are a You are a You are a You` |
# | ReLU as the gate | 9.90 | `my start The b est. lon est est en other livs b. el est` |
# | head h reads group h % G | 11.45 | `-__-_numerable. - -_-numerable.numerableILEV wisETE` |
# | no gate: h = u | 19.55 | `nargs stepautions metavar care he intakesautions` |
# | no division: y = gamma x | NaN | nothing: its logits are not finite |
#
# The two models differ most in one change. ReLU in the gate costs the small one little and
# SmolLM2 nearly everything. If nothing turns, SmolLM2 still writes words, but it copies them from
# a sentence that it reads before your question: *You are a helpful AI assistant ...* No part of
# SmolLM2 is left that you could not write. What do such parts learn? Chapter 13b takes one model
# apart.
#
# **Read next:** `GroupedQueryAttention` in `minitransformer/zoo/modern/grouped_attention.py`, and `configuration` in
# `minitransformer/zoo/pretrained/llama.py`.
