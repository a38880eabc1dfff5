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
# # 6. Masks: who may look at whom
#
# You train a model to copy letters. It predicts 98 % of the next letters correctly, in words that it has never seen. Then
# you let it write by itself. For one word it writes `z z z z z` and does not stop, for the next one it writes nothing.
# The gradients are right, and no number is NaN. What happened?
#
# The model cheated. In this chapter you build the masks that forbid it, and then the cheating model, and catch it in
# three ways. When a model sees something that it must not see, that is a *leak*.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
from threadpoolctl import threadpool_limits

from minitransformer import (Adam, LanguageModel, LanguageModelConfig, Transformer, TransformerConfig,
                             gradcheck, greedy, make_batch, plugged, schedule, training_step)
from minitransformer.data.drawn import draw_held_out
from minitransformer.data.windows import WindowBatch
from minitransformer.training.evaluation import exact_match
from minitransformer.functional import (
    attention_backward, attention_forward, causal_mask, padding_mask, softmax_forward)
from minitransformer.learn import yours
from minitransformer.learn.plug import train
from minitransformer.tasks import TASKS

rng = np.random.default_rng(0)

# %% [markdown]
# ## True means "may attend"
#
# A mask has one entry for each pair of a query (row) and a key (column). Here **True means "may attend"**. A False turns
# the score of its pair into $-\infty$ before the softmax (chapter 4).
#
# Not everybody agrees. In PyTorch, `scaled_dot_product_attention` reads True as "may attend", and
# `nn.MultiheadAttention` reads True as "ignore". A mask that is the wrong way round has the right shape and raises no
# error. So name your variables by what True means: `allowed`, `real`, `may_attend`.
#
# **By hand.** One query, three keys, the scores $(0, 0, \ln 2)$. The exponentials are $(1, 1, 2)$, the weights
# $(1/4, 1/4, 1/2)$. **Predict** the weights for the mask (True, True, False), and for the same mask the wrong way round.

# %%
scores, may_attend = np.array([0, 0, np.log(2)]), np.array([True, True, False])
for name, mask in (("no mask", None), ("the mask", may_attend), ("the wrong way round", ~may_attend)):
    print(f"{name:20}", softmax_forward(scores, mask)[0])

# %% [markdown]
# The remaining weights sum to 1 again: the mask acts before the softmax, not after it.
#
# ## Padding: what is not there must not count
#
# The short sentences of a batch are filled up with *padding*, the token id 0, to the length of the longest. Padding has an
# embedding, so it has keys and values, and queries would attend to it.
#
# The *padding mask* says which keys are real. The scores have the shape $(B, H, T_q, T_k)$, for $H$ heads (chapter 7).
# Padding depends on the sentence and on the key, not on the head and not on the query. So the mask has the shape
# $(B, 1, 1, T_k)$, and broadcasting repeats it.
#
# The test is a rule: **a sentence means the same, whoever shares its batch.** The cell sends one sentence through the
# encoder, the half of the Transformer that reads: first alone, then with padding behind it. (`plugged` with None leaves
# the library's own function in place.) **Predict:** how far apart are the two, with the mask and without it?


# %%
def no_mask(ids):
    return np.ones((len(ids), 1, 1, ids.shape[1]), bool)


model = Transformer(TransformerConfig.named("toy", 29), seed=0)    # 26 letters, 3 special tokens
sentence = np.array([[7, 3, 21, 9, 2]])
padded = np.array([[7, 3, 21, 9, 2, 0, 0, 0]])
for name, own in (("with the padding mask", None), ("without it", no_mask)):
    with plugged(padding_mask, own):
        alone, filled = model.encode(sentence)[0], model.encode(padded)[0][:, :5]
    print(f"{name:22}: largest difference {np.abs(alone - filled).max():.0e}")

# %% [markdown]
# With the mask, they differ by rounding only. Without it, a translation would depend on what else was in its batch.
#
# The mask hides *keys* only. A query that is padding may ask what it likes: nobody reads the answer.
#
# ## Padding in the loss
#
# The loss must not count padding, either. After padding comes more padding, so it is easy to predict, and would look
# like success.
#
# **By hand.** Three real tokens have the losses 2, 3 and 4, and the mean 3. **Predict** the mean over everything if
# there are three ids of padding, each with the loss 0. And with nine?

# %%
losses = np.array([2.0, 3.0, 4.0])
for n in (0, 3, 9):
    everything = np.concatenate([losses, np.zeros(n)])
    print(f"{n} ids of padding: mean over real tokens {losses.mean():.2f}, over all {everything.mean():.2f}")

# %% [markdown]
# With nine, the same model looks four times better. So sum the losses of the real tokens, and divide by their count.
#
# ## The future: the causal mask
#
# The Transformer has two halves. The *encoder* reads the *source*, the word to copy. The *decoder* writes the *target*
# from left to right. In use, it gets its own output back as input, one token at a time. In training, the correct target is
# known. So it goes in complete and at once, and each position predicts the token after it. This is called *teacher
# forcing*. Two special tokens help: BOS, id 1, stands at the beginning, and EOS, id 2, at the end. For the target `c a b`:
#
# | position | 0 | 1 | 2 | 3 |
# |---|---|---|---|---|
# | the decoder reads | BOS | c | a | b |
# | and has to predict | c | a | b | EOS |
#
# What position 1 has to predict, `a`, is what position 2 reads. If position 1 may look there, it can copy the answer, and
# learns nothing else. In use there is no position 2 yet.
#
# The *causal mask* allows a position to look at itself and at all positions before it: $t \ge u$, for query $t$ and
# key $u$. **Predict** the mask for these four positions: how many cells are True?

# %%
mask = causal_mask(np.array([[1, 5, 3, 4]]))
print(mask.astype(int), mask.sum())

# %% [markdown]
# The diagonal is True: a position holds the token *before* the one that it has to predict.
#
# With this mask, one pass over the complete target computes what step-by-step writing computes. **Predict:** by how
# much do they differ?

# %%
source, target = np.array([[5, 3, 4, 2]]), np.array([[1, 5, 3, 4]])
at_once, _ = model.forward(source, target)
for t in range(4):
    so_far, _ = model.forward(source, target[:, :t + 1])
    print(f"position {t}: largest difference {np.abs(so_far[0, t] - at_once[0, t]).max():.0e}")

# %% [markdown]
# By rounding only. This is why a Transformer trains fast: all positions are predicted at once, and each as if the later
# ones did not exist.
#
# ## Three attentions, three masks
#
# In the encoder the source looks at itself, in the decoder the target looks at itself, and in the *cross-attention* the
# target looks at the source. Ask each time: *whose tokens are the keys?*
#
# | attention | queries | keys | mask | shape |
# |---|---|---|---|---|
# | encoder | source | source | padding of the source | $(B, 1, 1, T_k)$ |
# | decoder | target | target | causal **and** padding of the target | $(B, 1, T_q, T_q)$ |
# | cross | target | **source** | padding of the **source** | $(B, 1, 1, T_k)$ |
#
# "And" is `&`: both must allow a pair. Broadcasting makes $(B, 1, T_q, T_q)$ of the causal mask, $(T_q, T_q)$, and the
# padding mask, $(B, 1, 1, T_q)$. **Predict:** which cells of the decoder's mask are dark, for three tokens and two ids
# of padding?

# %%
ids = np.array([[1, 5, 3, 0, 0]])
decoder_mask = causal_mask(ids) & padding_mask(ids)
figure, axes = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
image = axes.imshow(decoder_mask[0, 0], cmap=plt.get_cmap("Blues", 2), vmin=0, vmax=1)
axes.set_xlabel("key: the tokens it may look at")
axes.set_ylabel("query: the position that asks")
axes.set_xticks(range(5), ["BOS", "c", "a", "pad", "pad"])
axes.set_yticks(range(5), ["BOS", "c", "a", "pad", "pad"])
bar = figure.colorbar(image, ticks=[0.25, 0.75])
bar.set_ticklabels(["False", "True:\nmay attend"])

# %% [markdown]
# ## Backward needs no mask
#
# In the forward, a forbidden pair has $p = 0$. The softmax's backward is $p$ times something (chapter 4), so $ds = 0$
# there. What does not flow forward does not flow back.
#
# **Predict:** of five positions under the causal mask, only the output of position 2 gets a gradient. Which keys get one?

# %%
query, key, value = rng.standard_normal((3, 1, 5, 4))
y, cache = attention_forward(query, key, value, np.tri(5, dtype=bool))
dy = np.zeros_like(y)
dy[:, 2] = rng.standard_normal(4)
dquery, dkey, dvalue = attention_backward(dy, cache)
print("dkey:  ", np.abs(dkey).sum(axis=-1).round(2))
print("dvalue:", np.abs(dvalue).sum(axis=-1).round(2))

# %% [markdown]
# Keys 0, 1 and 2. The two in the future get exactly 0. Now the proof, with a random upstream gradient:

# %%
mask = np.tri(5, dtype=bool)
report = gradcheck((attention_forward, attention_backward), [query, key, value, mask], name="attention")
print(report)
assert report.passed

# %% [markdown]
# ## Break it: one column too many
#
# `np.tri(T, k=1)` in place of `np.tri(T)`: a slip of one column, and each position sees the next one, which holds its
# answer.
#
# We train both models on the copy task, and measure two things on unseen words. The *accuracy* is the share of tokens
# that are predicted correctly under teacher forcing. The *exact match* is the share of words that the model writes
# correctly by itself. **Predict** both numbers for the model that cheats.


# %%
def one_ahead(ids):
    position = np.arange(ids.shape[1])
    return position[:, None] + 1 >= position


MASKS = {"honest": None, "cheat": one_ahead}    # None: the library's own
copy = TASKS["copy"](batch=24)
pairs = draw_held_out(copy, 100)
unseen = make_batch(pairs)


def accuracy(model):
    logits, _ = model.forward(unseen.source, unseen.target)
    real = unseen.next_target != 0
    return (logits.argmax(axis=-1) == unseen.next_target)[real].mean()


# %%
runs = {}
for name, own in MASKS.items():
    with plugged(causal_mask, own):
        runs[name] = run = train(steps=225)
        match = exact_match(run.model, pairs)
        print(f"{name:6}: accuracy {accuracy(run.model):.1%}, exact match {match:.0%}")

# %%
words = copy.make_vocabulary()
for name, own in MASKS.items():
    with plugged(causal_mask, own):
        answers = greedy(runs[name].model, unseen.source[:4])
    for (source, _), answer in zip(pairs, answers):
        print(f"{name:6} reads {words.decode(source):24} and writes {words.decode(answer)[:30]}")

# %% [markdown]
# The cheat has the better accuracy, and does not write a single word correctly. When it writes by itself, the newest
# position is the last one: the place where it always found the answer is empty.
#
# The honest model's two numbers fit together: a word has up to 12 letters, and one wrong letter spoils it. So compare the
# two: **accuracy under teacher forcing alone says nothing about use.** A well-known implementation was reported to reach
# 98 % this way (issue 19 of attention-is-all-you-need-pytorch).
#
# **Predict:** which of the two loss curves looks better?

# %%
figure, axes = plt.subplots(figsize=(4.8, 2.8), layout="constrained")
axes.plot(runs["honest"].losses, color="black", label="the causal mask")
axes.plot(runs["cheat"].losses, color="tab:red", linestyle="--", label="one column too many")
axes.set_xlabel("training step")
axes.set_ylabel("loss for each token (nats)")
legend = axes.legend()

# %% [markdown]
# That of the cheat: it falls sooner and ends lower. And what does the gradient check say?

# %%
mask = np.tri(5, k=1, dtype=bool)
report = gradcheck((attention_forward, attention_backward), [query, key, value, mask], name="cheat")
print("the gradient check:", "passed" if report.passed else "failed")

# %% [markdown]
# These *are* the true gradients, of a model that cheats. So here are three ways to catch it.
#
# ## Caught: look at the weights
#
# Draw who looks at whom in the decoder. **Predict:** where in the cheat's picture is the weight?

# %%
one = make_batch([pair for pair in pairs if len(pair[0]) == 8][:1])
figure, both = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for axes, (name, own) in zip(both, MASKS.items()):
    with plugged(causal_mask, own):
        weights = runs[name].model.attention_weights(one.source, one.target)["decoder"][0][0]
    image = axes.imshow(weights.max(axis=0), cmap="Blues", vmin=0, vmax=1)
    axes.set_title(name)
    axes.set_xlabel("key: the position looked at")
    axes.set_ylabel("query: the position that asks")
bar = figure.colorbar(image, label="attention weight, the largest of 4 heads")

# %% [markdown]
# The honest model looks at the diagonal and below it. The cheat looks one column to the right: row 0 at key 1, row 1 at
# key 2. Only the last row has nowhere to look.
#
# A leak *around* the mask leaves no trace here: the mask and the weights are right, and another line of the code shows
# the answer. Chapter 7 has such a leak.
#
# ## Caught: touch one token
#
# Replace one token of the target, and run the model again: outputs before this token must not move. Do this for each
# token. The picture shows how far each output moved, in two *untrained* models. **Predict:** which half of the honest
# picture is empty?


# %%
def touched(model, source, target):
    """y (T, V), and changed (T, T, V): changed[u] is y after token u was replaced."""
    y = model.forward(source, target)[0][0]
    changed = []
    for u in range(target.shape[1]):
        other = target.copy()
        other[0, u] = 3 + (other[0, u] + 7) % 26    # another letter
        changed.append(model.forward(source, other)[0][0])
    return y, np.stack(changed)


# %%
figure, both = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for axes, (name, own) in zip(both, MASKS.items()):
    fresh = Transformer(TransformerConfig.named("toy", 29), seed=0)    # not trained
    with plugged(causal_mask, own):
        y, changed = touched(fresh, one.source, one.target)
    moved = np.abs(changed - y).max(axis=-1).T
    print(f"{name:6}: largest move above the diagonal {np.triu(moved, 1).max():.0e}")
    image = axes.imshow(np.log10(moved + 1e-8), cmap="Greys", vmin=-8, vmax=0)
    axes.set_title(name)
    axes.set_xlabel("the token that was replaced")
    axes.set_ylabel("the output that moved")
bar = figure.colorbar(image, label="how far, as a power of 10")

# %% [markdown]
# On the left, everything above the diagonal is rounding: $10^{-6}$ in float32. On the right, output 0 moves when token 1
# is replaced, and a little for token 2: this model has two layers, and each looks one position further ahead.
#
# This needs one sentence and no training, so make it a test of every model that you write. It finds every leak from
# later tokens, whatever the cause.
#
# ## Caught: ask for the impossible
#
# Nobody can predict a die. Train a small language model, a decoder without an encoder, on random throws. **Predict** the
# best possible accuracy, for an honest model and for the cheat.


# %%
def dice(own=None, read=slice(0, -1), steps=120):
    """The accuracy of a language model on throws of a die, ids 3 to 8. It reads their columns `read`."""
    config = LanguageModelConfig.named("toy", vocab_size=9, num_layers=1, max_length=16)
    model = LanguageModel(config, seed=0)
    adam, rng = Adam(model), np.random.default_rng(0)
    with plugged(causal_mask, own), threadpool_limits(1):    # small arrays: one thread is faster
        for step in range(1, steps + 1):
            throws = rng.integers(3, 9, (32, 17))
            batch = WindowBatch(throws[:, read], throws[:, 1:], 32 * 16)
            training_step(model, adam, batch, schedule(step, 64, warmup=50, factor=0.3))
        throws = rng.integers(3, 9, (200, 17))
        return (model.forward(throws[:, read])[0].argmax(axis=-1) == throws[:, 1:]).mean()


# %%
print(f"if nobody sees the answer: {1 / 6:.1%}; if 15 positions of 16 see it: {(15 + 1 / 6) / 16:.1%}")
print(f"honest: {dice():.1%}")
print(f"cheat:  {dice(one_ahead):.1%}")

# %% [markdown]
# A model that can predict a die has seen the throw. In the cheat only the last position has to guess.
#
# This test knows nothing about masks. Take random tokens, or shuffle the labels of your data: whatever is better than
# chance is a leak.
#
# ## The other leak: a target that was not shifted
#
# There is one more way to show the answer. Forget to shift the target: the decoder reads `c a b EOS`, and has to predict
# `c a b EOS`. The mask is right, and each position holds its own answer (issue 314 of MONAI's GenerativeModels).
#
# **Predict:** which of the three ways finds it? Here is the die, with the right mask and a target that was not shifted:

# %%
print(f"not shifted: {dice(read=slice(1, None), steps=50):.1%}")

# %% [markdown]
# It predicts every throw. The weights show nothing: the diagonal is where they belong. Touching shows nothing: no output
# depends on a *later* token. Only the die finds it.
#
# | | needs | leak through the mask | leak around the mask | target not shifted |
# |---|---|---|---|---|
# | look at the weights | a trained model | found | not found | not found |
# | touch one token | one sentence | found | found | not found |
# | ask for the impossible | a short training run | found | found | found |
#
# ## Exercises
#
# `minitransformer learn start 6` writes this page into your folder, followed by six functions with blanks. Fill one,
# save, and ask `minitransformer learn check`. The fifth is the second way, as a test that you can keep. When
# `causal_mask` passes, a model can train with it: `minitransformer learn plug causal_mask`. Try a wrong one, too: what
# does it write?
#
# Two more, on paper: (1) The padding of a target stands at the end. Does a real position ever see it under the causal
# mask alone? (2) If it stood at the *front*, what might the first position attend to, under both masks? (Chapter 4.)
#
# **Read next:** `causal_mask` and `padding_mask` in `minitransformer/functional/masks.py`, and where they are used:
# `Transformer.decode` in `minitransformer/models/transformer.py`.

# %% [exercise] padding_mask

# %% [exercise] causal_mask

# %% [exercise] three_masks

# %% [exercise] shifted

# %% [exercise] leaks

# %% [exercise] masked_loss
