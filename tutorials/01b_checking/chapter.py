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
# # 1b. Is the gradient right?
#
# The table in chapter 1 had two kinds of rows. In those marked *central*, the gradient and the measurement agreed to
# eleven digits, and in those marked *complex* to sixteen. Where do five digits go? And is there a wrong gradient that
# passes?
#
# In this chapter you build both measurements of the *gradient check*, and find out what they cannot see.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck, layers
from minitransformer_course import lab, yours

lab.you_are_here("linear")
rng = np.random.default_rng(0)

# %% [markdown]
# ## Nudge it
#
# A derivative says how far a function moves when its input moves a little, so you can measure it.
#
# **By hand.** The derivative of $x^2$ at 3 is 6. Nudge 3 by $h = 0.1$: $3.1^2 - 3^2 = 0.61$, and divided by 0.1 this is
# 6.1. The error of 0.1 comes from the curve, which bends upwards on the way. A smaller $h$ makes the error smaller, but
# there is a better idea: one more value of the function, with the same $h$, gives exactly 6.
#
# A layer has many inputs and many outputs. As the loss we take $L = \sum dY \cdot f(X)$, a sum of the outputs with the
# upstream gradient as weights, because its gradient with respect to $f(X)$ is exactly $dY$. Then we measure every number in
# $X$ on its own, while all the others stay where they are (its *partial derivative*).

# %% [exercise] numeric_gradient

# %% [derivation]
# Expand $L$ in a Taylor series around $x$, once to each side:
#
# $$ L(x + h) = L + h L' + \tfrac{h^2}{2} L'' + \tfrac{h^3}{6} L''' + \dots $$
#
# $$ L(x - h) = L - h L' + \tfrac{h^2}{2} L'' - \tfrac{h^3}{6} L''' + \dots $$
#
# When you subtract the second line from the first, $L$ and the curvature $L''$ cancel, and each odd term remains twice:
#
# $$ \frac{L(x + h) - L(x - h)}{2h} = L' + \tfrac{h^2}{6} L''' + \dots $$
#
# The third derivative of a parabola is 0, so the answer for $x^2$ is exact: $(3.1^2 - 2.9^2) / 0.2 = (9.61 - 8.41) / 0.2 = 6$.
#
# With $L = \sum_j dy_j f_j(x)$, the difference of $L$ is the sum of the differences of all outputs, each multiplied by its
# $dy_j$. The upstream gradient therefore needs no special treatment.

# %% [markdown]
# A measurement with one nudge to each side is a *central difference*. The picture shows it for $\tanh$ at 0.5, with a step
# as large as 0.7. The slope measured only to the right is far too flat, because the curve bends. Measured on both sides, it
# comes close to that of the tangent.

# %%
x, h = np.array([0.5]), 0.7
central = numeric_gradient(np.tanh, np.ones(1), x, h)[0]
onesided = (np.tanh(x + h) - np.tanh(x))[0] / h
true = 1 - np.tanh(0.5) ** 2
figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
line = np.linspace(-0.6, 1.6, 50)
axes.plot(line, np.tanh(line), color="black", label="tanh")
for slope, style, name in ((true, "-", "tangent"), (onesided, ":", "one side"), (central, "--", "both sides")):
    axes.plot(line, np.tanh(0.5) + slope * (line - 0.5), style, color="tab:purple", label=f"{name}: slope {slope:.3f}")
axes.set_xlabel("x")
axes.set_ylabel("function, and lines through x = 0.5")
legend = axes.legend()

# %% [markdown]
# A smaller $h$ brings the lines closer to the tangent. But $f(x + h)$ and $f(x - h)$ become nearly equal, and each is
# stored with sixteen digits. Subtracting one from the other leaves only the few digits in which they differ.
#
# **Predict:** replacing the curve with a line causes an error of about $h^2$, and the lost digits cause one of about
# $10^{-16} / h$. At which $h$ are the two errors equal? (The next picture shows it.)
#
# ## Step sideways
#
# You can avoid the subtraction altogether if you step along the imaginary axis. Many NumPy functions take complex numbers,
# and Python writes the imaginary unit $i$ as `1j`.
#
# **By hand:** for $x^2$ at 3, $(3 + ih)^2 = 9 - h^2 + 6ih$. You can see the 6, and nothing was subtracted from it. So $h$ may
# be as small as $10^{-20}$, and then $h^2$ lies far below the last digit of 9.
#
# This even works for a million numbers at once. Move all of $X$ in a random direction $V$ and measure how fast $L$ changes.
# If a gradient $dX$ is right, then the sum of $dX \cdot V$ equals this number, because the effects of all moves add up.

# %% [exercise] slope_along

# %% [derivation]
# Expand in a Taylor series again, this time with the step $ih$ in the direction $V$:
#
# $$ f(X + ihV) = f(X) + ih\, f'(X; V) - \tfrac{h^2}{2} f''(X; V) - \dots $$
#
# Here $f'(X; V)$ says how fast each number of $f$ changes along $V$. The first and the third terms are real. The imaginary
# part holds $h f'(X; V)$ and terms with $h^3$ and above, which are 0 in every digit for $h = 10^{-20}$:
#
# $$ f'(X; V) = \frac{\operatorname{Im} f(X + ihV)}{h} $$
#
# $L$ sums the numbers of $f$ with the weights $dY$, which are real, so its slope is the sum of their slopes with the same
# weights.

# %%
steps = 10.0 ** -np.arange(1, 16)
curves = {"one side": lambda h: (np.tanh(x + h) - np.tanh(x))[0] / h,
          "both sides": lambda h: numeric_gradient(np.tanh, np.ones(1), x, h)[0],
          "sideways": lambda h: slope_along(np.tanh, np.ones(1), x, np.ones(1), h)}
figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
for (name, measure), marker in zip(curves.items(), "^os"):
    axes.loglog(steps, [max(abs(measure(h) - true), 1e-17) for h in steps], marker + "-", color="tab:purple", label=name,
                markerfacecolor={"^": "white", "o": "tab:purple", "s": "black"}[marker])
axes.set_xlabel("step h")
axes.set_ylabel("error of the slope of tanh at 0.5")
axes.set_ylim(3e-18, 1)
legend = axes.legend()

# %% [markdown]
# Measured from both sides, the error falls by a factor of 100 for each factor of 10 in $h$, until the lost digits take over
# near $10^{-5}$. At that point about eleven digits are right and the other five are lost. The sideways step loses nothing:
# below $10^{-8}$ it is right to the last digit (an error of 0 is drawn at $10^{-17}$). In return, every operation of the
# forward must have a complex derivative. `np.abs` does not have one, and a maximum has to compare real parts only.
#
# ## What a check with ones does not see
#
# Many checks use an upstream gradient of ones, which makes $L$ the plain sum of $Y$. Here is a small layer to try that on.
# It divides each row of positive numbers by its sum, so that they become shares, as in a pie chart.
#
# **Predict:** what is the gradient of $\sum Y$ with respect to any number in $X$: 0, 1 or $1/s$, where $s$ is the sum of
# the row?

# %%
def shares(x):
    return x / x.sum(axis=-1, keepdims=True)


X = rng.uniform(0.5, 2, (4, 3))
for name, dY in (("ones", np.ones((4, 3))), ("random numbers", rng.standard_normal((4, 3)))):
    print(f"with a dY of {name}: the first row of dX is", numeric_gradient(shares, dY, X, 1e-5)[0].round(6) + 0)

# %% [markdown]
# The shares of a row always sum to 1, so their sum cannot move, and a backward that returned nothing but zeros would pass.
# Now derive the correct one. A row that is twice as large has the same shares, and your answer has to take that into
# account.

# %% [exercise] shares_backward

# %% [derivation]
# In a row, $y_j = x_j / s$ with $s = \sum_i x_i$. The chain rule sums over every $y_j$ that $x_i$ touches. The number $x_i$
# touches $y_i$ through the numerator, and every $y_j$ through $s$:
#
# $$ \frac{\partial y_j}{\partial x_i} = \frac{[i = j]}{s} - \frac{x_j}{s^2} $$
#
# where $[i = j]$ is 1 for $i = j$ and 0 otherwise. Multiply by $dy_j$ and sum over $j$:
#
# $$ dx_i = \frac{dy_i}{s} - \sum_j dy_j \frac{x_j}{s^2} = \frac{1}{s} \left( dy_i - \sum_j dy_j\, y_j \right) \qquad (N, D) $$
#
# With $dy = 1$ the bracket is $1 - \sum_j y_j = 0$, whatever factor is in front of it, and this is the blind spot.

# %% [markdown]
# Here are four wrong backwards, each checked against a measurement along one random direction, with a `dY` of ones and with
# a random one:

# %%
wrong = {"zeros": lambda dy, x: 0 * x, "wrong sign": lambda dy, x: -shares_backward(dy, x),
         "twice too large": lambda dy, x: 2 * shares_backward(dy, x),
         "times the sum": lambda dy, x: x.sum(axis=-1, keepdims=True) * shares_backward(dy, x)}
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
for dY, colour, name in ((np.ones((4, 3)), "tab:red", "dY of ones"), (rng.standard_normal((4, 3)), "black", "random dY")):
    V = rng.standard_normal(X.shape)
    errors = [abs((one(dY, X) * V).sum() - slope_along(shares, dY, X, V, 1e-20)) for one in wrong.values()]
    axes.semilogx(np.maximum(errors, 1e-17), list(wrong), "o", color=colour, label=name)
axes.set_xlabel("error that the check sees (1e-17: none)")
legend = axes.legend(loc="center")

# %% [markdown]
# With ones, all four pass. Softmax and LayerNorm, which you meet in chapters 4 and 8, have the same blind spot. This is why
# `gradcheck` draws a random upstream gradient.
#
# ## What a layer alone does not show
#
# The second blind spot is not in the numbers at all. The contract says that `backward` *adds* to a parameter's `grad`, but
# the layer below overwrites it.
#
# **Predict:** is the gradient of its weight wrong after one forward and one backward?


# %%
class Assigns(layers.Linear):
    def backward(self, dy, cache):
        self.zero_grad()    # what was there before is lost
        return super().backward(dy, cache)


layer, dY, V = Assigns(3, 3, rng).astype("float64"), rng.standard_normal((4, 3)), rng.standard_normal((3, 3))
_y, cache = layer.forward(X)
layer.backward(dY, cache)
print(f"measured {slope_along(lambda W: X @ W, dY, layer.weight.data, V, 1e-20):+.12f}")
print(f"derived  {(layer.weight.grad * V).sum():+.12f}")
print(gradcheck(layer, [X]))

# %% [markdown]
# Every digit is right. `gradcheck` still rejects the layer, because it calls `backward` a second time and finds that
# nothing was added. This matters as soon as one weight is used twice, as the embedding of chapter 2 is in the paper's
# Transformer. Derive the sum for the smallest case.

# %% [exercise] twice_backward

# %% [derivation]
# Give the two uses names of their own, $h = x V$ and $y = h W$. Both are linear layers, and we go through them from the
# last to the first:
#
# $$ dh = dy\, W^\top, \quad dW = h^\top dy \qquad (N, D), (D, D) $$
#
# $$ dx = dh\, V^\top, \quad dV = x^\top dh \qquad (N, D), (D, D) $$
#
# Now let $V$ be $W$. A nudge to this one matrix moves the loss along both paths, so its gradient is the sum:
#
# $$ dW = h^\top dy + x^\top dh \qquad (D, D) $$

# %% [markdown]
# ## Use it on a whole model
#
# The model that writes *drawkcab* has some 30,000 weights. Put them all into one vector $w$. The loss for *backward* is
# then a function of $w$, and your `slope_along` checks every backward in the model with a single call.

# %%
f, w, gradient = lab.loss_of_weights(*lab.drawkcab(), "backward")    # f(w): the loss; its gradient by the library's backwards
v = rng.standard_normal(w.shape)
started = time.perf_counter()
print(f"measured {slope_along(f, 1.0, w, v, 1e-20):+.12f}")
seconds = time.perf_counter() - started
print(f"derived  {(gradient * v).sum():+.12f}")
print(f"{w.size:,} numbers in {1000 * seconds:.0f} ms; one by one, from both sides, {2 * w.size * seconds / 60:.0f} minutes")

# %% [markdown]
# ## Your Transformer

# %%
lab.run_yours("1b")

# %% [markdown]
# **Read next:** `central`, `kink` and `complex_step` in `minitransformer/checking/numeric.py`.
