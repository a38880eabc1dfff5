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

# %%
from minitransformer_course import lab, yours

lab.you_are_here("softmax")

# %% [markdown]
# A letter looks at eight other letters and gives each of them a score, and one of the scores is 1,000. You compute the
# softmax with the formula that every textbook prints, and the answer is NaN. Nothing in the mathematics is wrong. So what
# happened?
#
# In this chapter you find out, and you derive the backward of the softmax. It is one line long, and easy to get wrong without
# noticing, because the wrong versions have the right shape.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck, sample
from minitransformer.data.special import EOS

# %% [markdown]
# ## From scores to probabilities
#
# A softmax turns $K$ scores into $K$ positive numbers that sum to 1:
#
# $$ p_i = \frac{e^{x_i}}{\sum_j e^{x_j}} $$
#
# **By hand.** Take two scores, $x = (0, \ln 3)$. Then $e^{x} = (1, 3)$, the sum is 4, and $p = (1/4, 3/4)$. Adding
# $\ln 3 \approx 1.1$ to one score makes its exponential three times as large, whatever the other scores are.
#
# **Predict:** what are the probabilities for $x = (100, 100 + \ln 3)$?


# %%
def by_the_formula(x):
    e = np.exp(x)
    return e / e.sum()


print(by_the_formula(np.array([0, np.log(3)])))
print(by_the_formula(np.array([100, 100 + np.log(3)])))

# %% [markdown]
# A constant $c$ that is added to all scores cancels, because $e^{x_i + c} = e^c e^{x_i}$ puts the same factor $e^c$ above and
# below the fraction line. Most of this chapter follows from that one property.
#
# ## One score is 1,000

# %%
with np.errstate(all="ignore"):
    print(by_the_formula(np.array([1000, 1000 + np.log(3)])))
    print("float64: exp(709) =", np.exp(709.0), "  exp(710) =", np.exp(710.0))
    print("float32: exp(88) =", np.exp(np.float32(88)), "  exp(89) =", np.exp(np.float32(89)))

# %% [markdown]
# A float64 holds numbers up to about $10^{308}$, and a float32, in which models are trained, up to about $10^{38}$. Above
# that there is only infinity, and infinity divided by infinity is NaN. At the other end, the exponentials of very negative
# scores become 0, and 0 divided by 0 is NaN as well.
#
# You have already seen the property that saves you. The scores come as an array of shape $(\dots, K)$, in which each row of
# $K$ scores gets a softmax of its own and the dots stand for any number of axes in front. One row may hold scores near
# 1,000 while the next one holds scores near $-1000$.

# %% [exercise] softmax

# %% [derivation]
# **The rule: adding the same constant to all scores of a row changes no probability.** So choose the constant that keeps
# the exponentials in range. Subtract the row's largest score $m$:
#
# $$ p_i = \frac{e^{x_i - m}}{\sum_j e^{x_j - m}}, \qquad m = \max_j x_j $$
#
# Now the largest exponent is 0 and the largest exponential is 1, so the sum lies between 1 and $K$: it can neither overflow
# nor be 0. Exponentials that become too small are rounded to 0, which is all that they amount to next to a 1. In arrays,
# the maximum and the sum run over the last axis, `axis=-1`, and `keepdims=True` leaves them with shape $(\dots, 1)$, so
# that broadcasting repeats them along each row of $(\dots, K)$.

# %% [markdown]
# ## The Jacobian that nobody builds
#
# Here is a row from real life. While the model of this book writes *drawkcab*, it distributes its attention over the
# letters of *backward* and the end of the word, `</s>`, and this is the row in which it is least certain. Beside it is
# the row's *Jacobian*, the table of all derivatives $\partial p_i / \partial x_j$, measured as in chapter 1b: nudge each
# score in turn, and see how every probability answers.
#
# **Predict:** a column says how all the probabilities change when one score grows. What does a column sum to?

# %%
model, vocabulary = lab.drawkcab()
found = lab.attention_of(model, vocabulary, "backward")    # weights (H, T_q, T_k): each row sums to 1
rows = found.weights.reshape(-1, 9).astype(float)
p = rows[rows.max(axis=1).argmin()]
scores = np.log(p)    # up to a constant, which softmax does not notice
jacobian = np.stack([(softmax(scores + nudge) - softmax(scores - nudge)) / 2e-6 for nudge in 1e-6 * np.eye(9)], axis=1)
print("sums of the columns:", np.abs(jacobian.sum(axis=0)).max().round(9))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained", width_ratios=(1, 2))
left.barh(range(9), p, color="tab:gray")
image = right.imshow(jacobian, cmap="PuOr", vmin=-0.25, vmax=0.25)
left.set(ylim=(8.5, -0.5), xlabel="probability", ylabel="letter that is looked at")
right.set(xlabel="the score that grows", ylabel="the probability that answers")
for axis in (left.yaxis, right.yaxis, right.xaxis):
    axis.set_ticks(range(9), found.keys)
bar = figure.colorbar(image, label="derivative")

# %% [markdown]
# The probabilities always sum to 1, so whatever one of them gains, the others lose. The diagonal is positive, everything else
# is negative, and the large entries belong to the large probabilities.
#
# **By hand**, for two scores. With $p = (1/4, 3/4)$ the same measurement gives
#
# $$ \begin{pmatrix} 3/16 & -3/16 \\ -3/16 & 3/16 \end{pmatrix} $$
#
# Now the layer above hands you $dp = (10, 2)$, the gradient of the loss with respect to $p$. The first score touches *both*
# probabilities, so the chain rule adds two products: $dx_1 = 10 \cdot \tfrac{3}{16} - 2 \cdot \tfrac{3}{16} = 1.5$. In the
# same way $dx_2 = -1.5$. The two sum to 0, as they must, because adding the same number to both scores changes nothing.
#
# Which formula makes $3/16$ out of $1/4$ and $3/4$? Differentiate $p_i$ with respect to $x_j$, once for $i = j$ and once
# for $i \neq j$. Then add up what arrives at one score, and look for a way to do so that never stores the table.

# %% [exercise] softmax_backward

# %% [derivation]
# **The rule: the quotient rule.** Write $p_i = e^{x_i} / s$ with $s = \sum_k e^{x_k}$, so $\partial s / \partial x_j =
# e^{x_j}$. Then
#
# $$ \frac{\partial p_i}{\partial x_j} = \frac{\delta_{ij}\, e^{x_i}\, s - e^{x_i} e^{x_j}}{s^2} = p_i (\delta_{ij} - p_j) $$
#
# where $\delta_{ij}$ is 1 if $i = j$ and 0 otherwise. For $p = (1/4, 3/4)$ this is $\tfrac14 (1 - \tfrac14) = \tfrac{3}{16}$ on
# the diagonal and $-\tfrac14 \cdot \tfrac34 = -\tfrac{3}{16}$ beside it, as measured.
#
# **The chain rule** sums over every $p_i$ that $x_j$ touches, and it touches all of its row:
#
# $$ dx_j = \sum_i dp_i\, p_i (\delta_{ij} - p_j) $$
#
# The $\delta_{ij}$ gives $p_j\, dp_j$, and the second term gives $- p_j \sum_i dp_i\, p_i$. Factor out $p_j$:
#
# $$ dx_j = p_j \Big( dp_j - \sum_i dp_i\, p_i \Big) $$
#
# The sum is one number for each row, the mean of $dp$ weighted by $p$. In arrays: $dp$ and $p$ are $(\dots, K)$, the sum
# is $(\dots, 1)$, and $dx$ is $(\dots, K)$. A Jacobian would be $(\dots, K, K)$.

# %% [markdown]
# In the Transformer of the paper, each of the $T$ tokens of a sentence scores all $T$ tokens, and it does so in 8 heads
# (chapter 7). **Predict:** how many gigabytes would the Jacobians of one layer take for a batch of 32 sentences of
# 128 tokens, in float32 (4 bytes a number)?

# %%
B, H, T = 32, 8, 128
print(f"p: {4 * B * H * T ** 2 / 1e9:.3f} GB, the Jacobians: {4 * B * H * T ** 3 / 1e9:.1f} GB")

# %% [markdown]
# **Prove it.** The check below runs your `softmax` and your `softmax_backward` with a random `dp`. A `dp` of ones would
# prove nothing, as chapter 1b shows: the loss would then be the sum of all probabilities, which no score can change, so
# $dx$ would be 0.

# %%
rng = np.random.default_rng(0)
x = rng.standard_normal((2, 3, 5))
report = gradcheck((lambda x: (softmax(x), softmax(x)), softmax_backward), [x], methods=["central"], name="softmax")
print(report)
print("dp of ones:", np.abs(softmax_backward(np.ones_like(x), softmax(x))).max())
assert report.passed

# %% [markdown]
# **Break it.** It is tempting to call $p (1 - p)$ the gradient of softmax, as readers of the paper have done. **Predict:** with
# $dx = p (1 - p)\, dp$, does each row of $dx$ still sum to 0?


# %%
def diagonal(dp, p):
    return p * (1 - p) * dp


print("largest sum of a row:", np.abs(diagonal(rng.standard_normal(x.shape), softmax(x)).sum(axis=-1)).max().round(3))
report = gradcheck((lambda x: (softmax(x), softmax(x)), diagonal), [x], methods=["central"], name="diagonal")
print(report.findings["diagonal"])

# %% [markdown]
# In the picture, $p (1 - p)$ is the diagonal of the Jacobian and nothing more. You may know it from the
# sigmoid, where each score has an output of its own, but in a softmax all scores of a row share one sum.
#
# ## A row with nothing to attend to
#
# Sometimes a letter must not look at some of the others. A *mask* is an array of True and False, in which True means "may
# be looked at". The usual trick replaces a forbidden score with $-\infty$, because $e^{-\infty} = 0$, or with a large
# negative number such as $-10^9$. **Predict:** suppose that in a row of three scores *all three* are forbidden. Which
# probabilities does each of the two tricks give?

# %%
with np.errstate(all="ignore"):
    print("minus infinity:", by_the_formula(np.array([-np.inf, -np.inf, -np.inf])))
print("-1e9:          ", softmax(np.array([-1e9, -1e9, -1e9])))

# %% [markdown]
# Both answers are wrong. NaN spoils all the model's parameters at the first update, so at least you notice it. With the popular
# $-10^9$, a row that may look at nothing looks at everything, and no error ever says so. Your function should give such a row
# zeros, so that it attends to nothing and sends no gradient back either.

# %% [exercise] masked_softmax

# %% [derivation]
# **The rule: what is masked out must not matter, neither in the sum nor in the maximum.** Put $-\infty$ in the forbidden
# places of each row, $(\dots, K)$, and the exponentials there are 0. The row's maximum, $(\dots, 1)$, has to be taken over
# the *allowed* scores, because with a forbidden score of 1,000 as the maximum, the exponential of every allowed score would
# be 0.
#
# An empty row needs two exceptions. Its maximum is $-\infty$, and $-\infty - (-\infty)$ is NaN, so subtract 0 there. Its
# sum is 0, and $0 / 0$ is NaN, so divide by 1 there. Both exceptions leave zeros.

# %%
x, mask = np.array([[1.0, 2.0, 1000.0], [1.0, 2.0, 3.0]]), np.array([[True, True, False], [False, False, False]])
print(masked_softmax(x, mask).round(3))

# %% [markdown]
# ## Temperature
#
# If you divide all scores of a row by a number $t$ before the softmax, you can make the row more or less certain. This
# number is called the *temperature*. Here is the row from above at three temperatures.

# %%
figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), sharey=True, layout="constrained")
for one, t in zip(axes, (0.1, 1, 10)):
    one.bar(range(9), softmax(scores / t), color="tab:gray")
    one.set_xticks(range(9), found.keys)
    one.set(title=f"t = {t}", xlabel="letter that is looked at")
label = axes[0].set_ylabel("probability")

# %% [markdown]
# A low temperature pushes the largest probability towards 1, and a high one makes all of them nearly equal. When $p$ is
# close to 1 in one place and close to 0 in all others, every entry of the Jacobian is close to 0. Such a softmax is
# *saturated*, and almost no gradient gets through it. Chapter 5 shows how attention avoids saturation.
#
# A model can even learn its temperature, if the temperature has a gradient. In this exercise, a single $t$ divides the
# scores of all rows.

# %% [exercise] temperature_backward

# %% [derivation]
# **The rule: a parameter collects the gradient of everything that it touches.** Each $s_{bk} = x_{bk} / t$ has the
# derivative $1 / t$ with respect to its own score, so $dx = ds / t$, of shape $(\dots, K)$. With respect to $t$ its
# derivative is $-x_{bk} / t^2$, and $t$ touches all of them, so $dt$, a single number, is a sum over all axes:
#
# $$ dt = - \frac{1}{t^2} \sum_{b, k} ds_{bk}\, x_{bk} $$

# %% [markdown]
# ## The logarithm, for the loss
#
# A loss needs $\log p$, but a very small probability is rounded to 0, and $\log 0$ is $-\infty$. So instead of taking the
# logarithm of a finished softmax, put the formula into the logarithm first, and the exponential of $x_i$ disappears:
#
# $$ y_i = \log p_i = x_i - \log \sum_j e^{x_j} $$

# %%
x = np.array([0.0, 800.0])
with np.errstate(all="ignore"):
    print("log of the softmax:", np.log(softmax(x)))
print("written out:       ", x - np.logaddexp(*x))    # logaddexp(a, b) = log(e^a + e^b), without overflow

# %% [exercise] log_softmax_backward

# %% [derivation]
# **The rules: the chain rule, and the derivative of a logarithm.** In $y_i = x_i - \log s$ with $s = \sum_k e^{x_k}$, the
# first term gives $\delta_{ij}$, and the second gives $\frac{1}{s} \frac{\partial s}{\partial x_j} = e^{x_j} / s = p_j$:
#
# $$ \frac{\partial y_i}{\partial x_j} = \delta_{ij} - p_j $$
#
# The score $x_j$ touches every $y_i$ in its row, so sum over $i$:
#
# $$ dx_j = \sum_i dy_i (\delta_{ij} - p_j) = dy_j - p_j \sum_i dy_i $$
#
# The sum is over $dy$ alone, without $p$, because the factor $p_i$ of the softmax's Jacobian has cancelled. It has shape
# $(\dots, 1)$, and $p = e^y$ has the shape of $y$, $(\dots, K)$.

# %%
report = gradcheck((lambda x: (np.log(softmax(x)), np.log(softmax(x))), log_softmax_backward),
                   [rng.standard_normal((2, 5))], methods=["central"], name="log softmax")
print(report)
assert report.passed

# %% [markdown]
# ## Your Transformer
#
# The model's last step is a softmax over its vocabulary, which says how likely each letter is to come next. It gives the
# right letter a probability of about 0.90 each time. **Predict:** if you *draw* each letter with these probabilities, how
# often are the eight letters of *drawkcab* and the end of the word all correct?

# %%
source = np.array([[*vocabulary.encode("backward"), EOS]])    # EOS: the id of </s>, the end of a word
for t in (0.5, 1, 2):
    drawn = [vocabulary.decode(one.ids) for one in sample(model, source, [np.random.default_rng(0)], 200, temperature=t)[0]]
    print(f"t = {t}: {np.mean([word == 'drawkcab' for word in drawn]):6.1%} right, the least likely: {drawn[-1]}")

# %% [markdown]
# Nine draws have to succeed, so about $0.90^9 = 39\,\%$ of the words are right. A temperature of
# 0.5 doubles all differences between scores, which leaves a wrong letter next to no chance.

# %%
lab.run_yours("4")

# %% [markdown]
# **Read next:** `softmax_forward` and `softmax_backward` in `minitransformer/functional/softmax.py`.
