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
from minitransformer.learn import lab, yours

lab.you_are_here("encoder", "decoder")

# %% [markdown]
# A student builds the paper's Transformer for English and Korean, lets the program count its parameters, and reads 37,350,377.
# The paper says 65 million for its base model and 213 million for the big one. In which boxes of figure 1 are they? At the end of
# the first section you reproduce all three numbers, or find out that one of them cannot be reproduced.
#
# All boxes are yours by now. What is left is to put them together, and two things that can only go wrong in the whole: the memory is
# read by every layer of the decoder, and one matrix is used in three places. Both ask for a sum, and a model that forgets one of its
# terms still trains.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import TransformerConfig, gradcheck, make_batch
from minitransformer.layers import DecoderLayer

model, vocabulary = lab.drawkcab()
rng = np.random.default_rng(0)

# %% [markdown]
# ## Where are the parameters?
#
# | box | what leaves it | chapter | its source, in `minitransformer/` | its proof, in `tests/` |
# |---|---|---|---|---|
# | embedding | (B, T, d_model) | 2 | `layers/embedding.py` | `layers/test_layer.py` |
# | positions | (B, T, d_model) | 3 | `functional/positions.py` | `functional/test_functional.py` |
# | attention | (B, H, T_q, d_v) | 4, 5, 6 | `functional/attention.py` | `functional/test_functional.py` |
# | multi-head | (B, T_q, d_model) | 7 | `layers/attention.py` | `layers/test_layer.py` |
# | Add & Norm | (B, T, d_model) | 8 | `layers/residual.py` | `layers/test_layer.py` |
# | feed-forward | (B, T, d_model) | 8b | `layers/feed_forward.py` | `layers/test_layer.py` |
# | encoder, decoder | (B, T, d_model) | 9 | `layers/decoder.py` | `models/test_transformer.py` |
# | logits | (B, T_q, V) | 2, 9 | `layers/output_projection.py` | `models/test_transformer.py` |
#
# Every box between the embedding and the logits hands on vectors of the same width, 512 in the base model. It has to, since a residual
# adds what comes out of a sub-layer to what went in. Inside a box the width is free: the feed-forward network widens to 2,048, and
# eight heads have 64 numbers each.
#
# **By hand.** A linear layer from 2 numbers to 3 has $2 \cdot 3$ weights and 3 biases, 9 parameters in all. A LayerNorm of 3 numbers has 6.

# %% [exercise] count_parameters

# %% [derivation]
# **The rule: count each array once.** A linear layer from $m$ to $n$ numbers has $m n + n$ parameters.
#
# $$ \text{attention} = 4 (d^2 + d), \qquad \text{feed-forward} = d f + f + f d + d, \qquad \text{norm} = 2 d $$
#
# with $d$ for `d_model` and $f$ for `d_ff`. The number of heads is not in it, since heads only cut $d$ into pieces. An encoder layer has
# an attention, a feed-forward network and two norms. A decoder layer has one more attention, and one more norm around it. The embedding is
# one matrix of $V d$ numbers, whoever uses it. All counts are $(C)$, one for each configuration.

# %% [markdown]
# The base model has $d_{model} = 512$, $d_{ff} = 2048$ and 6 layers, the big one 1,024, 4,096 and 6, and both share about 37,000 tokens. The
# student's model has 256, 512 and 3 layers, 65,001 tokens in the shared embedding, a separate output layer with a bias, and two learned
# tables of 100 positions. **Predict:** is most of the student's model in its layers or in its tables of tokens?

# %%
sizes = np.array([[37_000, 37_000, 65_001], [512, 1024, 256], [2048, 4096, 512], [6, 6, 3]])
embedding, encoder, decoder = count_parameters(*sizes)
others = np.array([0, 0, 65_001 * 256 + 65_001 + 2 * 100 * 256])
for name, total in zip(("base", "big", "student"), embedding + encoder + decoder + others):
    print(f"{name:8} {total:11,}")
lab.show_counts(("base", "big", "student's"), embedding, encoder, decoder, others)

# %% [markdown]
# The student's number is right to the last digit, and nearly nine tenths of it are two tables of tokens. Those of the paper are not: base
# has 63 million, and big 214. The paper says "about 37000 tokens", and its 65 million would need some 41,000.
#
# ## What goes in: three arrays
#
# Chapter 6 shifted the target. Here is a batch of two words, as the model of this book reads it:

# %%
batch = make_batch([(vocabulary.encode(word), vocabulary.encode(word[::-1])) for word in ("key", "go")])
for name in ("source", "target", "next_target"):
    print(f"{name:12}", *(vocabulary.tokens(row) for row in getattr(batch, name).tolist()))

# %% [markdown]
# The shift does not hide the answer: the token to be predicted at position 1 is what `target` holds at position 2. What hides it is the causal
# mask.
#
# ## Put together: a layer of the decoder
#
# An encoder layer has two sub-layers, and chapter 8b has put them together. A decoder layer has a third one between them, the
# *cross-attention*: the text that is being written asks, and the source answers. In a translation each word of the answer looks for
# the words that it has to translate. Two things go wrong here in real libraries: who asks, and which mask belongs to whom.

# %% [exercise] decoder_layer

# %% [derivation]
# **Figure 1, from the bottom up.** Write $A(q, m)$ for attention with queries from $q$, and keys and values from $m$. Each step takes what the
# one before has made:
#
# $$ x_1 = \operatorname{LN}(x + A(x, x)), \quad x_2 = \operatorname{LN}(x_1 + A(x_1, \text{memory})), \quad y =
# \operatorname{LN}(x_2 + F(x_2)) $$
#
# All of them are $(B, T, D)$. It is $x_1$ that asks the memory, after Add & Norm, and not the raw output of the self-attention. The first
# attention has the causal mask $(T, T)$, because later tokens of the *target* are not written yet. The second one has the padding mask of
# the *source*, $(B, 1, T)$: nothing in the source is in the future.

# %% [markdown]
# The library's layer has projections, several heads and dropout besides. With one head and the identity for each projection, it must do what
# yours does:

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
print(str(gradcheck(DecoderLayer(config, rng), [x, memory, causal, mask[:, None]], name="decoder layer")).splitlines()[-1])

# %% [markdown]
# The last line is the proof of its backward, with respect to `x`, `memory` and every parameter.
#
# ## The way back to the encoder
#
# Nothing compares what the encoder puts out with anything. All that it ever learns comes through the memory, from the decoder's layers, and
# each of them has read it.
#
# **By hand.** One number everywhere, no residual: layer 1 makes $x_1 = x_0 + 2m$ and layer 2 makes $x_2 = 3 x_1 + 5m$. The memory $m$ reaches
# $x_2$ directly, 5 times, and through layer 1, $3 \cdot 2$ times. So the slope is 11.

# %% [exercise] memory_backward

# %% [derivation]
# **Two rules: a sum passes its gradient to both terms, and what is used several times collects the gradients of all uses.** From the last layer
# to the first, $x' = x + x U_n$ gives
#
# $$ dx = dx' + dx' U_n^\top \qquad (B, T_q, D) $$
#
# In $x + p_n (m V_n)$ the value is $v = m V_n$, so $dv = p_n^\top dx$ is $(B, T_k, D)$, and layer $n$ sends $dv\, V_n^\top$ to the memory. The
# next layer down gets $dx$ as it is, because of the residual. The memory collects
#
# $$ dm = \sum_n p_n^\top\, dx_n\, V_n^\top \qquad (B, T_k, D) $$

# %% [markdown]
# In the real decoder, the queries' part of the gradient goes down as well. Here is a Transformer with 24 layers in each stack, before its
# first update. **Predict:** you pass on the last layer's part alone, as one line with `=` for `+=` would do. Is the encoder's gradient then
# still about right, or does it point elsewhere?

# %%
for pre_norm, style, name in ((False, "--", "post-norm"), (True, "-", "pre-norm")):
    parts = lab.memory_parts(pre_norm)    # [dmemory of each layer], first layer first
    total = sum(parts)
    cosine = (parts[-1] * total).sum() / np.linalg.norm(parts[-1]) / np.linalg.norm(total)
    print(f"{name:9}: the last layer's part is {np.linalg.norm(parts[-1]) / np.linalg.norm(total):.2f} of all, cosine {cosine:.2f}")
    plt.plot(range(1, 25), [np.linalg.norm(part) for part in parts], style, color="tab:purple", label=name)
plt.gca().set(xlabel="layer of the decoder", ylabel="norm of its part of dmemory", yscale="log")
legend = plt.legend()

# %% [markdown]
# TO FILL
#
# ## One matrix, three uses
#
# The paper shares weights in two ways (section 3.4). Source and target have one vocabulary, so they share an embedding, and the same matrix,
# transposed, makes the logits. Chapter 2 derived both uses one by one.

# %% [exercise] shared_backward

# %% [derivation]
# **The rule: a parameter collects the gradients of all its uses.** The logits are a product, so $dh = d\text{logits}\, E$, of shape
# $(B, T_q, D)$, and its part of $dE$ is $d\text{logits}^\top h$, summed over all positions. An embedding moves rows, times $\sqrt{D}$, so row $i$
# gets $\sqrt{D}$ times the gradient of every position that holds token $i$:
#
# $$ dE = d\text{logits}^\top h + \sqrt{D} \sum_{\text{source}} + \sqrt{D} \sum_{\text{target}} \qquad (V, D) $$
#
# `np.add.at` adds at repeated rows, where `dE[ids] +=` keeps only one of them.

# %% [markdown]
# **Predict:** the model reads *key* and learns to write *yek*. How many of the 29 rows of $E$ get a gradient: those of the letters in the
# word, or all?

# %%
d = lab.gradients_of_uses("key", model)    # dsource, dtarget, dlogits, h, source, target, E
nothing = [np.zeros_like(one) for one in d[:3]]
uses = [shared_backward(*(one if i == use else zero for i, (one, zero) in enumerate(zip(d, nothing))), *d[3:])[1] for use in range(3)]
lab.show_uses(uses, vocabulary)
print("the sum, against the library's gradient:", np.abs(sum(uses) - lab.shared_gradient("key", model)).max())

# %% [markdown]
# All. The embeddings touch the rows of their own tokens, but a softmax pushes every logit.
