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
# # 11. Learning: Adam, clipping, and a learning rate that warms up

# %%
from minitransformer_course import lab, yours

lab.you_are_here("adam")

# %% [markdown]
# The model has a loss, and a gradient for each weight. The step is still missing, and it decides whether a model learns at all.
# Here are two training runs of one model, three layers deep, with the same initial weights, words and optimizer. Both have a
# learning rate of 0.012, but one of them approaches it slowly, over 60 steps.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import Transformer, gradcheck, make_batch

config = lab.training.three_layers()
losses = {name: lab.training.reverse(100, config=config, learning_rate=lambda step: 0.012 * min(1, step / warmup))[1]
          for name, warmup in (("with warm-up", 60), ("without", 1))}
figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
lab.show_losses(axes, losses, (math.log(26), "ln 26, the plateau of chapter 10"), of="letter")

# %% [markdown]
# Every gradient of the lower run is right, and so is every gradient of the upper one, which stays near
# $\ln 26 + \ln \tfrac98 = 3.38$. That is the loss per letter if all letters get the same probability and the end of a word
# gets $1/9$, wherever the model is in the word. The first sixty steps decide.
#
# ## One number by hand
#
# The simplest update is *stochastic gradient descent*, SGD: subtract from each weight the learning rate times its gradient.
# How large are the gradients of individual weights in the running example, before any training?

# %%
least, most = np.percentile(np.abs(lab.training.gradient_of(Transformer(lab.CONFIG, seed=0))), [10, 99])
print(f"a tenth of the weights get less than {least:.0e}, a hundredth more than {most:.0e}")

# %% [markdown]
# A learning rate that suits some of them is far too large or far too small for the others. *Adam* divides by the usual size of
# each weight's gradient. It keeps two running means for each weight, one of the gradient $g$ and one of its square:
#
# $$ m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2 $$
#
# The paper uses $\beta_1 = 0.9$ and $\beta_2 = 0.98$. **By hand:** if $g$ is always 3, $m$ should be 3. But it starts at 0, so
# it is 0.3 after one step and 0.57 after two. It is too small by a factor that you can work out, and $v$ is too small by
# another factor. Correct both. The step is then the learning rate times the mean, divided by the square root of the mean
# square. A tiny $\epsilon = 10^{-9}$ is added to this root, in case the gradient has always been 0.

# %% [exercise] adam_step

# %% [derivation]
# **The rule: a geometric sum.** Unroll $m$ for a gradient that is always $g$:
#
# $$ m_t = (1 - \beta_1) \sum_{i=0}^{t-1} \beta_1^i \, g = (1 - \beta_1^t)\, g $$
#
# So $m_t / (1 - \beta_1^t)$ is the mean that we wanted, and $v_t / (1 - \beta_2^t)$ is the mean of the square. If $g$
# changes, this is a weighted mean whose weights sum to 1, as they should. All arrays have shape $(P)$:
#
# $$ w \leftarrow w - \eta\, \frac{m_t / (1 - \beta_1^t)}{\sqrt{v_t / (1 - \beta_2^t)} + \epsilon} $$
#
# The corrected means are used once and thrown away. The next step continues with the uncorrected $m$ and $v$.

# %% [markdown]
# **Predict:** three weights have the gradients 1,000, 1 and $-0.001$. How far does each of them move in the first step,
# with a learning rate of 0.01?

# %%
print(adam_step(np.zeros(3), np.array([1000, 1, -0.001]), np.zeros(3), np.zeros(3), 1, 0.01, 0.9, 0.98, 1e-9)[0].round(6))

# %% [markdown]
# In the first step the mean is $g$ and the square root of the mean square is $|g|$, so only the sign is left.
#
# ## A race
#
# The smallest problem with gradients of unequal size has two weights. The loss $(a^2 + 50\, b^2) / 2$ is a valley with steep
# walls, a flat floor, and the goal at $(0, 0)$.


# %%
def valley(a, b):
    return (a ** 2 + 50 * b ** 2) / 2


steep, start = np.array([1.0, 50.0]), np.array([4.0, 1.0])
print(gradcheck((lambda w: (valley(*w), w), lambda dloss, w: dloss * np.array([1, 50], w.dtype) * w), [start], name="valley"))

# %%
paths = {"SGD, 0.038": [start * (1 - 0.038 * steep) ** step for step in range(41)], "Adam, 0.3": [start]}
w, m, v = start, np.zeros(2), np.zeros(2)
for t in range(1, 41):
    w, m, v = adam_step(w, steep * w, m, v, t, 0.3, 0.9, 0.98, 1e-9)
    paths["Adam, 0.3"].append(w)
figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
lab.training.show_valley(axes, valley, {name: np.array(path) for name, path in paths.items()})

# %% [markdown]
# SGD cannot use a larger learning rate, because above 0.04 every bounce is larger than the one before. Adam's steps have about
# the same size in both directions, though it overshoots and swings back. On the running example, with words of eight random
# letters, `research/experiments/learning.py` gives these losses per letter after 200 steps:
#
# | optimizer, learning rate | seed 0 | seed 1 | seed 2 |
# |---|--:|--:|--:|
# | SGD, 1, the best of four | 1.22 | 1.09 | 1.16 |
# | Adam, 0.006, the best of six | 0.52 | 0.22 | 0.34 |
# | Adam with $\beta_2 = \epsilon = 0.9$, 0.004 | 3.52 | 3.65 | 3.63 |
# | Adam with $\beta_2 = \epsilon = 0.9$, 0.9 | 1.51 | 0.78 | 1.32 |
#
# ## Epsilon, and other slips
#
# The paper's $\epsilon$ is $10^{-9}$. Suppose that it were 0.9, and $\beta_2$ as well. **Predict:** for a gradient that is
# always 0.001, how large is the step as a multiple of the learning rate? And what do you divide by, roughly, whatever the
# gradient is?


# %%
def steps(gradients, epsilon=1e-9):
    """The sizes of Adam's steps, in learning rates, for a sequence of gradients (T, P)."""
    w = m = v = np.zeros_like(gradients[0])
    found = []
    for t, g in enumerate(gradients, 1):
        moved, m, v = adam_step(w, g, m, v, t, 1.0, 0.9, 0.98, epsilon)
        found.append(np.abs(moved - w))
    return np.array(found)


# %%
sizes = np.geomspace(1e-7, 10, 100)
inside = sizes / np.sqrt(sizes ** 2 + 1e-9)    # epsilon within the root
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
lab.show_curves(left, sizes, {"$\\epsilon$ = 1e-9": steps([sizes])[0], "$\\epsilon$ = 0.9": steps([sizes], epsilon=0.9)[0],
                              "1e-9 inside the root": inside}, "gradient, always the same", "step / learning rate")
left.loglog()
t = np.arange(1, 101)
forgotten = (1 - 0.9 ** t) / 0.1 / np.sqrt((1 - 0.98 ** t) / 0.02)
curves = {"right": steps(np.ones((100, 1)))[:, 0], "the power t forgotten": forgotten}
lab.show_curves(right, t, curves, "step t, gradient always 1", "step / learning rate")

# %% [markdown]
# The step is $0.001 / 0.901$, about a thousandth of the learning rate. You divide by roughly 0.9,
# so nothing adapts to anything, and this is SGD with a running mean. Inside the square root,
# $10^{-9}$ becomes $3 \cdot 10^{-5}$, which slows down every weight whose gradient is smaller than
# that. On the right, the code has $1 - \beta$ instead of $1 - \beta^t$. Its first step is perfect,
# so a test of one step sees nothing, and later steps are up to 2.2 times too long.
#
# ## Clipping
#
# Now and then a batch produces a gradient a hundred times as long as usual. **Predict:** Adam sees gradients of 1, one of
# 100, and then 1 again. In the twenty steps after the spike, are its steps larger than before, or smaller?

# %%
spike = np.where(np.arange(150)[:, None] == 40, 100.0, 1.0)
figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
lab.show_curves(axes, range(150), {"clipped to 2": steps(np.minimum(spike, 2))[:, 0], "a spike of 100": steps(spike)[:, 0]},
                "step", "step / learning rate")
axes.set_ylim(0, 1.3)

# %% [markdown]
# In each step $m$ forgets a tenth of the spike, but $v$ has seen its square, 10,000, and forgets only 2 % of it. So a gradient
# that is too long has to be shortened *before* Adam sees it.
#
# The gradient is one vector with a number for each weight of the model. Clipping may shorten it but must not change its
# direction. **By hand:** a weight and a bias have the gradients 3 and 4. Together they are a vector of length 5, and with a
# limit of 1 they become 0.6 and 0.8.

# %% [exercise] clip

# %% [derivation]
# **The rule: a factor changes the length of a vector but not its direction.** With one factor $c$ for all numbers, the norm
# becomes $c$ times as large, so $c = \text{limit} / \text{norm}$ if the norm is above the limit, and $c = 1$ otherwise:
#
# $$ c = \frac{\text{limit}}{\max(\text{norm}, \text{limit})}, \qquad
# \text{norm} = \sqrt{\sum_{k, d} dW_{kd}^2 + \sum_d db_d^2} $$
#
# The maximum in the denominator covers both cases, and a gradient of 0 needs no exception. $dW$ is $(K, D)$, $db$ is $(D)$, and
# $c$ is one number. The paper does not mention clipping. The library clips all parameters together, with a limit of 1 unless
# you choose another.

# %% [markdown]
# **Break it.** Trainers have clipped each parameter by its own norm (transformers, issue 581), or each micro-batch before the
# sum (lingua, pull request 59). Here is what the first mistake does to the direction:

# %%
dW, db = np.array([[3.0]]), np.array([0.4])
for name, w, b in (("one norm", *clip(dW, db, 1.0)), ("two norms", clip(dW, 0 * db, 1.0)[0], clip(0 * dW, db, 1.0)[1])):
    print(f"{name}: dW {w.item():.2f}, db {b.item():.2f}, ratio {(w / b).item():.1f}")

# %% [markdown]
# With two norms only the weight is divided, so the bias counts three times as much as before, and the vector has turned.
#
# ## Warm-up
#
# The paper's learning rate has three properties. It rises in proportion to the step number, for 4,000 steps of *warm-up*. After
# that, it falls in proportion to one over the square root of the step number. At the peak between the two, it is one over the
# square root of the product of $d_{model}$ and the number of warm-up steps. Write the formula down.

# %% [exercise] schedule

# %% [derivation]
# **The rule: a proportion is fixed by one point.** Both curves go through the peak, at step $W$ with the value
# $1 / \sqrt{d_{model} W}$. The first is the peak times $s / W$, and the second is the peak times $\sqrt{W / s}$. Both
# factors are 1 at $s = W$. Before $W$ the first one is smaller, and after $W$ the second:
#
# $$ \eta_s = \frac{1}{\sqrt{d_{model} W}} \min\!\left( \frac{s}{W}, \sqrt{\frac{W}{s}} \right)
# = d_{model}^{-0.5} \min\!\left( s^{-0.5},\; s\, W^{-1.5} \right) $$
#
# The right side is equation 3 of the paper. Steps count from 1, because at step 0 the learning rate is 0. The arrays have shape
# $(N)$.

# %% [markdown]
# **Predict** the base model's learning rate at the peak, with $d_{model} = 512$. How many times smaller is it at step
# 100,000, the last one?

# %%
s = np.arange(1, 100_001)
figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
for (d_model, warmup), style in zip(((512, 4000), (512, 8000), (256, 4000)), ("k-", "r--", "b:")):
    axes.plot(s[:30_000], schedule(s[:30_000], d_model, warmup), style, label=f"d_model {d_model}, warm-up {warmup:,}")
axes.set(xlabel="step", ylabel="learning rate")
shown = axes.legend()
print("peak {:.2e}, step 100,000 {:.2e}".format(*schedule(np.array([4000, 100_000]), 512, 4000)))

# %% [markdown]
# Step 100,000 is 25 times as far as the peak, and 5 is the square root of 25.
#
# ## What the warm-up is for
#
# In the first step, every weight moves by the full learning rate, and for a while after that, $v$ has seen few gradients and is
# a poor estimate. A large learning rate then moves thousands of weights far, by nearly random amounts. Here are the three-layer
# model's losses per letter after 240 steps, for three seeds each, from the same script:
#
# | | learning rate 0.003 | learning rate 0.012 |
# |---|---|---|
# | post-norm, no warm-up | 0.51, 0.25, 0.25 | 3.38, 3.33, 3.28 |
# | post-norm, warm-up | 0.49, 0.45, 0.57 | 1.35, 0.63, 0.33 |
# | pre-norm, no warm-up | 0.21, 0.21, 0.23 | 2.66, 1.88, 2.01 |
# | pre-norm, warm-up | 0.31, 0.16, 0.27 | 0.89, 0.33, 0.32 |
#
# At 0.003, three seeds show no clear effect. At 0.012 and without a warm-up, post-norm is still at the loss of a model that
# reads nothing, and pre-norm is slow. A warm-up lets you use a learning rate that would do damage in the first steps.
#
# ## Batches of tokens
#
# The paper's batches are measured in tokens, about 25,000 of the source and as many of the target, because sentences differ in
# length. **Predict:** the base model took 100,000 steps of 0.4 seconds. How many hours is that?

# %%
print(f"base: {100_000 * 0.4 / 3600:.1f} hours; big, 300,000 steps of 1.0 s: {300_000 / 86400:.1f} days")

# %% [markdown]
# The paper says 12 hours and 3.5 days, so its 0.4 seconds are rounded.
#
# ## One line is wrong
#
# What do you do with a wrong program if no judge says where to look? Here is one that trains a small model. The judge knows its
# wrong line and does not tell you.

# %% [exercise] find_fault

# %% [derivation]
# **The rule: a backward needs the arrays of its forward, unchanged.** With a learning rate of 1, the step subtracts its
# gradients:
#
# ```python
# rng, ids = np.random.default_rng(0), np.array([1, 1, 0, 4, 1])
#
# def forward(E, W, b):
#     *moved, loss = broken_step(E, W, b, ids, ids[::-1], 1.0)
#     return loss, (E - moved[0], W - moved[1], b - moved[2])
#
# print(gradcheck((forward, lambda dloss, gradients: tuple(dloss * one for one in gradients)),
#                 [rng.standard_normal(shape) for shape in ((5, 3), (3, 3), 3)]))
# ```
#
# The gradients of E and b pass, and that of W fails. Line 14 is right: $dW = x^T dz$, with $x$ and $dz$ of shape $(T, D)$. But
# line 4 has written $x + h$ into the memory of $x$, so line 14 multiplies by $y$. No later line of the forward uses $x$, which is
# why the loss is right. `y = x + h` mends the step. Lines 3, 7 and 8 overwrite arrays, too, and do no harm: $z > 0$ is the same
# before and after ReLU, and no backward uses the logits or $e$.

# %% [markdown]
# ## Since 2017
#
# Two things have changed. *Weight decay* pulls every weight a little towards 0. If $\lambda w$ is added to the
# gradient, Adam divides it by the size of that gradient, too. *AdamW* (2017) subtracts $\eta \lambda w$ apart from the step
# instead. **Predict:** two weights start at 1, and their gradients are noise of size 100 and 0.01. Which of them does the first
# way shrink?

# %%
noise = np.random.default_rng(0).standard_normal((1000, 2)) * [100, 0.01]
for name, inside in (("in the gradient", True), ("AdamW", False)):
    w, m, v = np.ones(2), np.zeros(2), np.zeros(2)
    for t, g in enumerate(noise, 1):
        moved, m, v = adam_step(w, g + 0.1 * w * inside, m, v, t, 0.001, 0.9, 0.98, 1e-9)
        w = moved - 0.001 * 0.1 * w * (not inside)
    print(f"{name:15}: {w.round(2)}")

# %% [markdown]
# With AdamW, both shrink alike, whatever their gradients are. The second change is the end of the schedule. Half a *cosine*,
# $\frac12 (1 + \cos(\pi s / S))$, takes the learning rate from its peak to 0 at the last step $S$. After 600 steps of the
# running example, three seeds reach losses of 0.005 to 0.007 with it, and of 0.04 to 0.09 with a constant 0.006.
#
# ## Your Transformer
#
# Here is a whole training loop, made of your `adam_step` and your `clip`. It trains the running example from scratch.


# %%
def learn(learning_rate, steps=240, seed=0):
    """The losses per letter of a training run on words of eight random letters."""
    model, rng = Transformer(lab.CONFIG, seed=seed), np.random.default_rng(seed)
    w, m, v, losses = model.flat.data, 0.0, 0.0, []
    for t in range(1, steps + 1):
        batch = make_batch(lab.training.words(rng, 16, 8))
        _sums, cache = model.loss_forward(batch)                                 # forward,
        losses.append(-cache.loss.log_likelihood[:, :8].mean())
        model.zero_grad()
        model.loss_backward(1 / batch.terms, cache)                              # backward,
        g, _db = clip(model.flat.grad[None], np.zeros(1), 1.0)                   # clip: all gradients are one row
        w[:], m, v = adam_step(w, g[0], m, v, t, learning_rate(t), 0.9, 0.98, 1e-9)    # and step
    return np.array(losses)


# %%
own = learn(lambda t: 0.006)
sgd = lab.training.reverse(240, optimizer=lab.training.SGD, learning_rate=lambda step: 1.0)[1]
figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
lab.show_losses(axes, {"your Adam, 0.006": own, "SGD, 1": sgd}, of="letter")
lab.run_yours("11")

# %% [markdown]
# There is a step now, and this loop is all of training: forward, backward, clip, step. What is still missing is a model that
# writes without being told what to write.
#
# **Read next:** `adam_update` in `minitransformer/functional/adam.py`, which works in place, and `Adam.step` and `schedule`
# in `minitransformer/training/optim.py`.
