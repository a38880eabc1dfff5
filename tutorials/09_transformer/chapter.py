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
# # 9. The whole Transformer

# %%
from minitransformer_course import lab, yours

lab.you_are_here("encoder", "decoder", shapes=False)

# %% [markdown]
# Part one took apart a model that reads *backward* and writes *drawkcab*. A chat model reads a question and writes an answer.
# **What is between the two?** Less than you may think. Each chapter of part two strikes one line from this list:
#
# | missing between *drawkcab* and a chat model | chapter |
# |---|---|
# | the blocks, put together | 9 |
# | a number that says how wrong the model is | 10 |
# | a step that makes it less wrong | 11 |
# | a way to choose each token, and to write fast | 12 |
# | a text to continue, in place of a word to reverse | 12b |
# | the parts that have changed since 2017, and size | 13 |
# | to know what its heads have learned | 13b |
# | to be taught, by examples and by a reward | 13c |
#
# You have derived every box by now, and this chapter puts them together: the encoder maps the source $x$ to a sequence of
# vectors $z$, the *memory*, and from $z$ the decoder writes the target $y$. Two things happen only in the whole model, and both
# can go wrong: every layer of the decoder reads the memory, and one matrix is used in three places. In both cases the gradient
# is a sum, and a model that forgets one of its terms still trains.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import TransformerConfig, gradcheck, make_batch
from minitransformer.layers import Decoder, DecoderLayer, MultiHeadAttention

model, vocabulary = lab.drawkcab()
rng = np.random.default_rng(0)

# %% [markdown]
# ## Where are the parameters?
#
# Every box between the embedding and the logits passes on vectors of the same width, 512 in the base model. The widths
# have to match, since a residual adds what comes out of a sub-layer to what went in. Inside a box the width is free:
# the feed-forward network widens to 2,048, and each of the eight heads has width 64. The six layers of a stack have the same
# shape, but each has parameters of its own.
#
# **By hand.** A linear layer from 2 numbers to 3 has $2 \cdot 3$ weights and 3 biases, 9 parameters in all. A LayerNorm
# of 3 numbers has 6.

# %% [exercise] count_parameters

# %% [derivation]
# **The rule: count each array once.** A linear layer from $m$ to $n$ numbers has $m n + n$ parameters.
#
# $$ \text{attention} = 4 (d^2 + d), \qquad \text{feed-forward} = d f + f + f d + d, \qquad \text{norm} = 2 d $$
#
# Here $d$ is `d_model` and $f$ is `d_ff`. The number of heads does not appear, since heads only cut $d$ into pieces. An encoder
# layer has one attention sub-layer, a feed-forward network and two norms. A decoder layer has one more attention sub-layer,
# with a norm after it. The embedding is one matrix of $V d$ numbers, however many parts of the model use it. All counts have
# shape $(C)$, one number for each configuration.

# %% [markdown]
# The paper's base model has $d_{model} = 512$, $d_{ff} = 2048$ and 6 layers, and the big one has 1,024, 4,096 and 6. We give
# both 32,000 tokens. A small one, for English and Korean, has 256, 512 and 3 layers, with 65,001 tokens in the shared
# embedding, a separate output layer with a bias, and two learned tables of 100 positions. **Predict:** are most of its
# parameters in the layers or in the tables of tokens?

# %%
sizes = np.array([[32_000, 32_000, 65_001], [512, 1024, 256], [2048, 4096, 512], [6, 6, 3]])
counts = dict(zip(("embedding", "encoder", "decoder"), count_parameters(*sizes)))
counts["output layer, positions"] = np.array([0, 0, 65_001 * 256 + 65_001 + 2 * 100 * 256])
print("base {:,}, big {:,}, small {:,}".format(*sum(counts.values())))
lab.show_counts(("base", "big", "small"), counts)

# %% [markdown]
# In the small model, the two tables of tokens make up nearly nine tenths. The paper's own totals, 65 and 213 million, are
# harder to reproduce, and chapter 17 tries. A chat model spends its parameters elsewhere: in SmolLM2, the table of tokens is a
# fifth of the whole.
#
# ## What goes in: three arrays
#
# In chapter 6 you shifted the target. Here is a batch of two words as this book's model reads it:

# %%
batch = make_batch([(vocabulary.encode(word), vocabulary.encode(word[::-1])) for word in ("key", "go")])
for name in ("source", "target", "next_target"):
    print(f"{name:12}", *(vocabulary.tokens(row) for row in getattr(batch, name).tolist()))

# %% [markdown]
# Padding gets positions like any other token, and that does no harm, because no query may look at it. The shift does not hide the
# answer, because the token to be predicted at position 1 is in `target` at position 2. It
# is the causal mask that hides it.
#
# ## Put together: a layer of the decoder
#
# An encoder layer has two sub-layers, and in chapter 8b you put them together. A decoder layer has a third one between them,
# the *cross-attention*, in which the text being written asks and the source answers. In a translation, each word of the target
# looks for the source words that it has to translate. Two things are easy to get wrong here: which input the queries come from,
# and which attention gets which mask.

# %% [exercise] decoder_layer

# %% [derivation]
# **Figure 1, from the bottom up.** Write $A(q, m)$ for attention with queries from $q$, and keys and values from $m$. Each
# step takes the output of the one before:
#
# $$ x_1 = \operatorname{LN}(x + A(x, x)), \quad x_2 = \operatorname{LN}(x_1 + A(x_1, \text{memory})), \quad y =
# \operatorname{LN}(x_2 + F(x_2)) $$
#
# $x_1$, $x_2$ and $y$ have shape $(B, T, D)$. The queries to the memory come from $x_1$, after Add & Norm, and not from the raw
# output of the self-attention. The first attention has the causal mask $(T, T)$, because later tokens of the *target* have not
# been written yet. The second attention has the padding mask of the *source*, $(B, 1, T)$, and needs no causal mask, because
# nothing in the source lies in the future.

# %% [derivation]
# **PyTorch's attention, axis by axis.** If you compare your layer with `torch.nn.MultiheadAttention`, nearly every axis
# is somewhere else:
#
# | | here | `torch.nn.MultiheadAttention` |
# |---|---|---|
# | input | $(B, T, D)$ | $(T, B, D)$, unless `batch_first=True` |
# | query, key, value | three weights $(D, D)$, $y = x W + b$ | all three in `in_proj_weight` $(3D, D)$, $y = x W^\top + b$ |
# | output | `output.weight` $(D, D)$, $y = x W + b$ | `out_proj.weight` $(D, D)$, $y = x W^\top + b$ |
# | mask | one, True: may attend | `attn_mask` $(T_q, T_k)$ and `key_padding_mask` $(B, T_k)$, True: may **not** attend |
# | attention weights | for each head, $(B, H, T_q, T_k)$ | their mean, $(B, T_q, T_k)$, unless `average_attn_weights=False` |
# | a query with nothing to attend to | zeros | NaN |
#
# Many classes on the web write the split of chapter 7 with `einops`, as `rearrange(q, "b t (h d) -> b h t d", h=8)`. The names
# of the axes are free, and they may be Korean.
#
# The mask of `torch.nn.functional.scaled_dot_product_attention` is the other way round again: there, True means that a query
# may attend. With the axes in their places, the numbers are the same:

# %% [derivation] code
try:
    import torch
except ImportError:
    print("not compared: torch is not installed")
else:
    ours = MultiHeadAttention(8, 2, rng).astype("float64")
    for one in (ours.query, ours.key, ours.value, ours.output):
        one.bias.data += rng.standard_normal(8)
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    three, x, real = (ours.query, ours.key, ours.value), rng.standard_normal((2, 5, 8)), np.arange(5) < np.array([[5], [3]])
    with torch.no_grad():
        theirs.in_proj_weight[:] = torch.tensor(np.concatenate([one.weight.data.T for one in three]))
        theirs.in_proj_bias[:] = torch.tensor(np.concatenate([one.bias.data for one in three]))
        theirs.out_proj.weight[:] = torch.tensor(ours.output.weight.data.T)
        theirs.out_proj.bias[:] = torch.tensor(ours.output.bias.data)
        y, weights = theirs(*3 * [torch.tensor(x)], key_padding_mask=torch.tensor(~real),
                            attn_mask=torch.tensor(~np.tri(5, dtype=bool)))
    own, cache = ours.forward(x, x, x, real[:, None, None] & np.tri(5, dtype=bool))
    print(f"outputs differ by {np.abs(own - y.numpy()).max():.0e}, weights by "
          f"{np.abs(cache.attention.weights.mean(axis=1) - weights.numpy()).max():.0e}")

# %% [markdown]
# The library's layer also has projections, several heads and dropout. With one head and identity matrices for the
# projections, it must compute the same as yours:

# %%
config = TransformerConfig.named("toy", 30, d_model=8, num_heads=1, d_ff=16, dropout=0.0)
layer = DecoderLayer(config, rng).astype("float64")
for attention in (layer.self_attention, layer.cross_attention):
    for linear in (attention.query, attention.key, attention.value, attention.output):
        linear.weight.data[:] = np.eye(8)
x, memory, causal = *rng.standard_normal((2, 2, 5, 8)), np.tri(5, dtype=bool)
mask = np.arange(5) < np.array([[[5]], [[3]]])
y = decoder_layer(x, memory, causal, mask, layer.feed_forward.inner.weight.data, layer.feed_forward.outer.weight.data)
print("difference:", np.abs(layer.forward(x, memory, causal, mask[:, None])[0] - y).max().round(12))
with lab.own_functions() as names:
    report = gradcheck(DecoderLayer(config, rng), [x, memory, causal, mask[:, None]], methods=["central"], name="decoder layer")
print(len(names), "of your functions at work;", str(report).splitlines()[-1])

# %% [markdown]
# The last line checks the layer's gradients with respect to `x`, `memory` and every parameter. The layer only puts functions
# together, yours among them, so its backward is three lines, which call the sub-layers from the last to the first.

# %% [markdown]
# ## The way back to the encoder
#
# The encoder's output is never compared with a target. Everything that the encoder learns comes through the memory, from all
# layers of the decoder, since each of them reads the memory.
#
# **By hand.** Let every quantity be a single number. The first layer computes $x_1 = x_0 + 2m$, and the second
# $x_2 = 3 x_1 + 5m$. The memory $m$ reaches $x_2$ directly with a factor of 5, and through the first layer with a factor of
# $3 \cdot 2$. So the derivative is 11.

# %% [exercise] memory_backward

# %% [derivation]
# **Two rules: a sum passes its gradient to both terms, and a value that is used several times collects the gradients of
# all its uses.** Going from the last layer to the first, $x' = x + x U_n$ gives
#
# $$ dx = dx' + dx' U_n^\top \qquad (B, T_q, D) $$
#
# In $x + p_n (m V_n)$ the value is $v = m V_n$, so $dv = p_n^\top dx$ is $(B, T_k, D)$, and layer $n$ sends
# $dv\, V_n^\top$ to the memory. The next layer down gets $dx$ unchanged, because of the residual. The memory collects
#
# $$ dm = \sum_n p_n^\top\, dx_n\, V_n^\top \qquad (B, T_k, D) $$

# %% [markdown]
# In the real decoder, every sub-layer also has a LayerNorm. Suppose that `dmemory` is not summed, and the encoder gets only
# the last layer's part instead of the sum. The next cell takes chapter 8b's untrained models with 24 layers, collects every
# decoder layer's part, and compares the last one with the sum. **Predict:** in which order is the last layer's part closer to
# the sum, post-norm or pre-norm?



# %%
def memory_parts(pre_norm, seed):
    """(24, numbers): each layer's gradient of the memory, the first layer's first."""
    model, cache, dloss = lab.deep(pre_norm, seed)
    dy, caches, parts = model.loss.backward(dloss, model.output, cache.loss), cache.hidden.decode.decoder, []
    dy = model.decoder.norm.backward(dy, caches.norm) if pre_norm else dy
    for layer, one in zip(reversed(model.decoder.layers), reversed(caches.layers)):
        dy, dmemory = layer.backward(dy, one)
        parts.insert(0, dmemory.ravel())
    return np.array(parts)


# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for pre_norm, style, name in ((False, "--", "post-norm"), (True, "-", "pre-norm")):
    for seed in range(3):
        parts = memory_parts(pre_norm, seed)
        share = np.linalg.norm(parts[-1]) / np.linalg.norm(parts.sum(axis=0))
        cosine = np.corrcoef(parts[-1], parts.sum(axis=0))[0, 1]
        print(f"{name:9} seed {seed}: the last layer's part has {share:.0%} of the norm, correlation {cosine:.2f}")
        axes.semilogy(range(1, 25), np.linalg.norm(parts, axis=1), style, color="tab:purple", label=name if seed == 0 else None)
axes.set(xlabel="layer of the decoder", ylabel="norm of its part of dmemory")
legend = axes.legend()

# %% [markdown]
# In post-norm, the last layer's part makes up most of the sum, because post-norm passes less and less of the gradient on to the
# layers below (chapter 8b). In pre-norm every layer counts, and one part tells you little about the sum. A loss curve may not
# show such a mistake, but a gradient check of two layers catches it in either order:

# %%
report = gradcheck(Decoder(config, rng), [x, memory, causal, mask[:, None]], methods=["central"])
print(config.num_layers, "layers:", str(report).splitlines()[-1])

# %% [markdown]
# ## One matrix, three uses
#
# The paper shares weights in two ways (section 3.4). Source and target have one vocabulary, so they share an embedding,
# and the same matrix, transposed, makes the logits. Chapter 2 derives each of the two uses separately.

# %% [exercise] shared_backward

# %% [derivation]
# **The rule: a parameter collects the gradients of all its uses.** The logits are a product, so $dh = d\text{logits}\, E$, of
# shape $(B, T_q, D)$, and its part of $dE$ is $d\text{logits}^\top h$, summed over all positions. An embedding copies rows and
# multiplies them by $\sqrt{D}$, so row $i$ gets $\sqrt{D}$ times the gradient of every position that holds token $i$:
#
# $$ dE = d\text{logits}^\top h + \sqrt{D} \sum_{\text{source}} + \sqrt{D} \sum_{\text{target}} \qquad (V, D) $$
#
# `np.add.at` adds at repeated rows, where `dE[ids] +=` keeps only one of them.

# %% [markdown]
# **Predict:** the model reads *key* and learns to write *yek*. Which of the 29 rows of $E$ get a gradient: those of the
# letters in the word, or all of them? (`gradients_of_uses` runs the model's backward down to the points where the three gradients
# meet $E$, which are your function's first arguments.)

# %%
model = model.astype("float64")
upstream, rest = np.split(np.array(lab.gradients_of_uses(model, vocabulary, "key"), object), [3])
uses = [shared_backward(*(one * (i == use) for i, one in enumerate(upstream)), *rest)[1] for use in range(3)]
lab.show_uses(uses)
lab.add_gradients(model, vocabulary, "key")
print("your sum, against the library's gradient:", np.abs(sum(uses) - model.target_embedding.weight.grad).max().round(12))

# %% [markdown]
# Each embedding touches the rows of its own tokens and leaves the yellow ones alone, but the softmax pushes on every logit. A
# program that keeps a copy of the matrix for each use has to add these gradients before it moves any of them. One did not, and
# its copies drifted apart from the first step on (paiml/entrenar, issue 314).
#
# ## Figure 1, from memory
#
# Here is the paper's figure 1 once more, without its shapes. Fill in nine of them. For the panel on the right, which shows the
# inside of an attention sub-layer, take the decoder's *cross-attention*.

# %%
lab.figure_1()

# %% [exercise] figure_1_shapes

# %% [derivation]
# **Two questions give every shape.** *Whose tokens?* The memory has those of the source, $T_k$, and whatever is asked, written or
# predicted has those of the target, $T_q$. A score belongs to a pair: $(T_q, T_k)$ in the cross-attention and $(T_q, T_q)$ in the
# masked self-attention. *Which width?* Between the boxes it is $d_{model}$, because residuals add. Inside, a head has $d_k$ or
# $d_v$, all heads side by side have $H d_v$, the feed-forward network has $d_{ff}$, and the logits have $V$. Wherever heads are
# apart, their axis comes before the positions, so that a matrix product sees $(T, d)$.

# %%
names = "memory query key scores answers merged logits masked inner".split()
sizes = 2, 9, 7, vocabulary.size, 32, 128, 4, 8, 8    # B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v of the running example
filled = {name: tuple(shape.tolist()) for name, shape in zip(names, figure_1_shapes(*sizes))}
lab.figure_1(filled)
logits = model.forward(np.ones((2, 9), int), np.ones((2, 7), int))[0]
print("the model's logits:", logits.shape, "yours:", filled["logits"])

# %% [markdown]
# ## Your Transformer

# %%
lab.run_yours("9")

# %% [markdown]
# The first line of the list is done: there is a whole model, with a gradient for every parameter. All of these gradients begin
# with `dlogits`, which chapter 10 derives from a loss.
#
# **Read next:** `Transformer.hidden` and `Transformer.hidden_backward` in `minitransformer/models/transformer.py`. Then
# `Decoder.backward` in `minitransformer/layers/decoder.py`, where `dmemory` is summed.
