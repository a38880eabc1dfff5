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
# # 4. Softmax: from scores to probabilities
#
# A word looks at eight other words and gives each of them a score. One score is 1,000. You compute the softmax by its
# formula, and the answer is NaN. Nothing in the mathematics is wrong. What happened?
#
# In this chapter you find out, and you derive the backward of the softmax. It is one line long. It is also the line
# that most people get wrong, and the shapes do not show it.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import functional, gradcheck, plugged
from minitransformer.learn import yours
from minitransformer.learn.plug import train

rng = np.random.default_rng(0)

# %% [markdown]
# ## From scores to probabilities
#
# A softmax turns $K$ scores into $K$ positive numbers that sum to 1:
#
# $$ p_i = \frac{e^{x_i}}{\sum_j e^{x_j}} $$
#
# **By hand.** Take two scores, $x = (0, \ln 3)$. Then $e^{x} = (1, 3)$, the sum is 4, and $p = (1/4, 3/4)$. Adding
# $\ln 3 \approx 1.1$ to a score makes its entry three times as large, whatever the other scores are: a softmax
# looks at *differences* of scores.
#
# **Predict:** what are the probabilities for $x = (100, 100 + \ln 3)$?


# %%
def by_the_formula(x):
    e = np.exp(x)
    return e / e.sum()


print(by_the_formula(np.array([0, np.log(3)])))
print(by_the_formula(np.array([100, 100 + np.log(3)])))

# %% [markdown]
# The same. A constant $c$ that is added to all scores cancels: $e^{x_i + c} = e^c e^{x_i}$ above and below the line.
# Remember this. The rest of the chapter follows from it.
#
# ## One score is 1,000
#
# **Predict:** what does the cell print for $x = (1000, 1000 + \ln 3)$?

# %%
with np.errstate(all="ignore"):
    print(by_the_formula(np.array([1000, 1000 + np.log(3)])))
    print("exp(709) =", np.exp(709.0), "  exp(710) =", np.exp(710.0))
    print("in float32: exp(88) =", np.exp(np.float32(88)), "  exp(89) =", np.exp(np.float32(89)))

# %% [markdown]
# A float64 holds numbers up to about $10^{308}$, and a float32, in which models are trained, up to about $10^{38}$.
# Above that there is only infinity, and infinity divided by infinity is NaN.
#
# The cure is the property that you have seen. A constant may be added, so subtract the largest score of the row. Then
# the largest exponent is 0, the largest exponential is 1, and the sum lies between 1 and $K$. It can neither overflow
# nor be 0. Exponentials that become too small end as 0, which is what they are next to a 1.
#
# With arrays: scores have the shape $(\dots, K)$, one row of $K$ scores for each word that looks. The dots stand for any
# number of axes, so say `axis=-1`, not `axis=1`. The maximum and the sum are taken for each row. With `keepdims=True`
# they have the shape $(\dots, 1)$, and broadcasting repeats them along the row. Writing this is your first exercise;
# until then this page uses the library's softmax.


# %%
def softmax(x):
    return functional.softmax_forward(x)[0]    # p, without what backward needs


print(softmax(np.array([1000, 1000 + np.log(3)])))

# %% [markdown]
# One maximum for the complete array is tempting, and works on most days. **Predict:** which row fails here?

# %%
x = np.array([[0.0, 1.0], [1000.0, 1001.0]])
with np.errstate(all="ignore"):
    e = np.exp(x - x.max())
    print("one maximum for all: ", (e / e.sum(axis=-1, keepdims=True)).tolist())
print("one for each row:    ", softmax(x).round(3).tolist())

# %% [markdown]
# ## The Jacobian that nobody builds
#
# Now backward. Above the softmax somebody has computed $dp_i = \partial L / \partial p_i$. You need
# $dx_i = \partial L / \partial x_i$.
#
# **By hand.** Go back to $p = (1/4, 3/4)$. Let the first score grow by a little. Its probability grows, and the other
# one shrinks by the same amount, because they sum to 1. The derivatives are
#
# $$ \frac{\partial p_1}{\partial x_1} = p_1 (1 - p_1) = \tfrac{3}{16} $$
#
# $$ \frac{\partial p_2}{\partial x_1} = - p_1 p_2 = -\tfrac{3}{16} $$
#
# Let $dp = (10, 2)$. The loss changes through both probabilities:
# $dx_1 = 10 \cdot \tfrac{3}{16} - 2 \cdot \tfrac{3}{16} = 1.5$. **Predict** $dx_2$ before you read on.

# %%
p, dp = np.array([1 / 4, 3 / 4]), np.array([10.0, 2.0])
jacobian = np.diag(p) - np.outer(p, p)    # row i, column j: how p_i changes with x_j
print(jacobian * 16, "/ 16")
print("dx =", dp @ jacobian)

# %% [markdown]
# $dx_2 = -1.5$. The two sum to 0, and they have to: adding the same number to both scores changes nothing.
#
# **The general case.** The quotient rule gives one formula for both cases ($\delta_{ij}$ is 1 if $i = j$, else 0):
#
# $$ \frac{\partial p_i}{\partial x_j} = p_i (\delta_{ij} - p_j) $$
#
# The chain rule sums over every $p_i$ that $x_j$ touches, and it touches all of its row:
#
# $$ dx_j = \sum_i dp_i \, p_i (\delta_{ij} - p_j) $$
#
# From $\delta_{ij}$ comes $p_j\, dp_j$, from the second term $- p_j \sum_i dp_i\, p_i$. Take $p_j$ out:
#
# $$ dx_j = p_j \Big( dp_j - \sum_i dp_i\, p_i \Big) $$
#
# The sum is one number for each row. In arrays: $dp$ and $p$ are $(\dots, K)$, the sum is $(\dots, 1)$, and $dx$ is
# $(\dots, K)$. A Jacobian would be $(\dots, K, K)$. In a Transformer, each of the $T$ tokens of a sentence scores all $T$
# tokens, and it does so 8 times, in 8 *heads* (chapter 7). **Predict:** how many gigabytes do the Jacobians take for a
# batch of 32 sentences of 128 tokens, in float32 (4 bytes a number)?

# %%
B, H, T = 32, 8, 128
print(f"p: {4 * B * H * T * T / 1e9:.3f} GB, the Jacobians: {4 * B * H * T * T * T / 1e9:.1f} GB")

# %% [markdown]
# ## Prove it
#
# The library's `softmax_backward` is this formula. The gradient check nudges every score, by central differences and
# by the complex step, and compares.

# %%
x = rng.standard_normal((2, 3, 5))
report = gradcheck((functional.softmax_forward, functional.softmax_backward), [x], name="softmax")
print(report)
assert report.passed

# %% [markdown]
# As in chapter 1, the check draws a random `dp`. **Predict:** what is $dx$ if every $dp_i$ is 1?

# %%
p, cache = functional.softmax_forward(x)
print(np.abs(functional.softmax_backward(np.ones_like(p), cache)).max())

# %% [markdown]
# It is 0, up to rounding: the probabilities sum to 1 whatever the scores are. A check with ones would prove nothing here.
#
# ## Temperature
#
# Divide all scores by a number $t$ before the softmax. It is called *temperature*. **Predict:** which of $t = 0.2$,
# $1$ and $5$ gives nearly equal probabilities?

# %%
scores = np.array([2.0, 1.0, 0.5, 0.0, -1.0])
figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), sharey=True, layout="constrained")
for one, t in zip(axes, (0.2, 1, 5)):
    one.bar(range(5), softmax(scores / t), color="tab:gray")
    one.set_title(f"t = {t}")
    one.set_xlabel("which score")
axes[0].set_ylabel("probability")
for t in (0.2, 1, 5):
    p = softmax(scores / t)
    jacobian = np.diag(p) - np.outer(p, p)
    print(f"t = {t}: largest p {p.max():.3f}, largest entry of the Jacobian {np.abs(jacobian).max():.3f}")

# %% [markdown]
# A high temperature makes the probabilities nearly equal; a low one makes the largest nearly 1. At $t = 0.2$ the entries
# of the Jacobian are nearly 0: the softmax is *saturated*, and almost no gradient comes through. In chapter 5 you meet
# attention, which divides its scores by a number. Without that division its softmax is saturated, as here.
#
# Write $s = x / t$, and $ds$ for the gradient that comes out of `softmax_backward`. Then $dx = ds / t$, and $t$ touches
# every $s_i$ with the derivative $-x_i / t^2$, so $dt = -\sum_i ds_i\, x_i / t^2$. There is one $t$ for all rows, so the
# sum runs over all rows as well.
#
# ## A row with nothing to attend to
#
# Sometimes a word must not look at some of the others. To *attend* to a word is to give it a probability above 0, and a
# *mask* is an array of True and False, where True means "may attend". `np.where(mask, x, -np.inf)` makes the forbidden
# scores $-\infty$, and $e^{-\infty} = 0$. **Predict:** what if a row has no allowed entry?

# %%
with np.errstate(all="ignore"):
    print("the formula: ", softmax(np.array([-np.inf, -np.inf, -np.inf])))
print("with -1e9:   ", softmax(np.array([-1e9, -1e9, -1e9])))
x, mask = np.array([[1.0, 2.0, 3.0]]), np.array([[False, False, False]])
print("the library: ", functional.softmax_forward(x, mask)[0])

# %% [markdown]
# Three answers. NaN spoils all the model's parameters at the first update. The popular $-10^9$ is worse in its own way: a
# row that may look at nothing looks at everything, and nobody notices. In the library such a row is all zeros: it
# attends to nothing, and sends no gradient. Subtract the largest of the *allowed* scores: next to a masked score of 1,000, the
# exponential of every other score is 0.
#
# ## The logarithm, for the loss
#
# A loss needs $\log p$. A very small probability is rounded to 0, and $\log 0$ is $-\infty$. So do not take the logarithm
# of a finished softmax. Put the formula into the logarithm first, and the exponential of $x_i$ disappears:
#
# $$ y_i = \log p_i = x_i - \log \sum_j e^{x_j} $$
#
# Differentiate with respect to $x_j$. The first term gives $\delta_{ij}$. The sum's logarithm gives
# $e^{x_j} / \sum_k e^{x_k} = p_j$ (the derivative of a logarithm times that of the exponential). Sum over all $y_i$, as
# before: $dx_j = \sum_i dy_i (\delta_{ij} - p_j) = dy_j - p_j \sum_i dy_i$. The sum is that of $dy$ alone, without $p$.
#
# **Predict:** what does each of the two ways print for $x = (0, 800)$?

# %%
x = np.array([0.0, 800.0])
with np.errstate(all="ignore"):
    print("log of the softmax:", np.log(softmax(x)))
print("written out:       ", x - x.max() - np.log(np.exp(x - x.max()).sum()))

# %% [markdown]
# ## Break it
#
# "A probability grows with its own score, so $dx = p (1 - p)\, dp$." This uses the diagonal of the Jacobian and
# forgets the rest. It has the right shape, and it looks like a derivative that you know from the sigmoid. Does a
# model train with it?
#
# Put it in the place of the library's, and train, as in chapter 1. The loss is made of $-\log p$; with the natural
# logarithm its unit is called the *nat*. **Predict:** how far apart are the two losses after 100 steps?


# %%
def diagonal(dp, cache):
    return cache.p * (1 - cache.p) * dp


right = train(steps=100).losses
wrong = train(plugged(functional.softmax_backward, diagonal), steps=100).losses
for step in (1, 25, 50, 75, 100):
    print(f"step {step:3}: right {right[step - 1]:.3f}, wrong {wrong[step - 1]:.3f}")

# %%
figure, axes = plt.subplots(figsize=(4.8, 2.8), layout="constrained")
axes.plot(right, color="black", label="the right gradient")
axes.plot(wrong, color="tab:red", linestyle="--", label="the diagonal only")
axes.set_xlabel("training step")
axes.set_ylabel("loss for each token (nats)")
legend = axes.legend()

# %% [markdown]
# The loss of the wrong one goes down too, but more slowly: to 2.9 after 100 steps, not to 1.2. On a new task you have no
# second curve to compare with: you would search for a better learning rate. The gradient doctor does not look at the
# curve:

# %%
report = gradcheck((functional.softmax_forward, diagonal), [rng.standard_normal((2, 3, 5))], name="diagonal")
print(report.findings["diagonal"])

# %% [markdown]
# ## Exercises
#
# `minitransformer learn start 4` writes this page into your folder, followed by five functions with blanks. Fill one,
# save, and ask `minitransformer learn check`. When `softmax_backward` passes, let it train a model:
# `minitransformer learn plug softmax_backward`.
#
# **Read next:** `softmax_forward` and `softmax_backward` in `minitransformer/functional/softmax.py`.

# %% [exercise] softmax

# %% [exercise] softmax_backward

# %% [exercise] masked_softmax

# %% [exercise] temperature_backward

# %% [exercise] log_softmax_backward
