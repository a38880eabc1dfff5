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
# # 15. Before attention: everything through one vector

# %%
from minitransformer_course import lab, yours

lab.you_are_here("attention")

# %% [markdown]
# The paper's introduction says that attention models dependencies "without regard to their distance". That is praise for
# something older than the Transformer: attention was added in 2014 to translation models made of *recurrent networks*, which
# read a sentence word by word and had to remember all of it in one vector. So what did distance cost these networks, and did
# attention really repair it?

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck, plugged
from minitransformer.zoo.baselines import (GRU, LSTM, RNN, additive_attention_backward, additive_attention_forward,
                                           through_time_backward)
from minitransformer_course.lab import recurrent

rng = np.random.default_rng(0)

# %% [markdown]
# ## One vector for a sentence
#
# A recurrent network has a *hidden state* $h$, of shape $(B, H)$. At each position it computes the next state from the previous
# one and from the token, which contributes $z_t = x_t W + b$:
#
# $$ h_t = \tanh(z_t + h_{t-1} U) $$
#
# Every position uses the same $W$, $b$ and $U$. Step 7 has to wait for step 6, so no number of processors computes the
# positions of a sentence in parallel. After the last word, all that the decoder gets is $h_T$, the *context vector*, of the
# same size for 3 words as for 100.
#
# ## The same step, again and again
#
# **By hand.** Leave out the tanh, and take $h_0 = 1$, $u = 0.5$, $z_1 = 1.5$ and $z_2 = 1$. Then $h_1 = 1.5 + 0.5 = 2$ and
# $h_2 = 1 + 0.5 \cdot 2 = 2$. Let the loss be $h_1 + h_2 = 4$. **Predict** its gradient with respect to $h_1$, and then
# with respect to $u$.


# %%
def loss(u, nudge=0.0):
    h_1 = 1.5 + u * 1 + nudge
    return h_1 + (1 + u * h_1)


print(f"h_1: {(loss(0.5, 1e-6) - loss(0.5)) / 1e-6:.3f}, u: {(loss(0.5 + 1e-6) - loss(0.5)) / 1e-6:.3f}")
parts = {"h_1": ["h_0", "u_1"], "h_2": ["h_1", "u_2"], "L": ["h_2", "h_1"]}    # L is the loss, u_1 and u_2 are u in each step
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
lab.show_graph(axes, parts, {"h_0": 1, "u_1": 0.5, "h_1": 2, "u_2": 0.5, "h_2": 2, "L": 4},
               {"h_0": 0.75, "u_1": 1.5, "h_1": 1.5, "u_2": 2, "h_2": 1, "L": 1})

# %% [markdown]
# The loss sees $h_1$ twice, once directly and once through $h_2$, where $h_1$ was multiplied by 0.5, which makes 1.5 in all.
# And $u$ was used in both steps, so its gradient is the sum of $1.5 \cdot 1$ from the first and $1 \cdot 2$ from the second.
#
# With vectors and matrices, the chain rule and these two sums are called *backpropagation through time*.

# %% [exercise] rnn_backward

# %% [derivation]
# **The rule: if a number is used in several places, its gradient is the sum over them.** That happens twice here.
#
# **A state** $h_t$, of shape $(B, H)$, is used outside the recurrence, which sends back $dy_t$, and by step $t + 1$, where it
# is multiplied by $U$:
#
# $$ dh_t = dy_t + dz_{t+1} U^\top, \qquad dz_t = dh_t\, (1 - h_t^2) \qquad (B, H) $$
#
# The second formula uses the derivative of tanh. After the last position there is no step $t + 1$. Since $dh_t$ needs $dz_{t+1}$,
# the loop runs from the last position to the first. What it carries at the end is the gradient of $h_0$.
#
# **The matrix** $U$ is used in every step, with the state *before* it:
#
# $$ dU = \sum_t h_{t-1}^\top dz_t \qquad (H, H) $$

# %% [markdown]
# **Prove it.** The loop below calls your function for every position, inside the library's own recurrent layer:


# %%
def through_time(dstates, cache):
    carried, dU, dz = np.zeros_like(dstates[0]), np.zeros_like(cache.steps[0].weight), []
    for dy, step in zip(dstates[::-1], cache.steps[::-1]):
        one, carried, dU = rnn_backward(dy, carried, dU, step.after, step.h, step.weight)
        dz.insert(0, one)
    return np.array(dz), carried, dU


layer, x = RNN(3, 4, rng), rng.standard_normal((2, 5, 3))
with plugged(through_time_backward, through_time):
    print(gradcheck(layer, [x]))

# %% [markdown]
# Follow one gradient on its way back. At each step it is multiplied by $1 - h^2$, which is at most 1, and by $U^\top$. A
# product of many such factors vanishes or explodes. **Predict:** each step keeps 0.64 of it. What is left after 50 steps, a
# percent or a billionth?

# %%
print(f"{0.64 ** 50:.0e}")

# %% [markdown]
# ## Cells and gates
#
# The LSTM (*long short-term memory*) carries a second vector from step to step, its *cell* $c$. Three *gates*, numbers between
# 0 and 1, decide what happens to it. The input gate $i$ sets how much of a *candidate* $g$ enters, the forget gate $f$ sets how
# much of the old cell stays, and the output gate $o$ sets how much of the cell is shown.
#
# $$ c' = f\, c + i\, g, \qquad h' = o \tanh(c') $$
#
# Look for the path from $c'$ back to $c$. There is one number per unit on it, $f$, with no matrix and no tanh. As long as the
# network keeps $f$ near 1, the gradient passes through. The GRU (*gated recurrent unit*, 2014) needs no cell. An update gate
# $u$ mixes the old state with a candidate $n$, $h' = (1 - u)\, n + u\, h$, and a second gate decides how much of $h$ the
# candidate sees. On its direct path there is $u$.
#
# A gate is a sigmoid, and the sigmoid of 0 is 0.5. **By hand:** with $f = 0.5$, ten steps leave $0.5^{10}$, a thousandth. The
# library starts the forget gate's bias at 1, which makes $f = 0.73$. Does it help? The next cell sends a random gradient into
# the last state of untrained layers, and measures what arrives at each position:


# %%
def by_distance(layer, T=50):
    """The norm of the gradient with respect to what is read at each of T positions, the last one first."""
    (y, last), cache = layer.forward(rng.standard_normal((20, T, 24)))
    dx = layer.backward((np.zeros_like(y), rng.standard_normal(last.shape)), cache)
    return np.linalg.norm(dx, axis=2).mean(axis=0)[::-1]


curves = {kind.__name__: by_distance(kind(24, 24, rng)) for kind in (RNN, GRU)}
for bias in (0, 1, 3):
    layer = LSTM(24, 24, rng)
    layer.input.bias.data[24:48] = bias    # of the forget gate
    curves[f"LSTM, forget gate's bias {bias}"] = by_distance(layer)
recurrent.show_distance(plt.subplots(figsize=(6.4, 3.2), layout="constrained")[1], curves, log=True)
print(*(f"{name}: {curve[-1] / curve[0]:.0e}" for name, curve in curves.items()), sep="; ")

# %% [markdown]
# With gates at 0.5, fifty steps cost the GRU and the LSTM nearly as much as the RNN. A bias of 1 saves the gradient from a loss
# by billions, and leaves one by a thousand. With 3 the gradient even grows, because the paths through $h$ add to the one through
# the cell. A *vanishing gradient* does not mean that a network cannot hold a distant word, only that training gets hardly any
# signal about it. (The learning rate is the same at every distance. What shrinks is the gradient that it multiplies.)
#
# ## What distance costs
#
# Now train LSTMs with 24 hidden units to copy up to 12 letters from an alphabet of eight, for 200 updates and with three seeds.
# For each seed, a second model has the attention that you write next.
#
# It is tempting to think that the *last* word dominates the context vector. **Predict:** in the trained LSTM, which source letter
# affects the loss of the first written letter most, the last one read or the first? (The measurement is the one above, except
# that the gradient comes from the loss of the first letter, through the decoder.)

# %%
models = {name: [recurrent.copier(name, seed) for seed in range(3)] for name in ("lstm", "lstm-attention")}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
recurrent.show_copied(left, {name: [recurrent.copied(model) for model in three] for name, three in models.items()})
trained = {"before training": recurrent.copier("lstm", steps=0)} | {f"seed {i}": one for i, one in enumerate(models["lstm"])}
curves = {name: recurrent.gradient_by_distance(model, 12) for name, model in trained.items()}
recurrent.show_distance(right, curves)
print("three farthest by three nearest:",
      *(f"{name} {curve[-3:].mean() / curve[:3].mean():.2f}" for name, curve in curves.items()), sep="; ")

# %% [markdown]
# The saying is true only before training, when the far letters affect the loss least. The letter to be written is among those
# read first, and training makes the network keep it. The network has not learned to keep everything, though. In the left
# picture, both kinds of models copy 2 letters, and from 4 letters on, each model with attention is ahead of each one without.
#
# ## Let it look back
#
# The encoder computed a state at each position, and all but the last were thrown away. Keep all of them. The decoder's state is
# the query, the encoder's states are the keys and values, and only the score differs from chapter 5. A small network with one
# hidden layer adds the query and the key, each after a linear layer, and a vector $w$ turns the tanh of the sum into a number.
# Hence the name *additive attention*. (The paper calls any such score a *compatibility function*.)
#
# **By hand.** With one number each, $q = 0$, keys $0$ and $10$, and $w = 1$, the scores are $\tanh 0 = 0$ and
# $\tanh 10 \approx 1$. The weights are $1 / (1 + e) = 0.27$ and $0.73$. A key of 1,000 would get no larger weight.

# %% [exercise] additive_attention

# %% [derivation]
# **Each pair gets its own row.** `query[:, :, None]` is $(B, T_q, 1, A)$, `key[:, None]` is $(B, 1, T_k, A)$, and their sum is
#
# $$ n_{ij} = \tanh(q_i + k_j) \quad (B, T_q, T_k, A), \qquad s_{ij} = w \cdot n_{ij} \quad (B, T_q, T_k) $$
#
# Without the tanh, $w \cdot (q_i + k_j) = w \cdot q_i + w \cdot k_j$. The first term is the same for all keys, and the softmax
# ignores whatever is added to all scores. All queries would get the same weights, so it is this small nonlinearity that lets a
# query ask anything.
#
# The backward needs no new rule. Softmax and the weighted sum are those of chapter 5. Then $da_{ij} = ds_{ij}\, w\, (1 -
# n_{ij}^2)$, and because query $i$ was added to every key, and key $j$ to every query, $dq_i = \sum_j da_{ij}$ and $dk_j =
# \sum_i da_{ij}$.

# %% [markdown]
# **Prove it.** The library's backward has to be the gradient of *your* forward. Then your forward writes in the trained model:


# %%
def forward(query, key, value, w, mask=None):    # sentences of one length need no mask
    return additive_attention(query, key, value, w)[0], (query, key, value, w)


def backward(dy, inputs):
    return additive_attention_backward(dy, additive_attention_forward(*inputs)[1])


shapes = (2, 3, 5), (2, 4, 5), (2, 4, 6), (5,)
print(gradcheck((forward, backward), [rng.standard_normal(shape) for shape in shapes], name="additive"))
library = recurrent.copied(models["lstm-attention"][0])
with plugged(additive_attention_forward, forward):
    print("letters right:", recurrent.copied(models["lstm-attention"][0]), "with the library's:", library)

# %%
recurrent.show_attention(models["lstm-attention"][0], "beach")

# %% [markdown]
# While it copies *beach*, the model finds the first letter and the end clearly. Between them, the weights follow the diagonal but
# are still blurred after 200 updates.
#
# Additive attention is not the cheaper one. Count what it stores: for 100 queries, 100 keys and $A = 64$, the tanh has 640,000
# numbers, while a matrix product computes 10,000 scores. The paper says that dot products are "much faster", and that additive
# attention is *better* at large $d_k$ if the products are not scaled: the entries of a tanh stay below 1, while dot products
# grow with the width and saturate the softmax (chapter 5).
#
# ## What is known now
#
# "Without regard to their distance" holds, as far as copying can show it: at 100 letters, the LSTM in chapter 0's table has 8 %
# in place, and 91 % once it attends, because each query is one step away from each state. The credit belongs to attention, not
# to the Transformer. But the encoder still reads one word after another. If attention reaches every state in one step anyway,
# what is the recurrence good for? The paper's answer is its title, and the next chapter asks what that answer costs.
#
# **Read next:** `through_time_backward` in `minitransformer/zoo/recurrent/recurrence.py`, and `gru_step_backward` in
# `minitransformer/zoo/recurrent/gru.py`.
