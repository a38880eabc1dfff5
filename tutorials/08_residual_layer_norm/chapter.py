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
# # 8. Residual, LayerNorm: how a deep model learns at all
#
# A stack of two layers learns your task, so you stack 24 of them. The loss gets worse, even on the examples that the model trains
# on. You add a LayerNorm, derive its gradient, and the gradient check passes. After the first update, the gradient is
# wrong.
#
# In figure 1 of the paper, a small yellow box follows every sub-layer, attention or feed-forward. It is labelled *Add & Norm*,
# and this chapter explains both words.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import functional, gradcheck, plugged
from minitransformer_course import lab, yours

rng = np.random.default_rng(0)
lab.you_are_here("residual", "layer_norm")

# %% [markdown]
# ## Residual: a path around each layer
#
# A residual connection adds a layer's input to the layer's output: $y = x + f(x)$. The layer then has to learn only what
# should *change*. If it learns nothing, $x$ still gets through.
#
# **By hand.** Let $x$ be one number and $f(x) = 0.1\, x$. Without the connection, the derivative of one layer is 0.1, and
# that of two layers is $0.1^2 = 0.01$. With it, they are 1.1 and $1.1^2 = 1.21$. **Predict** both derivatives for 24 layers.

# %%
print(f"24 layers without the connection: {0.1 ** 24:.0e}; with it: {1.1 ** 24:.1f}")

# %% [markdown]
# Without the connection, the first of the 24 layers hears nothing from the loss.
#
# Now do the same for rows. Let the layer be one matrix, $f(x) = x W$, where $x$ is $(N, D)$ and $W$ is $(D, D)$. Draw the graph
# with $x$ at the bottom and $y$ at the top, and count the paths from one to the other. Two checks tell you whether your
# gradient can be right: with $W = 0$ the layer does nothing, and with $D = 1$ and $W = 0.1$ it has to agree with the example
# above.

# %% [exercise] residual_backward

# %% [derivation]
# **Use the sum rule for derivatives.** $x$ is used twice, so its gradient is the sum over both uses. On the direct path the
# derivative is 1, so $dy$ arrives unchanged. For the path through the layer, chapter 1 gives the rule for a product:
#
# $$ dx = dy + dy\, W^\top \qquad (N, D) $$
#
# $W$ is used once, on the second path only, so $dW = x^\top dy$, which is $(D, D)$. For any other layer $f$ with Jacobian $J$,
# the second term is $J^\top dy$. The first one stays: whatever $f$ does, $dy$ itself arrives at $x$.

# %% [markdown]
# ## Why deeper was worse
#
# Here is the puzzle from the opening, made small enough to measure. The layers are matrices, and the goal is a matrix, too. A
# product of matrices is one matrix, so stacks of 2, 8 and 24 layers can compute exactly the same functions. Any difference
# comes from learning, not from what they can express. The backward of the stack is *your* function, applied from the last layer
# to the first. (For the plain stack, the cell subtracts the term that the path around adds.)
#
# **Predict:** without the path around, does the stack of 24 layers end with a lower or a higher training loss than the
# stack of 2?


# %%
def trained(depth, around, seed, steps=100):
    draw = np.random.default_rng(seed)
    x, goal = draw.standard_normal((64, 16)), np.linalg.qr(draw.standard_normal((16, 16)))[0]
    layers = draw.standard_normal((depth, 16, 16)) * (0.02 if around else 0.25)    # 0.25 keeps the scale of x
    for _step in range(steps):
        xs = [x]
        for W in layers:
            xs.append(around * xs[-1] + xs[-1] @ W)
        dy = (xs[-1] - x @ goal) / 64
        loss = 32 * (dy * dy).sum()    # half the squared distance to the goal, its mean over the rows
        for i in reversed(range(depth)):
            dx, dW = residual_backward(dy, xs[i], layers[i])
            dy = dx if around else dx - dy
            layers[i] -= 0.01 * dW
    return loss


# %%
depths, seeds = (2, 8, 24), (0, 1, 2)
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
for around, style, name in ((False, "o--", "plain"), (True, "o-", "with a path around")):
    losses = np.array([[trained(depth, around, seed) for depth in depths] for seed in seeds])
    axes.plot(depths, losses.T, style, color="black", label=[name, None, None])
    print(f"{name:18}, {depths} layers: loss", losses.mean(axis=0).round(2))
axes.set(xlabel="number of layers", ylabel="training loss after 100 steps", xticks=depths)
legend = axes.legend()

# %% [markdown]
# Each line is one of three seeds. Plain stacks get worse with depth although nothing is wrong with them: every gradient is
# correct, and at the start the stack preserves the scale of $x$. A product of many random matrices stretches a few directions
# and flattens the others, and small steps cannot turn such a product into the goal. With the path around, a stack begins by
# doing almost nothing, and each layer adds a small correction. More layers learn faster, because more of them move in each
# step. Kaiming He and his colleagues saw the same in image models in 2015, where 56 plain layers had a higher *training* error
# than 20. They called it degradation, and answered with the residual connection.
#
# Multiplied out, 24 such layers are $2^{24}$ paths, which act like an *ensemble* (Veit and others):
# little is lost if one layer is removed.
#
# The path around has a price. Suppose that each layer preserves the scale of its input, and that $x$ and $f(x)$ are
# uncorrelated. Then their variances add in every layer. **Predict** the standard deviation of $x$ after 24 layers if it starts
# at 1.

# %%
x = rng.standard_normal((64, 256))
for _layer in range(24):
    x = x + x @ rng.standard_normal((256, 256)) / 16
print(f"the standard deviation after 24 layers: {x.std():,.0f}")

# %% [markdown]
# The standard deviation is about $2^{24/2} = 4{,}096$. Something has to bring the numbers back to one scale.
#
# ## LayerNorm: every row on the same scale
#
# A row holds the $D$ numbers of one token. LayerNorm, or *layer normalisation*, gives each row mean 0 and variance 1, and we
# call the result $n$. Then it gives the model back the freedom that this takes away: $\gamma$ stretches and $\beta$ shifts each
# of the $D$ columns, and both are learned. We call the factor that multiplies a centred row $s$. A row of equal numbers has
# variance 0, so a small $\epsilon = 10^{-5}$ is added to the variance before the division.
#
# **By hand.** $x = (1, 2, 6)$ has mean 3. The differences are $(-2, -1, 3)$, the variance is $14/3$, and its square root
# is 2.16, so $n = (-0.93, -0.46, 1.39)$. **Predict** $n$ for $(101, 102, 106)$, and for $(10, 20, 60)$.

# %%
for row in ([1.0, 2.0, 6.0], [101.0, 102.0, 106.0], [10.0, 20.0, 60.0]):
    y, cache = functional.layer_norm_forward(np.array(row), np.ones(3), np.zeros(3))
    print(row, "-> n", cache.normed.round(2), " s", cache.inverse.round(3))

# %% [markdown]
# Shifting a row changes nothing, and neither does stretching it, apart from the tiny $\epsilon$. Remember both facts, because
# they are half of the backward.
#
# In the exercise, $x$ has shape $(\dots, D)$, with any number of axes in front. Which axis do the mean and the variance run
# over, and what shape must they have so that broadcasting repeats them along the row?

# %% [exercise] layer_norm

# %% [derivation]
# **Follow the definition from the inside out.** Centre the row, $c = x - \operatorname{mean}(x)$, which is $(\dots, D)$. The
# variance is the mean of $c^2$ over the same $D$ numbers, of shape $(\dots, 1)$ with `keepdims=True`. Division by $D - 1$ is
# for statistics, where a sample represents something larger. Here the row is all there is, and dividing by $D$ gives $n$
# variance 1.
#
# $$ s = \frac{1}{\sqrt{\operatorname{var}(x) + \epsilon}}, \qquad n = c\, s, \qquad y = \gamma n + \beta $$
#
# $\epsilon$ belongs under the square root. Outside it, $\epsilon$ would save a row of equal numbers as well, but the
# derivative of $\sqrt{v}$ at $v = 0$ is infinite, and the backward would not survive.

# %% [markdown]
# ## LayerNorm's backward: three paths to the loss
#
# **By hand.** With two numbers in a row, $(1, 3)$ gives $n = (-1, 1)$, and so does $(1, 4)$. **Predict** $dx$ for
# $x = (1, 3)$ and $dy = (10, -7)$.

# %%
y, cache = functional.layer_norm_forward(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2))
print("dx =", functional.layer_norm_backward(np.array([[10.0, -7.0]]), cache)[0])

# %% [markdown]
# The gradient is nearly 0. With two numbers in a row, LayerNorm says only which one is larger, and a small nudge does not
# change that.
#
# With three numbers there is something left to learn, and we can draw it. Rows with mean 0 lie in a plane through the origin,
# at right angles to $(1, 1, 1)$. Rows with mean 0 and variance 1 have length $\sqrt 3$. So LayerNorm moves every row of three
# numbers onto one circle. (For $D$ numbers, it is a sphere in $D - 1$ dimensions.)

# %%
x, dy = rng.standard_normal((2, 12, 3)) * 1.5
n, cache = functional.layer_norm_forward(x, np.ones(3), np.zeros(3))
dx = functional.layer_norm_backward(dy, cache)[0]
figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), subplot_kw={"projection": "3d"}, layout="constrained")
lab.show_norm(axes, x, n, dx * np.minimum(1, 1 / np.linalg.norm(dx, axis=-1, keepdims=True)))    # none longer than 1

# %% [markdown]
# On the right, we look along $(1, 1, 1)$ at the circle. $dy$ may point anywhere, but every $dx$ points along the circle,
# because a step along $(1, 1, 1)$ shifts the row, a step along $n$ stretches it, and neither changes the loss. Each row of your
# $dx$ must sum to 0 and, for $\epsilon = 0$, be orthogonal to $n$.
#
# Now derive it. A number $x_i$ reaches each $n_j$ of its row by three paths: directly, through the mean, and through $s$.
# Differentiate $n_j$ with respect to $x_i$ for each, then sum over $j$. Where does $\gamma$ come in? And what else uses
# $\gamma$ and $\beta$?

# %% [exercise] layer_norm_backward

# %% [derivation]
# Write $c = x - \operatorname{mean}(x)$, so $n_j = c_j s$. As in chapter 4, $\delta_{ij}$ is 1 if $i = j$ and 0 otherwise.
#
# - **The mean** contains $x_i$ with the factor $1/D$: $\partial c_j / \partial x_i = \delta_{ij} - 1/D$.
# - **The chain rule, for $s$.** $s = v^{-1/2}$ with $v = \frac1D \sum_k c_k^2 + \epsilon$. First, $\partial v / \partial x_i =
#   \frac2D \sum_k c_k (\delta_{ik} - \frac1D)$. The $c_k$ sum to 0, so this is $2 c_i / D$. Then $\partial s / \partial x_i =
#   -\frac12 v^{-3/2} \cdot 2 c_i / D = -s^3 c_i / D = -s^2 n_i / D$.
# - **The product rule** for $n_j = c_j s$: $\partial n_j / \partial x_i = s\, (\delta_{ij} - \frac1D) - c_j s^2 n_i / D$. With
#   $c_j s = n_j$ this is $s\, ( \delta_{ij} - \frac1D - \frac1D n_j n_i )$.
# - **The chain rule, for the loss.** $y = \gamma n + \beta$ gives $dn = \gamma\, dy$, which is $(\dots, D)$. Sum over $j$; each
#   sum with $1/D$ is a mean of $dn$ or of $dn\, n$ and has shape $(\dots, 1)$:
#
# $$ dx = s \,\big( dn - \operatorname{mean}(dn) - n\, \operatorname{mean}(dn\, n) \big) \qquad (\dots, D) $$
#
# Three paths give three terms. In the picture, $\operatorname{mean}(dn)$ is the part of $dn$ along $(1, 1, \dots, 1)$, and
# $n \operatorname{mean}(dn\, n)$ is its part along $n$, because the squared length of $n$ is $D$. Both are removed, and what is
# left is tangent to the sphere.
#
# All rows share the parameters, so $d\gamma = \sum dy\, n$ and $d\beta = \sum dy$ are summed over all rows, and both have shape
# $(D,)$.

# %% [markdown]
# ## Prove it
#
# Here are your two functions as one block. What the forward returns besides $y$ goes into the cache, and the backward reads it
# from there.


# %%
def forward(x, gamma, beta):
    y, n, s = layer_norm(x, gamma, beta, 1e-5)
    return y, (n, s, gamma)


a, gamma = rng.standard_normal((2, 3, 8)), 1 + 0.1 * rng.standard_normal(8)
backward = lambda dy, cache: layer_norm_backward(dy, *cache)    # noqa: E731
print(gradcheck((forward, backward), [a, gamma, np.zeros(8)], methods=["central"], name="LayerNorm"))

# %% [markdown]
# The check draws a random $dy$. With a $dy$ of ones and $\gamma = 1$, the loss would be the sum of all $n$, which is 0 whatever
# $x$ is. The true $dx$ would be 0, so a backward that returns zeros, has a wrong sign or forgets $s$ would pass.
#
# ## Break it
#
# In AkiRusProd/numpy-transformer (`layers/base/layer_norm.py`, the first of its three variants), the backward of LayerNorm
# multiplies by $\gamma$ last, outside the two means. This is the mistake from the opening.


# %%
def gamma_outside(dy, cache):
    dx, dgamma, dbeta = layer_norm_backward(dy, cache.normed, cache.inverse, np.ones_like(cache.gamma))
    return cache.gamma * dx, dgamma, dbeta


for one in (np.ones(8), gamma):
    report = gradcheck((functional.layer_norm_forward, gamma_outside), [a, one, np.zeros(8)], methods=["complex"], name="LayerNorm")
    print("gamma =", one.round(1), f" the error in dx: {report.results[0].max_relative_error:.0e}")
print(report.findings["LayerNorm"])

# %% [markdown]
# Every LayerNorm begins with $\gamma = 1$, when the order does not matter, but one update later it does. So check with numbers
# that training will meet, not with those that it starts from.
#
# ## Your Transformer
#
# LayerNorm does two things to a row: it subtracts the mean, and it divides by the standard deviation. Let us leave out one of
# them, everywhere in the trained model that writes words backwards. **Predict:** which of the two can the model lose and still
# write *drawkcab*?

# %%
for name, centred, divided in (("only divided", 0, 1), ("only centred", 1, 0)):
    def norm(x, gamma, beta, epsilon=1e-5):
        x = x - centred * x.mean(axis=-1, keepdims=True)
        return gamma * x / (x * x).mean(axis=-1, keepdims=True) ** (divided / 2) + beta, None

    with plugged(functional.layer_norm_forward, norm):
        print(name, [lab.write(*lab.drawkcab(), word) for word in ("backward", "transformer", "attention")])

# %% [markdown]
# Later models drop the mean for good: RMSNorm (2019) only divides, by the root mean square, and has
# no $\beta$. LLaMA and SmolLM2 use it. Look at the circle again and ask which part of $dx$ may come
# back.

# %% [exercise] rms_norm_backward

# %% [derivation]
# **The product rule** applies to $n_j = x_j s$ as before, but without the centred $c$. With $v = \frac1D \sum_k x_k^2 +
# \epsilon$ the chain rule gives $\partial s / \partial x_i = -\frac12 v^{-3/2} \cdot 2 x_i / D = -s^2 n_i / D$, so $\partial
# n_j / \partial x_i = s\, ( \delta_{ij} - \frac1D n_j n_i )$. Sum over $j$ with $dn = \gamma\, dy$:
#
# $$ dx = s \,\big( dn - n\, \operatorname{mean}(dn\, n) \big) \qquad (\dots, D) $$
#
# Two paths give two terms. Stretching a row still changes nothing, so $dx$ is orthogonal to $n$. Shifting it does change $n$,
# so the rows of $dx$ need not sum to 0. $d\gamma = \sum dy\, n$ is the same as before.

# %%
lab.run_yours("8")

# %% [markdown]
# **Read next:** `layer_norm_backward` in `minitransformer/functional/layer_norm.py`, with this derivation in its docstring, and
# `Residual` in `minitransformer/layers/residual.py`.
