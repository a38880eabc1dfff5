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
# # 1. A layer is two functions
#
# You write a layer, the shapes fit, the loss goes down. Is its gradient right? A wrong one often trains, too, and
# nobody tells you. By the end of this chapter you can tell, to twelve digits.
#
# This page is a script and a notebook. An editor that knows `# %%` cells (VS Code, Spyder, PyCharm) runs one cell at a
# time; `python 01_linear.py` runs them all; `minitransformer learn start 1 --notebook` writes it for Jupyter. Under
# **Predict**, write down your guess before you run the next cell.
#
# A Transformer is a stack of small functions. To train it, each of them has to answer two questions:
#
# 1. **forward**: given the input $x$, what is the output $y$?
# 2. **backward**: given how the loss changes with $y$, how does it change with $x$, and with the parameters?
#
# minitransformer has no autograd, so somebody has to answer the second question with pencil and paper. In
# this chapter that is you, for the most useful layer there is: the linear one. You derive its backward, write
# it, prove it in two ways, and meet the contract that every other layer keeps.

# %%
from typing import Any, NamedTuple

import math

import numpy as np

from minitransformer import Layer, Parameter, gradcheck, layers, plugged
from minitransformer.learn import yours
from minitransformer.learn.plug import train

# %% [markdown]
# ## The forward
#
# Each of the $N$ rows of $X$ is one token (a word, say), described by $d_{in}$ numbers. The layer mixes them into
# $d_{out}$ new numbers, with the weight $W$ of the shape $(d_{in}, d_{out})$ and the bias $b$ of the shape
# $(d_{out},)$:
#
# $$ Y = X W + b, \qquad y_{nj} = \sum_i x_{ni} W_{ij} + b_j $$
#
# The index $n$ counts tokens, $i$ inputs and $j$ outputs.
#
# Choose small sizes, all different: if $N = d_{in}$, a forgotten transpose goes unnoticed.
#
# **Predict:** which shape does $Y$ have?

# %%
N, d_in, d_out = 4, 3, 2
rng = np.random.default_rng(0)
X, W, b = rng.standard_normal((N, d_in)), rng.standard_normal((d_in, d_out)), rng.standard_normal(d_out)

Y = X @ W + b
Y.shape

# %% [markdown]
# ## The backward, derived
#
# Somewhere above, a loss $L$ is computed from $Y$. Backward has already passed that part, and hands us the
# gradient of the loss with respect to $Y$:
#
# $$ dY_{nj} = \frac{\partial L}{\partial y_{nj}} \qquad \text{(it has the shape of } Y). $$
#
# This is the *upstream gradient*. The layer's code calls it `dy`, and the other gradients `dx`, `dW`, `db`.
#
# We need three gradients from it: those with respect to $W$, $b$ and $X$. All three come from the chain rule:
# *the loss changes with a number through every $y$ that this number touches, so sum over those.*
#
# **One number by hand.** Take one token with $d_{in} = 2$ and $d_{out} = 1$: $x = (3, 5)$, so
# $y = 3 W_{11} + 5 W_{21} + b_1$. Let $dY = 10$: if $y$ grows by 0.01, the loss grows by 0.1. How much does the
# loss grow if $W_{21}$ grows by 0.01? Then $y$ grows by 0.05 and the loss by 0.5. So
# $\partial L / \partial W_{21} = 5 \cdot 10 = 50$: the input times the gradient that arrived.
#
# **The weight.** $W_{ij}$ appears in $y_{nj}$ for every $n$, with the factor $x_{ni}$:
#
# $$ \frac{\partial L}{\partial W_{ij}}
#    = \sum_n \frac{\partial L}{\partial y_{nj}} \frac{\partial y_{nj}}{\partial W_{ij}}
#    = \sum_n x_{ni}\, dY_{nj} $$
#
# which is $dW = X^\top dY$.
#
# **The bias.** $b_j$ appears in $y_{nj}$ for every $n$, with the factor 1:
#
# $$ db_j = \sum_n dY_{nj} $$
#
# **The input.** $x_{ni}$ appears in $y_{nj}$ for every $j$, with the factor $W_{ij}$:
#
# $$ dX_{ni} = \sum_j dY_{nj} W_{ij} \quad\Longrightarrow\quad dX = dY\, W^\top $$
#
# One check costs nothing: a gradient has the shape of the array it belongs to. $X^\top dY$ has the shape
# $(d_{in}, N)(N, d_{out}) = (d_{in}, d_{out})$, as $W$ does. It could not have been $dY^\top X$.
#
# Here are the three sums, one product at a time. They are slow, and exactly what the derivation says. The short form,
# with matrix products, is your first exercise, and you can write it now.


# %%
def backward_in_loops(dy, x, W):
    dx, dW, db = np.zeros_like(x), np.zeros_like(W), np.zeros(W.shape[1])
    for n in range(x.shape[0]):
        for j in range(W.shape[1]):
            db[j] += dy[n, j]
            for i in range(W.shape[0]):
                dW[i, j] += x[n, i] * dy[n, j]
                dx[n, i] += dy[n, j] * W[i, j]
    return dx, dW, db


dY = rng.standard_normal(Y.shape)
dX, dW, db = backward_in_loops(dY, X, W)
assert dW.shape == W.shape and db.shape == b.shape and dX.shape == X.shape

# %% [markdown]
# ## Checked: central differences
#
# A derivation can be wrong and still have the right shapes. But a derivative has a definition, and a
# definition can be computed: nudge one number and see how much the loss moves. As a stand-in for the loss we
# take $L = \sum dY \cdot Y$, whose gradient with respect to $Y$ is exactly $dY$:
#
# $$ \frac{\partial L}{\partial W_{ij}} \approx \frac{L(W_{ij} + h) - L(W_{ij} - h)}{2h} $$


# %%
def loss(X, W, b):
    return (dY * (X @ W + b)).sum()


def slope(h):
    up, down = W.copy(), W.copy()
    up[1, 0] += h
    down[1, 0] -= h
    return (loss(X, up, b) - loss(X, down, b)) / (2 * h)


print(f"derived {dW[1, 0]:+.15f}")
print(f"numeric {slope(1e-5):+.15f}")
assert abs(slope(1e-5) - dW[1, 0]) < 1e-9

# %% [markdown]
# They agree, but not in every digit: $L(W+h)$ and $L(W-h)$ are nearly equal, and subtracting them throws most
# digits away.
#
# **Predict:** would a smaller $h$ help? Here is the error for $\tanh$ at 0.5, from large steps to tiny ones:

# %%
for h in 10.0 ** -np.arange(1, 16, 2):
    error = abs((np.tanh(0.5 + h) - np.tanh(0.5 - h)) / (2 * h) - (1 - np.tanh(0.5) ** 2))
    print(f"h = {h:.0e}: error {error:.0e}")

# %% [markdown]
# Both ends are bad. A large step misses the curve, a small one loses the digits, and the best step in between
# gives about eleven digits.
#
# ## Checked again: the complex step
#
# There is a way to lose no digits at all. Step along the imaginary axis instead of the real one:
#
# $$ f(x + ih) = f(x) + i h f'(x) - \tfrac{h^2}{2} f''(x) - \dots $$
#
# $$ f'(x) = \frac{\operatorname{Im} f(x + ih)}{h} + O(h^2) $$
#
# Here $i$ is the imaginary unit, which Python writes `1j`. The term $f(x)$ is real, and so is the one with $h^2$: the
# imaginary part, $\operatorname{Im}$, holds only $h f'(x)$ and terms with $h^3$ and above. **By hand**, for
# $f(x) = x^2$ at 3: $(3 + ih)^2 = 9 - h^2 + 6hi$, and $6h / h = 6$.
#
# Nothing is subtracted, so $h$ can be $10^{-20}$, and $h^2$ is far below the last digit. It asks one thing: each
# operation of the forward must have a complex derivative and keep the imaginary part. Ours are only `@` and `+`.

# %%
h = 1e-20
nudged = W.astype(complex)
nudged[1, 0] += 1j * h
numeric = loss(X, nudged, b).imag / h
print(f"derived {dW[1, 0]:+.15f}")
print(f"numeric {numeric:+.15f}")
assert abs(numeric - dW[1, 0]) < 1e-14

# %% [markdown]
# ## The layer
#
# Now write the same as a `Layer`. The contract is short:
#
# - `forward` returns `y` and a `cache` with what `backward` needs. The layer keeps nothing else: it may be used
#   twice before backward reaches it, and the second use must not disturb the first.
# - `backward(dy, cache)` returns the gradient with respect to the input, and **adds** the gradients of the
#   parameters to their `grad`. Because it adds, a weight that is used in two places gets the sum of both.


# %%
class LinearCache(NamedTuple):
    x: Any    # (N, d_in)


# %%
class Linear(Layer):
    def __init__(self, d_in, d_out, rng):
        self.weight = Parameter(rng.standard_normal((d_in, d_out)))
        self.bias = Parameter(np.zeros(d_out))

    def forward(self, x):
        return x @ self.weight.data + self.bias.data, LinearCache(x)

    def backward(self, dy, cache):
        dx, dW, db = backward_in_loops(dy, cache.x, self.weight.data)
        self.weight.grad += dW
        self.bias.grad += db
        return dx


# %% [markdown]
# You never have to write the check again. `gradcheck` nudges every input and every parameter, in both ways, with
# a random $dY$. A row of its table says how large the worst error is, where it is, and what both sides gave there.

# %%
layer = Linear(d_in, d_out, rng)
report = gradcheck(layer, [X])
print(report)
assert report.passed

# %% [markdown]
# ## What a mistake looks like
#
# Forget that the bias touches every row. **Predict:** which of the three gradients fails?


# %%
class Forgetful(Linear):
    def backward(self, dy, cache):
        dx, dW, db = backward_in_loops(dy, cache.x, self.weight.data)
        self.weight.grad += dW
        self.bias.grad += dy[0]    # the sum over the rows is gone
        return dx


report = gradcheck(Forgetful(d_in, d_out, rng), [X], methods=["complex"])
print(report)
assert not report.passed

# %% [markdown]
# The table names the array, the position and both numbers. The last line names the mistake. (It takes the first axis for
# the batch, so it calls a row of $X$ a sentence.) How does it know? The *gradient doctor* makes this very mistake in
# the right gradient, and gets yours, in every digit and at other sizes: the last number in brackets is the error that
# remains.
#
# Would training have told you? You will see below.
#
# ## Why a random upstream gradient
#
# Many checks take a $dY$ of ones: they compute $\partial (\sum Y) / \partial X$. Here is a layer that subtracts from
# each row its mean, with a backward that returns nothing but zeros. **Predict:** does it pass with ones? With random
# numbers?


# %%
def centre(x):
    return x - x.mean(axis=-1, keepdims=True)


for name, upstream in (("ones", np.ones((N, d_in))), ("random", rng.standard_normal((N, d_in)))):
    nudged = X.astype(complex)
    nudged[1, 0] += 1e-20j
    true = (upstream * centre(nudged)).sum().imag / 1e-20
    print(f"dY of {name}: the true gradient of one number is {true:+.4f}, ours is 0")

# %% [markdown]
# With ones, zeros are right: the sum of a centred row is 0, whatever $X$ is. LayerNorm, in chapter 8, is such a
# layer, and a wrong sign in its backward passes a check with ones. So take random numbers.
#
# ## Use it
#
# `plugged` puts a function of yours in the place of one of the library's. `train` takes it and trains a small
# Transformer to copy letters. Here every linear layer of it has the forgetful bias. **Predict:** will you see it in the
# loss? (It begins near 4.4, and a model that copies everything right reaches 0.)
# `np.einsum` computes the sums of the derivation from their indices, much faster than the loops.


# %%
def forgetful(self, dy, cache):
    rows, drows = cache.x.reshape(-1, cache.x.shape[-1]), dy.reshape(-1, dy.shape[-1])
    self.weight.grad += np.einsum("ni,nj->ij", rows, drows, optimize=True)    # the sum over n
    self.bias.grad += drows[0]                                                # of the first row only
    dx = np.einsum("nj,ij->ni", drows, self.weight.data, optimize=True)       # the sum over j
    return dx.reshape(cache.x.shape)


right = train(steps=100).losses
wrong = train(plugged(layers.Linear.backward, forgetful), steps=100).losses
for step in (1, 50, 100):
    print(f"step {step:3}: right {right[step - 1]:.3f}, forgetful {wrong[step - 1]:.3f}")

# %% [markdown]
# After a hundred steps with every bias gradient wrong, the loss is about the same: here it is even a little lower, by
# luck. The biases still move, and the weights make up for them. That is how wrong gradients survive for years. Only
# the check sees them.
#
# ## Exercises
#
# `minitransformer learn start 1` writes this page into your folder as `01_linear.py`, followed by five functions with
# blanks. Write your code between `# your code` and `# end of your code`, in place of the line with `raise`. Save, and
# type `minitransformer learn check` in a terminal in that folder. An unsolved exercise fails; that is where you begin.
# The answer says where your numbers differ and which rule they break. If you are stuck, `minitransformer learn hint`
# helps a little, and then a little more.
#
# When `linear_backward` passes, let it train a model: `minitransformer learn plug linear_backward`.
#
# Three more, on paper: (1) Write `self.weight.grad[...] =` in place of `+=`: `gradcheck(layer, [X])` still passes.
# Why? (2) `abs` breaks the complex step. What does `np.abs(3 + 1e-20j)` return, and why is that useless? (3) Build a
# small `Layer` that uses one `Linear` twice, and check it.
#
# **Read next:** `Linear` in `minitransformer/layers/linear.py`. It is the layer of this page, for inputs with any
# number of leading axes.

# %% [exercise] linear_backward

# %% [exercise] central_difference

# %% [exercise] complex_step

# %% [exercise] broadcast_backward

# %% [exercise] twice_backward
