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
# A Transformer is a stack of small functions. To train it, each of them has to answer two questions:
#
# 1. **forward**: given the input $x$, what is the output $y$?
# 2. **backward**: given how the loss changes with $y$, how does it change with $x$, and with the parameters?
#
# There is no autograd in minitransformer, so somebody has to answer the second question with pencil and
# paper. In this chapter that is you, for the most useful layer there is: the linear one. You will derive its
# backward, write it, prove it right twice, and meet the contract that every other layer keeps.

# %%
from typing import Any, NamedTuple

import numpy as np

from minitransformer import Layer, Parameter, gradcheck

# %% [markdown]
# ## The forward
#
# Each row of $X$ is one token, described by $d_{in}$ numbers. The layer mixes them into $d_{out}$ new ones:
#
# $$ Y = X W + b, \qquad y_{nj} = \sum_i x_{ni} W_{ij} + b_j $$
#
# Small and unequal sizes are a good habit: if $N = d_{in}$, a forgotten transpose goes unnoticed.

# %%
N, d_in, d_out = 4, 3, 2
rng = np.random.default_rng(0)
X, W, b = rng.standard_normal((N, d_in)), rng.standard_normal((d_in, d_out)), rng.standard_normal(d_out)

Y = X @ W + b
Y.shape

# %% [markdown]
# ## The backward, derived
#
# Somewhere above, a loss $L$ is computed from $Y$, and backward has already reached us: we are given
#
# $$ dY_{nj} = \frac{\partial L}{\partial y_{nj}} \qquad \text{(called `dy` in code; it has the shape of } Y). $$
#
# We owe three things, and all of them come from the chain rule: *the loss changes with $x$ through every $y$
# that $x$ touches, so sum over those.*
#
# **The weight.** $W_{ij}$ appears in $y_{nj}$ for every $n$, with the factor $x_{ni}$:
#
# $$ \frac{\partial L}{\partial W_{ij}}
#    = \sum_n \frac{\partial L}{\partial y_{nj}} \frac{\partial y_{nj}}{\partial W_{ij}}
#    = \sum_n x_{ni}\, dY_{nj} \quad\Longrightarrow\quad dW = X^\top dY $$
#
# **The bias.** $b_j$ appears in $y_{nj}$ for every $n$, with the factor 1:
#
# $$ db_j = \sum_n dY_{nj} $$
#
# **The input.** $x_{ni}$ appears in $y_{nj}$ for every $j$, with the factor $W_{ij}$:
#
# $$ dX_{ni} = \sum_j dY_{nj} W_{ij} \quad\Longrightarrow\quad dX = dY\, W^\top $$
#
# A check that costs nothing: each gradient has the shape of what it is the gradient of. $X^\top dY$ is
# $(d_{in}, N)(N, d_{out}) = (d_{in}, d_{out})$. It could not have been $dY^\top X$.

# %%
dY = rng.standard_normal(Y.shape)
dW, db, dX = X.T @ dY, dY.sum(axis=0), dY @ W.T
assert dW.shape == W.shape and db.shape == b.shape and dX.shape == X.shape

# %% [markdown]
# ## Checked: central differences
#
# A derivation can be wrong and still have the right shapes. But a derivative has a definition, and the
# definition can be computed. Nudge one number, see how much $\sum dY \cdot Y$ moves (a stand-in for the loss:
# its derivative with respect to $Y$ is exactly $dY$):
#
# $$ \frac{\partial L}{\partial W_{ij}} \approx \frac{L(W_{ij} + h) - L(W_{ij} - h)}{2h} $$


# %%
def loss(X, W, b):
    return (dY * (X @ W + b)).sum()


def central_difference(h):
    up, down = W.copy(), W.copy()
    up[1, 0] += h
    down[1, 0] -= h
    return (loss(X, up, b) - loss(X, down, b)) / (2 * h)


print(f"derived {dW[1, 0]:+.15f}")
print(f"numeric {central_difference(1e-5):+.15f}")
assert abs(central_difference(1e-5) - dW[1, 0]) < 1e-9

# %% [markdown]
# They agree, but not in every digit: $L(W+h)$ and $L(W-h)$ are nearly equal, and subtracting them throws most
# digits away. A smaller $h$ makes it worse, not better. For a function that curves, a larger $h$ is worse too.
# Watch both ends, for $\tanh$ at 0.5:

# %%
for h in 10.0 ** -np.arange(1, 16, 2):
    error = abs((np.tanh(0.5 + h) - np.tanh(0.5 - h)) / (2 * h) - (1 - np.tanh(0.5) ** 2))
    print(f"h = {h:.0e}: error {error:.0e}")

# %% [markdown]
# ## Checked again: the complex step
#
# There is a way to lose no digits at all. Step not along the real axis but along the imaginary one:
#
# $$ f(x + ih) = f(x) + i h f'(x) - \tfrac{h^2}{2} f''(x) - \dots \quad\Longrightarrow\quad
#    f'(x) = \frac{\operatorname{Im} f(x + ih)}{h} + O(h^2) $$
#
# Nothing is subtracted, so $h$ can be $10^{-20}$, and $h^2$ is far below the last digit. All it asks is that each
# operation of the forward has a complex derivative and keeps the imaginary part; ours are only `@` and `+`.

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
# Now the same as a `Layer`. The contract is short:
#
# - `forward` returns `y` and a `cache` with what `backward` will need. Nothing else is kept: a layer may be used
#   twice before it is walked back once, and the second use must not disturb the first.
# - `backward(dy, cache)` returns the gradient of the input, and **adds** the gradients of the parameters to
#   their `grad`. Adding is what makes a weight that is used in two places come out right.


# %%
class LinearCache(NamedTuple):
    x: Any    # (N, d_in)


class Linear(Layer):
    def __init__(self, d_in, d_out, rng):
        self.weight = Parameter(rng.standard_normal((d_in, d_out)))
        self.bias = Parameter(np.zeros(d_out))

    def forward(self, x):
        return x @ self.weight.data + self.bias.data, LinearCache(x)

    def backward(self, dy, cache):
        self.weight.grad += cache.x.T @ dy
        self.bias.grad += dy.sum(axis=0)
        return dy @ self.weight.data.T


# %% [markdown]
# You never have to write the check again. `gradcheck` nudges every input and every parameter, both ways:

# %%
layer = Linear(d_in, d_out, rng)
report = gradcheck(layer, [X])
print(report)
assert report.passed

# %% [markdown]
# ## What a mistake looks like
#
# Forget that the bias touches every row:


# %%
class Forgetful(Linear):
    def backward(self, dy, cache):
        dx = super().backward(dy, cache)
        self.bias.grad[...] = dy[0]    # the sum over the rows is gone
        return dx


report = gradcheck(Forgetful(d_in, d_out, rng), [X], methods=["complex"])
print(report)
assert not report.passed

# %% [markdown]
# The table names the array, the place, and both numbers, and its last line guesses the mistake: remove all of the
# batch but one row and the gradient is right, so a sum over the batch is missing. Would training have told you? Not clearly: the bias
# would still have moved in roughly the right direction, and the model would only have been a little worse than
# it should. That is how wrong gradients survive for years.
#
# ## Exercises
#
# 1. Write `=` instead of `+=` in `backward`. `gradcheck(layer, [X])` still passes. Why? Build a small `Layer` that
#    uses one `Linear` twice, $y = \mathrm{linear}(\mathrm{linear}(x))$, and check that.
# 2. Derive the backward of $y = x \odot x$ and check it: `gradcheck((forward, backward), [x])` takes a pair of
#    functions too.
# 3. `abs` breaks the complex step. What does `np.abs(3 + 1e-20j)` return, and why is that no use?
#
# The library's own `Linear` is this one, for inputs with any number of leading axes: read
# `minitransformer/layers/linear.py` next.
