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
# A small Transformer, the running example of this book, reads *backward* and writes *drawkcab*, one
# letter at a time. Before it writes a letter, it has to look at the right letter of the word that
# it has read. How can something made of multiplications look anywhere, and how does it find out
# where?
#
# Most of the answer is a single layer, the linear one. In this chapter you derive its backward,
# prove it right, and use it to train two matrices that learn to look.
#
# This page is a script. An editor that knows `# %%` cells (VS Code, Spyder, PyCharm) runs one cell at a time. Where it says
# *predict*, write your guess down before you run the next cell. An exercise is a function with a blank: write your code in
# place of the line with `raise`, save, and type `minitransformer learn check` in a terminal in the same folder. If you are
# stuck, `minitransformer learn hint` helps a little, and then a little more.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import Layer, Parameter, gradcheck, layers, plugged
from minitransformer_course import lab, yours
from minitransformer_course.judge.plug import train

lab.you_are_here("linear")     # the parts of this chapter in red; what you have written already is yellow

# %% [markdown]
# ## Where the model looks
#
# The model holds a vector of 32 numbers for each letter that it has read, and another one for each letter that it is about
# to write. A linear layer turns the vector of a letter to be written into a *query*: what am I looking for? Another turns
# the vector of each letter that was read into a *key*: what do I have? The *score* of a query and a key is their dot
# product, which is large if the two point in the same direction.
#
# **Predict:** the model writes *backward* from its end, so it writes the *d* first. Which column holds the largest number
# in the first row?

# %%
model, vocabulary = lab.drawkcab()
x, memory = lab.cross_attention_inputs(model, vocabulary, "backward")    # (9, 32) each: eight letters and the end
attention = model.decoder.layers[0].cross_attention
queries, keys = attention.query.forward(x)[0], attention.key.forward(memory)[0]
scores = queries[:, :8] @ keys[:, :8].T    # (9, 9): the first of four heads, which chapter 7 is about
figure, axes = plt.subplots(figsize=(5.4, 4), layout="constrained")
image = lab.show_scores(axes, scores, [*"drawkcab", "end"], [*"backward", "end"])
print("largest in each row:", *([*"backward", "end"][column] for column in scores.argmax(axis=1)))

# %% [markdown]
# The dark red cells run from the upper right to the lower left, and every letter to be written scores highest at its own place
# in the word. The model was never told where to look. Its matrices began as random numbers, and small steps against their
# gradients made them what they are.
#
# ## Forward and backward
#
# A Transformer is a stack of small functions, and each of them has to answer two questions:
#
# 1. **forward**: given the input $x$, what is the output $y$?
# 2. **backward**: given how the loss changes with $y$, how does it change with $x$, and with the parameters?
#
# Most libraries answer the second one for you, with a program that differentiates your forward (*autograd*). Here you derive
# every backward with pencil and paper.
#
# The linear layer takes $N$ tokens (here letters), one in each row of $X$, and mixes the $d_{in}$ numbers of each into
# $d_{out}$ new ones, with a weight $W$ of shape $(d_{in}, d_{out})$ and a bias $b$ of shape $(d_{out},)$:
#
# $$ Y = X W + b, \qquad y_{nj} = \sum_i x_{ni} W_{ij} + b_j $$
#
# The index $n$ counts tokens, $i$ inputs and $j$ outputs. The rest of the model computes a loss $L$ from $Y$. *Backpropagation*
# calls every backward, from the last layer to the first. When it reaches this layer, it hands us the *upstream gradient*
# $dY_{nj} = \partial L / \partial y_{nj}$. The code calls it `dy`, and calls the gradients that we want `dx`, `dW` and `db`.
#
# ## One number by hand
#
# **By hand.** Take one token with two numbers, $x = (3, 5)$, one output, $W_1 = 2$, $W_2 = -1$ and $b = 4$. Then
# $y = 6 - 5 + 4 = 5$. Let the upstream gradient be 10: if $y$ grows by 0.01, the loss grows by 0.1. What if $W_2$ grows by
# 0.01? It is multiplied by 5, so $y$ grows by 0.05 and the loss by 0.5, which is 50 times as much as $W_2$ grew.
#
# In the picture, each value is above its name, and the gradient of the loss with respect to it below. The cell measures the
# gradients of the five inputs this way: it nudges one at a time by 0.01 and sees how far the loss moves.

# %%
numbers = {"x_1": 3.0, "W_1": 2.0, "x_2": 5.0, "W_2": -1.0, "b": 4.0}


def loss(x_1, W_1, x_2, W_2, b):
    return 10 * (x_1 * W_1 + x_2 * W_2 + b)    # as if the rest of the model multiplied y by 10


gradients = {name: (loss(**{**numbers, name: value + 0.01}) - loss(**numbers)) / 0.01 for name, value in numbers.items()}
parts = {"x_1 W_1": ["x_1", "W_1"], "x_2 W_2": ["x_2", "W_2"], "y": ["x_1 W_1", "b", "x_2 W_2"]}
figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
lab.show_graph(axes, parts, numbers | {"x_1 W_1": 6, "x_2 W_2": -5, "y": 5}, gradients | {"x_1 W_1": 10, "x_2 W_2": 10, "y": 10})

# %% [markdown]
# Now give the same layer a second token, $x' = (1, 2)$, whose output has the upstream gradient $-4$. The chain rule says
# that the loss changes with a number *through every $y$ that this number touches*, so these effects add up.
#
# **Predict:** what is the gradient with respect to $W_2$ now?

# %%
X, W, dY = np.array([[3.0, 5.0], [1.0, 2.0]]), np.array([[2.0], [-1.0]]), np.array([[10.0], [-4.0]])
nudged = W + np.array([[0], [0.01]])
print(f"measured: {((dY * (X @ nudged)).sum() - (dY * (X @ W)).sum()) / 0.01:.4g}")

# %% [markdown]
# Now ask the same about one $W_{ij}$, one $b_j$ and one $x_{ni}$. Write down the sums, and find the
# matrix products that compute them.

# %% [exercise] linear_backward

# %% [derivation]
# All three gradients follow from one rule, the chain rule: a number changes the loss through every $y$ that it
# touches.
#
# **The weight.** $W_{ij}$ touches $y_{nj}$ for every $n$, with the factor $x_{ni}$:
#
# $$ dW_{ij} = \sum_n \frac{\partial L}{\partial y_{nj}} \frac{\partial y_{nj}}{\partial W_{ij}} = \sum_n x_{ni}\, dY_{nj}
#    \quad\Longrightarrow\quad dW = X^\top dY \qquad (d_{in}, N)(N, d_{out}) $$
#
# **The bias.** $b_j$ touches $y_{nj}$ for every $n$, with the factor 1:
#
# $$ db_j = \sum_n dY_{nj} \qquad (d_{out},) $$
#
# **The input.** $x_{ni}$ touches $y_{nj}$ for every $j$, with the factor $W_{ij}$:
#
# $$ dX_{ni} = \sum_j dY_{nj} W_{ij} \quad\Longrightarrow\quad dX = dY\, W^\top \qquad (N, d_{out})(d_{out}, d_{in}) $$
#
# Here are the same sums as loops, one product at a time. They are slow, but they say exactly what the derivation says.

# %% [derivation] code
def backward_in_loops(dy, x, W):
    dx, dW, db = np.zeros_like(x), np.zeros_like(W), np.zeros(W.shape[1])
    for n in range(x.shape[0]):
        for j in range(W.shape[1]):
            db[j] += dy[n, j]
            for i in range(W.shape[0]):
                dW[i, j] += x[n, i] * dy[n, j]
                dx[n, i] += dy[n, j] * W[i, j]
    return dx, dW, db


for short, long in zip(linear_backward(dY, X, W), backward_in_loops(dY, X, W)):
    assert np.allclose(short, long)

# %% [markdown]
# ## Prove it
#
# A wrong gradient can have the right shape, so we measure. `gradcheck` nudges every number of the input and of the
# parameters, and compares what the loss does with what backward says. It expects a *layer*, which follows a short contract:
#
# - `forward` returns `y` and a `cache` with what `backward` needs. The layer itself remembers nothing.
# - `backward(dy, cache)` returns the gradient with respect to the input, and **adds** the gradients of the parameters to
#   their `grad`. Because it adds, a weight that is used in two places gets the sum of both.


# %%
class Linear(Layer):
    def __init__(self, d_in, d_out, rng):
        self.weight, self.bias = Parameter(rng.standard_normal((d_in, d_out))), Parameter(np.zeros(d_out))

    def forward(self, x):
        return x @ self.weight.data + self.bias.data, x                # y, and x as the cache

    def backward(self, dy, cache):
        dx, dW, db = linear_backward(dy, cache, self.weight.data)    # yours, once it passes
        self.weight.grad += dW
        self.bias.grad += db
        return dx


# %%
rng = np.random.default_rng(0)
print(gradcheck(Linear(3, 2, rng), [rng.standard_normal((4, 3))]))

# %% [markdown]
# The sizes are all different, because with $N = d_{in}$ a forgotten transpose could go unnoticed. Chapter 1b shows how a
# check reaches sixteen digits and what it cannot see.
#
# ## Sentences have more axes
#
# A model reads $B$ sentences of $T$ tokens at once: $x$ has shape $(B, T, d)$. The forward does not change, because `@`
# mixes the numbers of each token separately. The backward does, because there are now $B \cdot T$ tokens and still one $W$.
#
# **Predict:** let $x$ have shape (2, 3, 4), and fill $x$ and `dy` with ones. Is the gradient with respect to one number in
# $W$ then 2, 3 or 6?

# %%
x, W = np.ones((2, 3, 4)), np.zeros((4, 5))    # with these weights the loss is 0
W[0, 0] += 0.01
print(f"measured: {(x @ W).sum() / 0.01:.4g}")

# %% [markdown]
# Now put the pieces together as in the first picture, but let each token look at all tokens of its own sentence. The
# queries are $q = x W_q$ and the keys $k = x W_k$, both of shape $(B, T, d_k)$ and without a bias. The scores
# $s = q k^\top$ are computed sentence by sentence. (On a stack of matrices `.T` reverses all axes, while `swapaxes(-1, -2)`
# swaps the last two.)
#
# Your answer must obey two more rules. If $W_q$ grows by 1 %, every score grows by 1 %, and the loss by a hundredth of `(dw_q *
# w_q).sum()`. If $W_k$ grows by 1 % instead, every score grows by the same 1 %, so `(dw_k * w_k).sum()` has to be the same
# number. Because both queries and keys come from $x$, `(dx * x).sum()` is the sum of the two.

# %% [exercise] query_key_backward

# %% [derivation]
# Read the forward from the bottom up. Each line is a linear layer, so one rule covers them all: $y = x W$ gives
# $dx = dy\, W^\top$ and $dW = x^\top dy$.
#
# **The scores.** In $s = q k^\top$ the input is $q$ and the weight is $k^\top$, sentence by sentence:
#
# $$ dq = ds\, k \qquad (B, T, T)(B, T, d_k) $$
#
# $$ d(k^\top) = q^\top ds, \quad\text{so}\quad dk = ds^\top q \qquad (B, T, T)(B, T, d_k) $$
#
# **The tokens.** $x$ made both the queries and the keys, so it reaches the loss along two paths, and their gradients are
# added:
#
# $$ dx = dq\, W_q^\top + dk\, W_k^\top \qquad (B, T, d_{model}) $$
#
# **The weights.** A single $W_q$ made the queries of all $B\, T$ tokens, so the sum over $n$ from the first exercise now
# runs over both axes. Seen as $B\, T$ rows, $x$ is an ordinary matrix:
#
# $$ dW_q = \sum_{b, t} x_{bt}^\top\, dq_{bt} \qquad (d_{model}, B\, T)(B\, T, d_k) $$
#
# and $dW_k$ likewise, with $dk$.

# %% [markdown]
# ## Use it: learn to look
#
# Each word has eight letters, and a token's vector is the sum of a vector for its letter and one for its place. We want the
# score of place $t$ with place $7 - t$ to be 1 and all others to be 0. The loss is half the sum of the squared differences,
# so $ds = s - \text{wanted}$. Every step draws 16 random words and moves both weights a little against their gradients.


# %%
letters, places = rng.standard_normal((26, 32)) / 12, rng.standard_normal((8, 32)) / 6
w_q, w_k = rng.standard_normal((2, 32, 8)) / 3
name = "backward"    # any word of eight letters: it never trains on this one
word = letters[[ord(letter) - ord("a") for letter in name]] + places          # (8, 32)
wanted, before = np.eye(8)[::-1], word @ w_q @ (word @ w_k).T
for step in range(301):
    x = letters[rng.integers(0, 26, (16, 8))] + places                        # (16, 8, 32)
    ds = (x @ w_q) @ (x @ w_k).swapaxes(1, 2) - wanted                        # (16, 8, 8)
    _dx, dw_q, dw_k = query_key_backward(ds, x, w_q, w_k)                     # yours, once it passes
    w_q, w_k = w_q - 0.3 * dw_q / 16, w_k - 0.3 * dw_k / 16
    if step % 100 == 0:
        print(f"step {step:3}: loss {(ds * ds).sum() / 32:.2f} for each word")

# %%
figure, both = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for axes, scores, title in zip(both, (before, word @ w_q @ (word @ w_k).T), ("random weights", "after 300 steps")):
    title = lab.show_scores(axes, scores, name, name).axes.set_title(title)

# %% [markdown]
# As in the trained model, the same line runs across the picture, although this word was in none of the batches. You have built
# the part of attention that looks, and your own gradient has trained it. In chapter 5, each letter also fetches what it finds
# there.
#
# ## Break it
#
# Suppose you forget that the bias touches every row, and use only the first row of `dy`. `plugged` puts this mistake into
# every linear layer of the library, so we can check one layer and train a Transformer with it.
#
# **Predict:** which of the three gradients fails the check? And will the loss show it?


# %%
def forgetful(self, dy, cache):
    x, drows = cache.x.reshape(-1, cache.x.shape[-1]), dy.reshape(-1, dy.shape[-1])
    dx, dW, _db = linear_backward(drows, x, self.weight.data)
    self.weight.grad += dW
    self.bias.grad += drows[0]    # the sum over the rows is gone
    return dx.reshape(cache.x.shape)


with plugged(layers.Linear.backward, forgetful):
    print(gradcheck(layers.Linear(3, 2, rng), [rng.standard_normal((2, 4, 3))], methods=["complex"]))

# %% [markdown]
# The last two lines come from the *gradient doctor*, which draws an upstream gradient of its own. It plants known mistakes in
# the correct gradient and names the one that reproduces yours.
#
# Now a small Transformer learns to copy letters, once correctly and once with the mistake.

# %%
figure, axes = plt.subplots(figsize=(4.8, 2.9), layout="constrained")
lab.show_losses(axes, {"right": train(steps=100).losses,
                       "forgetful": train(plugged(layers.Linear.backward, forgetful), steps=100).losses})

# %% [markdown]
# The gradient of every bias is wrong, but the biases still move, the weights make up for them, and the loss goes down anyway.
# Here is its mean over steps 81 to 100 for three seeds, from `research/experiments/wrong_gradients.py`:
#
# | seed | right | forgetful |
# |---|--:|--:|
# | 0 | 2.00 | 2.00 |
# | 1 | 1.79 | 1.78 |
# | 2 | 1.86 | 1.87 |
#
# No curve gives this mistake away. The check does, in one line.
#
# ## Your Transformer
#
# Every function of yours that passes is copied into `my_transformer.py`. Here they run inside the trained model while it
# writes a word.

# %%
lab.run_yours("1")

# %% [markdown]
# **Read next:** `Linear` in `minitransformer/layers/linear.py`. It is the layer from this page, for inputs with any number
# of leading axes.
