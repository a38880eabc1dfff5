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
# A model learns to write words backwards. After 150 steps it predicts nearly all letters correctly, in words that it has
# never seen. Then you let it write by itself, and it writes nothing at all, or one letter again and again. Its gradients
# are right, and no number is NaN. What happened?

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import Transformer, functional, gradcheck, make_batch, plugged
from minitransformer.data.drawn import draw_held_out
from minitransformer.functional import attention_backward, attention_forward, softmax_forward
from minitransformer.tasks import TASKS
from minitransformer_course import lab, yours
from minitransformer_course.judge.plug import train

lab.you_are_here("masks")

# %% [markdown]
# Here is the patient. We call its `causal_mask` the suspect, and you will read it once you have written your own.
# (`plugged` replaces one of the library's functions with another.)

# %%
reverse = TASKS["reverse"]()
unseen = make_batch(draw_held_out(reverse, 100))
with plugged(functional.causal_mask, lab.suspect_mask):
    cheat = train(task=reverse, steps=150)
    print(f"letters predicted correctly: {lab.accuracy(cheat.model, unseen):.0%}")
    for word in ("key", "backward", "attention"):
        print(word, "->", lab.write(cheat.model, lab.LETTERS, word)[:20] or "(nothing)")

# %% [markdown]
# The model cheated, because in training it saw what it had to predict. When a model sees something that it must not see, we
# call that a *leak*. In this chapter you build the masks that prevent leaks, and then you catch the cheat in three ways.
#
# ## What the decoder reads
#
# The *encoder* reads the source, such as `c a b`, and the *decoder* writes the target, `b a c`, from left to right. When it
# writes on its own, it reads its own output, one token at a time. In training the correct target is known, so the decoder gets
# all of it at once, and each position predicts the token after it. This is called *teacher forcing*. Two special tokens help:
# BOS (id 1) comes before the first token, and EOS (id 2) comes after the last one.
#
# | position | 0 | 1 | 2 | 3 |
# |---|---|---|---|---|
# | the decoder reads | BOS | b | a | c |
# | and has to predict | b | a | c | EOS |
#
# The targets of a batch differ in length, but one array has to hold them all, so the shorter ones are filled up at the end with
# *padding*, which has id 0.

# %% [exercise] shifted

# %% [derivation]
# One rule connects the two arrays: the token that a position has to predict is the token that the next position reads. So both
# arrays contain the target, but in the input it starts one column later.
#
# | array | what it contains | shape |
# |---|---|---|
# | `decoder_input` | BOS in column 0, the target in columns 1 to $T$ | $(B, T + 1)$ |
# | `next_target` | the target in columns 0 to $T - 1$, and 0 in the last one | $(B, T + 1)$ |
# | the columns of EOS | the number of real tokens, as columns are counted from 0 | $(B,)$ |
#
# Indexing with two arrays, `np.arange(B)` and the lengths, pairs each row with its own column. A slice in place of the first
# array would write into all of these columns in every row.

# %% [markdown]
# ## The future: the causal mask
#
# In attention, the positions of the decoder look at each other. A *mask* says which position may look at which. It has one
# entry for each pair of a query (row) and a key (column), and here **True means "may attend"**. An entry of False turns the
# pair's score into $-\infty$ before the softmax, as in chapter 4.
#
# Libraries do not agree on this. PyTorch's `scaled_dot_product_attention` reads True as "may attend", while
# `nn.MultiheadAttention` reads True as "ignore". An inverted mask has the right shape and raises no error, so name your
# variables by what True means: `allowed`, `real`, `may_attend`.
#
# **By hand.** One query meets three keys, with scores $(0, 0, \ln 2)$. The exponentials are $(1, 1, 2)$, so the weights are
# $(1/4, 1/4, 1/2)$. **Predict** the weights with the mask (True, True, False).

# %%
scores, may_attend = np.array([0, 0, np.log(2)]), np.array([True, True, False])
print("without a mask:", softmax_forward(scores)[0], " with it:", softmax_forward(scores, may_attend)[0])

# %% [markdown]
# The remaining weights sum to 1 again, because the mask is applied before the softmax, not after it.
#
# Now for the decoder's mask. Go back to position 1 in the table, which has to predict `a`. Which positions hold what the model
# will know when it writes on its own, and which one holds the answer? What about position 1 itself?

# %% [exercise] causal_mask

# %% [derivation]
# Position $t$ reads token $t$ of the input, where token 0 is BOS, and has to predict the token that position $t + 1$ reads.
# When the model writes on its own, tokens 0 to $t$ exist at this point, but token $t + 1$ does not. So query $t$ may attend to
# the keys $u \le t$. The diagonal is allowed, because a position holds the token *before* the one that it has to predict.
#
# | array | shape |
# |---|---|
# | the positions of the queries, as a column | $(T, 1)$ |
# | the positions of the keys, as a row | $(T,)$ |
# | the comparison, which broadcasts both | $(T, T)$ |
#
# Exactly $t + 1$ entries in row $t$ are True. Without the diagonal, row 0 would be empty, and the softmax of a query that may
# attend to nothing is 0 divided by 0.

# %% [markdown]
# With your mask, one pass over the complete target should compute the same outputs as writing step by step. Here is the model
# that really can write words backwards. **Predict:** if you cut off the target after position $t$, does output $t$ change?

# %%
model, letters = lab.drawkcab()
source = np.array([[*letters.encode("backward"), 2]])
target = np.array([[1, *letters.encode("drawkcab")]])
with plugged(functional.causal_mask, causal_mask):
    at_once, _ = model.forward(source, target)
    for t in (0, 3, 7):
        so_far, _ = model.forward(source, target[:, :t + 1])
        print(f"output {t} moves by {np.abs(so_far[0, t] - at_once[0, t]).max():.0e}")

# %% [markdown]
# Output $t$ changes only by rounding. This is why a Transformer trains fast: it predicts all positions at once, each as if
# the later ones did not exist.
#
# ## Padding: what is not there must not count
#
# Padding has an embedding, so it has keys and values, and without a mask queries would attend to it. The mask has to keep one
# rule: **a sentence means the same, whatever else is in its batch.**
#
# The model attends in three places. In the encoder the source looks at itself, in the decoder the target looks at itself, and
# in *cross-attention* the target looks at the source. With $H$ heads (chapter 7), the scores have shape $(B, H, T_q, T_k)$. If
# a mask does not depend on an axis, that axis has size 1, and broadcasting repeats it. Ask three times: whose tokens are the
# keys, and does it matter which query asks?

# %% [exercise] three_masks

# %% [derivation]
# A mask hides *keys*. A query that is padding may ask what it likes, because its answer is never used.
#
# | attention | queries | keys | what hides a key | shape |
# |---|---|---|---|---|
# | encoder | source | source | it is padding | $(B, 1, 1, T_k)$ |
# | decoder | target | target | it is padding, or it comes later | $(B, 1, T_q, T_q)$ |
# | cross | target | **source** | it is padding | $(B, 1, 1, T_k)$ |
#
# Whether a key is padding depends only on the sentence and the key, so two axes have size 1. Whether it comes later depends on
# the query, too. In the decoder both masks must allow a pair, hence the `&`. Broadcasting combines the causal mask,
# $(T_q, T_q)$, and the padding mask, $(B, 1, 1, T_q)$, into $(B, 1, T_q, T_q)$.

# %%
padded = np.array([[*source[0], 0, 0, 0]])
_, decoder_mask, _ = three_masks(padded, np.array([[1, 5, 3, 0, 0]]))
figure, axes = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
lab.show_mask(axes, decoder_mask[0, 0], ["BOS", "c", "a", "pad", "pad"])

# %% [markdown]
# Does the encoder keep the rule? It reads a word on its own, and then followed by three ids of padding:

# %%
for name, own in (("with your mask", lambda ids: three_masks(ids, ids)[0]), ("without one", lambda ids: ids[:, None, None] >= 0)):
    with plugged(functional.padding_mask, own):
        alone, filled = model.encode(source)[0], model.encode(padded)[0][:, :9]
    print(f"{name:14}: the word moves by {np.abs(alone - filled).max():.0e}")

# %% [markdown]
# With your mask, the word does not move.
#
# The loss must not count padding either. Suppose that three real tokens have losses 2, 3 and 4, with mean 3, and that nine
# ids of padding follow them. Padding is always followed by more padding, which is so easy to predict that each of these
# losses is 0. **Predict** the mean over all twelve.

# %%
print("over the real tokens:", np.mean([2, 3, 4]), " over all:", np.mean([2, 3, 4] + 9 * [0]))

# %% [exercise] masked_loss

# %% [derivation]
# A mean over tokens needs two numbers, the sum of the losses and the count, and both have to leave padding out. The ids,
# $(B, T)$, tell you which positions are real. The losses, $(B, T)$, cannot, because a real token can have loss 0, too.
#
# The function returns the sum and the count without dividing, so that the results for parts of a batch can be added. Averaging
# the means of parts with different counts would not give the mean of the whole.

# %% [markdown]
# ## Backward needs no mask
#
# A forbidden pair has weight $p = 0$, and the softmax's backward multiplies by $p$ (chapter 4), so the gradient of its score
# is 0. What does not flow forward does not flow back. Here is the proof, with your mask and a random upstream gradient:

# %%
query, key, value = np.random.default_rng(0).standard_normal((3, 1, 5, 4))
mine, suspect = causal_mask(target[:, :5]), lab.suspect_mask(target[:, :5])
for name, mask in (("your mask", mine), ("the suspect", suspect)):
    report = gradcheck((attention_forward, attention_backward), [query, key, value, mask], name="attention")
    print(f"{name}: the gradient check", "passes" if report.passed else "fails")

# %% [markdown]
# ## Break it: the culprit
#
# The check passes for the suspect too, because these *are* the true gradients, although of a model with a different mask. Now
# read the suspect.

# %%
print(suspect.astype(int))

# %% [markdown]
# The suspect allows one column too many, `np.tri(T, k=1)` instead of `np.tri(T)`, so each position sees the next one, which
# holds its answer. When the model writes on its own, the newest position is the last one, and the place of the answer is
# empty.
#
# We train an honest model for comparison. Both first learn that an answer is one of 26 letters, but not yet which one.
# **Predict** the loss of a model that knows only that.

# %%
honest = train(plugged(functional.causal_mask, causal_mask), task=reverse, steps=150)
figure, axes = plt.subplots(figsize=(5.6, 3), layout="constrained")
for run, colour, name in ((honest, "black", "your mask"), (cheat, "tab:red", "the suspect")):
    axes.plot(run.losses, color=colour, label=name)
axes.axhline(np.log(26), color="grey", linewidth=0.8, label=f"ln 26 = {np.log(26):.2f}")
axes.set(xlabel="training step", ylabel="loss for each token")
legend = axes.legend()

# %% [markdown]
# Both curves level off near $\ln 26$. Then the cheat's curve drops, while the honest model has to learn where the letters are.
# A loss that falls suspiciously early is the first hint.
#
# ## Caught: look at the weights
#
# The picture shows which position looks at which, in the decoder of the honest running example and in the cheat's.

# %%
one = make_batch([(letters.encode("backward"), letters.encode("drawkcab"))])
figure, both = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for axes, looked, own, name in zip(both, (model, cheat.model), (causal_mask, lab.suspect_mask), ("drawkcab", "the cheat")):
    with plugged(functional.causal_mask, own):
        weights = looked.attention_weights(one.source, one.target)["decoder"][0][0].max(axis=0)
    image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=1)
    axes.set(title=name, xlabel="key: the position looked at", ylabel="query: the position that asks")
bar = figure.colorbar(image, label="attention weight, the largest of 4 heads")

# %% [markdown]
# In the honest picture, the upper right is empty. (In every row, one head rests on BOS, in column 0, because reversing a word
# takes the source and little else.) The cheat looks one column to the right of the diagonal: row 0 looks at key 1, and row 1 at
# key 2. Only the last row has no next key. But a leak *around* the mask leaves no trace in this picture. If another line of the
# code gives the answer away, the mask and the weights still look right. Chapter 7 has such a leak.
#
# ## Caught: touch one token
#
# So look at the outputs instead. Replace one token of the target and run the model again: the outputs before this token must
# not move. This takes one sentence and no training, and it finds every leak from later tokens, whatever the cause. Keep it as a
# test.

# %% [exercise] find_leaks

# %% [derivation]
# The rule is that output $t$ depends only on tokens 0 to $t$. So compare two runs that differ in one token.
#
# | array | what it contains | shape |
# |---|---|---|
# | `touched` | in row $u$, the ids with another letter at position $u$ only | $(T, T)$ |
# | `changed` | one run for each row | $(T, T, d)$ |
# | `moved` | whether any of the $d$ numbers moved, up or down, by more than rounding | $(T, T)$ |
# | its transpose | the outputs as rows, the replaced tokens as columns | $(T, T)$ |
#
# "The next letter" is always a different letter if the last one wraps round to the first. Outputs on or below the diagonal are
# allowed to move, so only the part above the diagonal counts.

# %%
fresh = Transformer(lab.CONFIG)    # not trained
for name, own in (("your mask", causal_mask), ("the suspect", lab.suspect_mask)):
    with plugged(functional.causal_mask, own):
        leak = find_leaks(lambda ids: fresh.forward(one.source, ids[None])[0][0], one.next_target[0, :6])
    print(f"{name}: {leak.sum()} leaks", np.argwhere(leak).tolist())

# %% [markdown]
# Each pair names an output and the later token that moves it, which is exactly the suspect's extra column.
#
# ## Caught: ask for the impossible
#
# A die cannot be predicted. Let the model read eight letters and write eight throws of a die that have nothing to do with the
# letters. **Predict** the best possible accuracy of the honest model, and that of the cheat.

# %%
dice = lab.Dice()
held_out = draw_held_out(dice, 100)
for name, own in (("your mask", causal_mask), ("the suspect", lab.suspect_mask)):
    with plugged(functional.causal_mask, own):
        print(f"{name}: {lab.accuracy(train(task=dice, steps=90).model, make_batch(held_out)):.0%}")

# %% [markdown]
# One in six is 17 %, give or take a little luck. A model that does clearly better has seen the result of the throw. Use random
# targets or shuffle your labels, and any model that beats chance has a leak.
#
# If you forget to shift the target, the decoder reads `b a c EOS` and has to predict `b a c EOS`. The mask is right, but each
# position holds its own answer (issue 314 of MONAI's GenerativeModels). **Predict:** which of the last two detectors finds it,
# touching or the die?


# %%
class NotShifted(lab.Dice):
    def make_batch(self, pairs):
        return (batch := make_batch(pairs))._replace(target=batch.next_target)


print(f"not shifted: {lab.accuracy(train(task=NotShifted(), steps=60).model, NotShifted().make_batch(held_out)):.0%}")

# %% [markdown]
# The die finds this leak. Touching a token finds nothing, because no output depends on a *later* token.
#
# | | needs | leak through the mask | leak around the mask | target not shifted |
# |---|---|---|---|---|
# | look at the weights | a trained model | found | not found | not found |
# | touch one token | one sentence | found | found | not found |
# | ask for the impossible | a short training run | found | found | found |
#
# ## Your Transformer

# %%
lab.run_yours("6")

# %% [markdown]
# **Read next:** `causal_mask` and `padding_mask` in `minitransformer/functional/masks.py`, and `Transformer.decode` in
# `minitransformer/models/transformer.py`, where both are used.
