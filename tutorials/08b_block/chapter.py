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
# # 8b. Feed-forward, dropout, and the complete encoder layer
#
# AkiRusProd/numpy-transformer makes one dropout object in each encoder layer and uses it in two places. All shapes fit, and
# with a dropout rate of 0 the gradients are right. At 0.3, they are more than a quarter off. Where does this error come from?
#
# There is a second riddle. The paper says that LayerNorm comes after the sum. The code that its authors published puts it in
# front of each layer, and so does the Annotated Transformer, whose readers ask which of the two is right (its issues 1, 13 and
# 110).

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import TransformerConfig, functional, gradcheck, make_batch
from minitransformer.layers import EncoderLayer, FeedForward
from minitransformer.zoo.baselines import Convolution
from minitransformer_course import lab, yours

rng = np.random.default_rng(0)
lab.you_are_here("feed_forward", "dropout", "encoder")

# %% [markdown]
# ## Feed-forward: each position alone
#
# Attention moves information between positions. The second sub-layer works on each position alone. It consists of two linear
# layers with a ReLU between them: $a = x W_1 + b_1$, $h = \max(0, a)$ and $y = h W_2 + b_2$. Without the ReLU, $W_1 W_2$ would
# amount to a single matrix. The paper makes $h$ four times as wide as $x$: $d_{ff} = 2048$ numbers for $d_{model} = 512$.
#
# **Predict:** in an encoder layer of this size, which has more weights, the attention with its four square matrices or the
# feed-forward network with its two wide ones?

# %%
print(f"attention {4 * 512 * 512:,}, feed-forward {2 * 512 * 2048:,}")

# %% [markdown]
# Two thirds of the layer's weights are in its least famous part.
#
# The paper calls the network *position-wise*, since it is applied to each position "separately and identically", and adds that
# it could also be described as two convolutions with kernel size 1. A convolution slides a window along the sentence and
# multiplies what it sees by the same weights at each stop. A window of one position sees one token and none of its neighbours.
# The next cell copies the weights into two of the library's convolutions.

# %%
block, first, second = FeedForward(8, 32, rng), Convolution(8, 32, rng, kernel_size=1), Convolution(32, 8, rng, kernel_size=1)
for convolution, linear in ((first, block.inner), (second, block.outer)):
    convolution.weight.data[0], convolution.bias.data[:] = linear.weight.data, linear.bias.data
x = rng.standard_normal((2, 5, 8))
convolved = second.forward(np.maximum(first.forward(x)[0], 0))[0]
print("two convolutions with kernel 1 differ by", np.abs(block.forward(x)[0] - convolved).max().round(15))

# %% [markdown]
# **By hand.** Let every array be a single number: $W_1 = 2$, $b_1 = -3$, $W_2 = 5$, $b_2 = 0$ and $dy = 1$. For $x = 2$ we get
# $a = h = 1$ and $y = 5$. A nudge to $x$ arrives at $y$ ten times as large, so $dx = 10$. **Predict** $dx$, $dW_1$ and $dW_2$
# for $x = 1$.

# %%
layer, one = FeedForward(1, 1, rng).astype("float64"), np.ones((1, 1))
layer.inner.weight.data[:], layer.inner.bias.data[:], layer.outer.weight.data[:] = 2, -3, 5
dx = layer.backward(one, layer.forward(one)[1])
print(f"dx = {dx.item()}, dW1 = {layer.inner.weight.grad.item()}, dW2 = {layer.outer.weight.grad.item()}")

# %% [markdown]
# Where $a$ is negative, the ReLU lets nothing through, in either direction.
#
# In the exercise, the rows of $x$ are the $N$ positions of all sentences together. The forward kept nothing for you, so begin
# by recomputing what you need from it. You can check your result with one relation: if $W_1$ and $b_1$ are doubled and $W_2$ is
# halved, $y$ stays the same.

# %% [exercise] feed_forward_backward

# %% [derivation]
# **Read the forward from the bottom up.** Each of its lines has a backward that you know. Two of them are the product of
# chapter 1, and the one between them is the chain rule for single numbers, with a derivative of 1 or 0 for the ReLU. A bias is
# used in every row, so its gradient is summed over the rows.
#
# | forward | backward | shape |
# |---|---|---|
# | $y = h W_2 + b_2$ | $dh = dy\, W_2^\top$, $dW_2 = h^\top dy$, $db_2 = \sum dy$ | $y$: $(N, d_{model})$ |
# | $h = \max(0, a)$ | $da = dh$ where $a > 0$, else 0 | $a$, $h$: $(N, d_{ff})$ |
# | $a = x W_1 + b_1$ | $dx = da\, W_1^\top$, $dW_1 = x^\top da$, $db_1 = \sum da$ | $x$: $(N, d_{model})$ |

# %% [markdown]
# **Prove it**, with your backward and a one-line forward:


# %%
def forward(x, W1, b1, W2, b2):
    return np.maximum(x @ W1 + b1, 0) @ W2 + b2, (x, W1, b1, W2)


inputs = [rng.standard_normal(shape) for shape in ((5, 3), (3, 7), (7,), (7, 3), (3,))]
report = gradcheck((forward, lambda dy, cache: feed_forward_backward(dy, *cache)), inputs, methods=["central"])
print(str(report).splitlines()[-1])

# %% [markdown]
# What does the trained model do with its 128 hidden numbers? The word *backward* has two a's. **Predict:** are the numbers that
# are above 0 at the second *a* mostly the same as at the first *a*, or the same as at its neighbours?

# %%
model, vocabulary = lab.drawkcab()
word = vocabulary.encode("backward")
cache = model.loss_forward(make_batch([(word, word[::-1])]))[1].hidden
stacks = ("encoder, reads", "backward", cache.encode.encoder), ("decoder, writes", "drawkcab", cache.decode.decoder)
figure, both = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for axes, (title, letters, stack) in zip(both, stacks):
    on = stack.layers[0].feed_forward.activation.positive[0, :8]    # (8, 128)
    image = axes.imshow((on[:, None] == on).mean(axis=-1), vmin=0.5, vmax=1, cmap="Greys")
    axes.set(title=title, xticks=range(8), yticks=range(8), xticklabels=letters, yticklabels=letters)
    axes.set(xlabel="position, with its letter", ylabel="position, with its letter")
bar = figure.colorbar(image, ax=both, label="share of the hidden numbers\nthat are on or off in both")

# %% [markdown]
# The answer depends on which stack you ask. In the encoder the pattern fades with distance from the diagonal: the hidden
# numbers mostly tell *where* a letter is, so neighbours look alike. In the decoder the cells that compare the two a's are
# almost black, because there the numbers tell *which* letter to write.
#
# ## Dropout: a mask belongs to one call
#
# In training, dropout sets each number to 0 with probability $p$, the *dropout rate*, and divides the others by $1 - p$. At
# inference it does nothing. The paper applies it to the output of each sub-layer, and to the sum of embeddings and
# positions. Dropout is a *regularisation*: it is meant to keep a model from *overfitting*, which is to get better on its training
# set and worse on anything else.
#
# **By hand.** $x = (2, 4, 6, 8)$, $p = 0.5$, and suppose that the draw keeps the second and third numbers: $y = (0, 8, 12, 0)$.
# **Predict** the mean of $y$ over many draws.

# %%
y, _ = functional.dropout_forward(np.tile([2.0, 4.0, 6.0, 8.0], (200_000, 1)), 0.5, rng)    # (200000, 4)
print("the mean over 200,000 draws:", y.mean(axis=0).round(1))

# %% [markdown]
# That is what the division is for: the next layer sees numbers of the same size in training and at inference.
#
# Now apply dropout twice in one layer. A number that was dropped cannot have affected the loss. Which of the two masks knows
# about $x$, and which about $y$?

# %% [exercise] dropouts_backward

# %% [derivation]
# **Once drawn, a mask is a constant,** so each dropout is a product with a constant, and the chain rule multiplies by the same
# constant in backward. If $m_1$ and $m_2$ are the masks divided by $1 - p$, the forward is $h = x\, m_1$, $z = h W$ and
# $y = z\, m_2$. Read from the bottom up, it gives
#
# $$ dz = dy\, m_2, \qquad dh = dz\, W^\top, \qquad dW = h^\top dz, \qquad dx = dh\, m_1 $$
#
# Every array here except $dW$ and $W$ has shape $(\dots, D)$. In $dW$, which is $(D, D)$, the sum runs over all rows, so
# flatten the axes in front. Each mask is used in its own place, and it has to be *the mask drawn in this call*, so it belongs
# in the cache.

# %% [markdown]
# **Break it.** One dropout object for both places keeps only the mask that it drew last, so the backward uses the second mask
# twice. Here your function is called that way, and then the library's encoder layer:

# %%
x, dy, W = rng.standard_normal((2, 40, 8)), rng.standard_normal((2, 40, 8)), rng.standard_normal((8, 8))
for rate in (0.0, 0.3):
    keep1, keep2 = rng.random((2, *x.shape)) >= rate
    right, wrong = (dropouts_backward(dy, x, W, mask, keep2, rate)[0] for mask in (keep1, keep2))
    print(f"p = {rate}: dx is off by {np.linalg.norm(wrong - right) / np.linalg.norm(right):.0%}", end=", ")
    layer = EncoderLayer(TransformerConfig.named("toy", 30, d_model=8, d_ff=16, num_heads=2, dropout=rate), rng)
    cache = layer.forward(x, rng=rng)[1]
    last = cache.self_attention_residual._replace(dropout=cache.feed_forward_residual.dropout)    # the second mask, twice
    right, wrong = (layer.backward(dy, one) for one in (cache, cache._replace(self_attention_residual=last)))
    print(f"in the encoder layer by {np.linalg.norm(wrong - right) / np.linalg.norm(right):.0%}")

# %% [markdown]
# A test without dropout finds nothing, because both masks are all True. The remedy is the contract from chapter 1: everything
# that the backward needs is in the cache of that call, and no layer stores anything on `self`.
#
# ## Pre-norm and post-norm
#
# Now back to the second riddle. A sub-layer $f$, either attention or feed-forward, sits in a residual connection with a
# LayerNorm, and there are two orders:

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
lab.show_orders(axes)

# %% [markdown]
# Both orders are right, but they make two different models. Follow the purple arrow in each and count what it passes through.
#
# Derive the backward for the paper's order, with a matrix as the sub-layer: $z = x + xW$, then $y =
# \operatorname{LayerNorm}(z)$ with $\gamma = 1$ and $\beta = 0$. You may build on your own work: after `from my_transformer
# import layer_norm_backward`, your own function works here, too.

# %% [exercise] post_norm_backward

# %% [derivation]
# **Start at $y$ and go down.** The first thing on the way is the LayerNorm, and chapter 8 has its backward, here with
# $\gamma = 1$, so $dn = dy$:
#
# $$ dz = s \,\big( dy - \operatorname{mean}(dy) - n\, \operatorname{mean}(dy\, n) \big) \qquad (\dots, D) $$
#
# Below it is the residual of chapter 8, and **the sum rule** adds its two paths: $dx = dz + dz\, W^\top$, and
# $dW = x^\top dz$, summed over all rows. Every term of $dx$ passes through the LayerNorm.
#
# Write $N^\top$ for LayerNorm's backward and $J^\top$ for the sub-layer's. The two orders then read
#
# $$ \text{post-norm:}\quad dz = N^\top dy, \quad dx = dz + J^\top dz $$
#
# $$ \text{pre-norm:}\quad dx = dy + N^\top J^\top dy $$

# %% [markdown]
# In pre-norm, $dy$ arrives at the bottom untouched. In post-norm, it passes through a LayerNorm in every sub-layer. If $x$ and
# $f(x)$ both have variance 1, their sum has variance 2, and LayerNorm multiplies by about $1/\sqrt2 = 0.71$ on the way back.
# Does that matter? We measure the gradient of $W_2$ in untrained models with 24 layers in each stack. Their matrices are drawn
# by *Xavier's rule*: one from $m$ to $n$ numbers has variance $2 / (m + n)$, which roughly keeps the size of what passes
# through it, in both directions. (The dotted lines are for later.) **Predict:** does the decoder's first layer get a larger
# gradient in pre-norm or in post-norm?


# %%
def norms_by_layer(name, seed):
    model, cache, dloss = lab.deep(name == "pre-norm", seed, xavier="small" not in name)
    model.loss_backward(dloss, cache)
    return [[np.linalg.norm(layer.feed_forward.outer.weight.grad) for layer in stack.layers]
            for stack in (model.encoder, model.decoder)]


# %%
figure, both = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
for name, style in (("post-norm", "--"), ("pre-norm", "-"), ("post-norm, small weights", ":")):
    norms = np.array([norms_by_layer(name, seed) for seed in range(3)])    # (3 seeds, 2 stacks, 24 layers)
    for axes, stack, of_stack in zip(both, ("encoder", "decoder"), norms.transpose(1, 2, 0)):
        axes.semilogy(range(1, 25), of_stack, style, color="tab:purple", label=[name, None, None])
        axes.set(title=stack, xlabel="layer (24 is nearest to the loss)", ylabel="norm of the gradient of $W_2$")
        print(f"{stack}, {name:24} layer 1: {of_stack[0].mean():.4f}, layer 24: {of_stack[-1].mean():.4f}")
legend = axes.legend()

# %% [markdown]
# Each line is one of three seeds. In the decoder, post-norm leaves the first layer less than a thousandth of what the last one
# gets. In the encoder it does not, because the path through $f$ makes up for the factor 0.71. So which of the decoder's three
# sub-layers loses the gradient? Walk down the stack and measure the factor by which each one changes the norm of the gradient
# that passes through it.

# %%
model, cache, dloss = lab.deep(pre_norm=False, seed=0)
dy, factors = model.loss.backward(dloss, model.output, cache.loss), {}
for layer, caches in zip(reversed(model.decoder.layers), reversed(cache.hidden.decode.decoder.layers)):
    for name, dx in lab.inside.through_sublayers(layer, dy, caches):
        factors.setdefault(name, []).append(np.linalg.norm(dx) / np.linalg.norm(dy))
        dy = dx
print(", ".join(f"{name}: {np.mean(of_layers):.2f}" for name, of_layers in factors.items()))

# %% [markdown]
# Cross-attention loses the gradient. The part for its keys and values goes to the encoder, and what is left for the decoder
# shrinks at every layer, as in the example by hand at the start of chapter 8.
#
# There are two ways out. GPT-2 and its successors are pre-norm, with one more LayerNorm at the end of each stack, because
# nothing else normalises the last sum. Or the weights that end a sub-layer start smaller, so that $x$ outweighs $f(x)$ in the
# sum. Every new model of this library divides them by $\sqrt{2N}$, as GPT-2 does, for the $2N$ sub-layers of $N$ layers. The
# dotted lines show the effect on post-norm: all layers get about the same gradient. `research/experiments/initial_weights.md`
# shows what this means for a real translator.
#
# ## Your Transformer
#
# You now have a complete encoder layer: self-attention in one residual connection, feed-forward in another, and a dropout and
# a LayerNorm in each. In the library's layer, forward and backward take three lines for each sub-layer. Here is its gradient
# check, with dropout and in both orders:

# %%
for pre_norm in (False, True):
    config = TransformerConfig.named("toy", 30, d_model=8, d_ff=16, num_heads=2, dropout=0.3, pre_norm=pre_norm)
    report = gradcheck(EncoderLayer(config, rng), [rng.standard_normal((2, 3, 8))], name="encoder layer")
    print("pre-norm" if pre_norm else "post-norm", str(report).splitlines()[-1])
lab.run_yours("8b")
lab.open_explorer(*lab.drawkcab(), "backward")

# %% [markdown]
# Part one asked how something made of multiplications can look anywhere, and how it finds out where. Open the explorer's page
# again. You have derived how attention picks a letter, and how gradients shape the matrices that choose which. Now use
# everything that passed to train a model from scratch:
#
#     minitransformer learn plug
#
# The command compares your gradients with those of the paper in one file, trains the model until it reverses words that it has
# never seen, and says how many parts are yours. A model that writes *drawkcab* is still far from one that chats, and part two
# asks what is between them.
#
# **Read next:** `tutorials/one_file.py`, the Transformer with its gradients and its training in fewer than 500 lines of NumPy.
# Then read `EncoderLayer` in `minitransformer/layers/encoder.py` and `Residual` in `minitransformer/layers/residual.py`, which
# shows both orders, forward and backward, on one screen.
