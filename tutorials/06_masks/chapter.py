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
# *한국어: 마스크 (mask), 인과 마스크 (causal mask), 패딩 (padding), 자기회귀 (auto-regressive).*
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
from minitransformer.learn import lab, yours
from minitransformer.learn.plug import train
from minitransformer.tasks import TASKS

lab.you_are_here("masks")

# %% [markdown]
# Here is the patient. Its `causal_mask` is not the library's but one that we call the suspect, and you will read it when
# you have written your own. (`plugged` puts a function in the place of one of the library's.)

# %%
reverse = TASKS["reverse"]()
unseen = make_batch(draw_held_out(reverse, 100))
with plugged(functional.causal_mask, lab.suspect_mask):
    cheat = train(task=reverse, steps=150)
    print(f"letters predicted correctly: {lab.accuracy(cheat.model, unseen):.0%}")
    for word in ("key", "backward", "attention"):
        print(word, "->", lab.write(cheat.model, lab.LETTERS, word)[:20] or "(nothing)")

# %% [markdown]
# The model cheated: in training it saw what it had to predict. When a model sees something that it must not see, that is
# a *leak*. In this chapter you build the masks that forbid it, and then you catch the cheat in three ways.
#
# ## What the decoder reads
#
# The *encoder* reads the source, such as `c a b`, and the *decoder* writes the target, `b a c`, from left to right. When it
# writes by itself, it reads its own output, one token at a time. In training the correct target is known, so the decoder gets
# all of it at once, and each position predicts the token after it. This is called *teacher forcing*. Two special tokens
# help: BOS, id 1, comes before the first token, and EOS, id 2, after the last one.
#
# | position | 0 | 1 | 2 | 3 |
# |---|---|---|---|---|
# | the decoder reads | BOS | b | a | c |
# | and has to predict | b | a | c | EOS |
#
# The targets of a batch differ in length, and one array holds them all, so the shorter ones are filled up at the end with
# *padding*, the id 0.

# %% [exercise] shifted

# %% [derivation]
# One rule connects the two arrays: what a position has to predict, the next position reads. So both contain the target, and
# the input has it one column later.
#
# | array | what it contains | shape |
# |---|---|---|
# | `decoder_input` | BOS in column 0, the target in columns 1 to $T$ | $(B, T + 1)$ |
# | `next_target` | the target in columns 0 to $T - 1$, and 0 in the last one | $(B, T + 1)$ |
# | the columns of EOS | the number of real tokens, as columns are counted from 0 | $(B,)$ |
#
# Indexing with two arrays, `np.arange(B)` and the lengths, pairs each row with its own column. A slice in place of the first
# would write into all these columns of every row.

# %% [markdown]
# ## The future: the causal mask
#
# In attention, the positions of the decoder look at each other. A *mask* says who may look at whom. It has one entry for
# each pair of a query (row) and a key (column), and here **True means "may attend"**. A False turns the pair's score into
# $-\infty$ before the softmax, as in chapter 4.
#
# Not every library agrees. PyTorch's `scaled_dot_product_attention` reads True as "may attend", and its `nn.MultiheadAttention`
# reads True as "ignore". A mask that is the wrong way round has the right shape and raises no error, so name your
# variables by what True means: `allowed`, `real`, `may_attend`.
#
# **By hand.** One query, three keys, the scores $(0, 0, \ln 2)$. The exponentials are $(1, 1, 2)$, and the weights
# $(1/4, 1/4, 1/2)$. **Predict** the weights with the mask (True, True, False).

# %%
scores, may_attend = np.array([0, 0, np.log(2)]), np.array([True, True, False])
print("without a mask:", softmax_forward(scores)[0], " with it:", softmax_forward(scores, may_attend)[0])

# %% [markdown]
# The remaining weights sum to 1 again, because the mask acts before the softmax and not after it.
#
# Now the decoder's mask. Go back to the table, to position 1, which has to predict `a`. Which positions hold what it will
# know when it writes by itself, and which one holds the answer? What about position 1 itself?

# %% [exercise] causal_mask

# %% [derivation]
# Position $t$ reads token $t$ of the input, where token 0 is BOS, and has to predict the token that position $t + 1$ reads.
# When the model writes by itself, tokens 0 to $t$ exist at this moment, and token $t + 1$ does not. So query $t$ may attend
# to the keys $u \le t$. The diagonal is allowed: a position holds the token *before* the one that it has to predict.
#
# | array | shape |
# |---|---|
# | the positions of the queries, as a column | $(T, 1)$ |
# | the positions of the keys, as a row | $(T,)$ |
# | the comparison, which broadcasts both | $(T, T)$ |
#
# True occurs $t + 1$ times in row $t$. Without the diagonal, row 0 would be empty, and the softmax of a query that may attend
# to nothing is 0 divided by 0.

# %% [markdown]
# With your mask, one pass over the complete target should compute what writing step by step computes. Here is the model
# that really writes backwards. **Predict:** if you cut the target off after position $t$, does output $t$ change, or not?

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
# Only by rounding. This is why a Transformer trains fast: it predicts all positions at once, and each of them as if the
# later ones did not exist.
#
# ## Padding: what is not there must not count
#
# Padding has an embedding, so it has keys and values, and queries would attend to it. The rule that a mask has to keep is:
# **a sentence means the same, whoever shares its batch.**
#
# The model attends in three places. In the encoder the source looks at itself, in the decoder the target looks at itself,
# and in the *cross-attention* the target looks at the source. The scores have shape $(B, H, T_q, T_k)$, for $H$ heads
# (chapter 7). Where a mask does not depend on an axis, it has size 1 there, and broadcasting repeats it. Ask three times:
# whose tokens are the keys? Does it matter which query asks?

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
# Padding depends on the sentence and on the key, so two axes have size 1. The order of positions depends on the query too.
# In the decoder both masks must allow a pair, which is `&`, and broadcasting makes $(B, 1, T_q, T_q)$ of the causal mask,
# $(T_q, T_q)$, and the padding mask, $(B, 1, 1, T_q)$.

# %%
padded = np.array([[*source[0], 0, 0, 0]])
_, decoder_mask, _ = three_masks(padded, np.array([[1, 5, 3, 0, 0]]))
figure, axes = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
lab.show_mask(axes, decoder_mask[0, 0], ["BOS", "c", "a", "pad", "pad"])

# %% [markdown]
# Does the encoder keep the rule? It reads a word alone, and then with three ids of padding behind it:

# %%
for name, own in (("with your mask", lambda ids: three_masks(ids, ids)[0]), ("without one", lambda ids: ids[:, None, None] >= 0)):
    with plugged(functional.padding_mask, own):
        alone, filled = model.encode(source)[0], model.encode(padded)[0][:, :9]
    print(f"{name:14}: the word moves by {np.abs(alone - filled).max():.0e}")

# %% [markdown]
# With your mask it stays where it is. Without one, a translation would depend on what else happened to be in its batch.
#
# The loss must not count padding either. Suppose that three real tokens have the losses 2, 3 and 4, with mean 3, and after them
# come nine ids of padding. After padding comes more padding, which is so easy to predict that each of these losses is 0.
# **Predict** the mean over all twelve.

# %%
print("over the real tokens:", np.mean([2, 3, 4]), " over all:", np.mean([2, 3, 4] + 9 * [0]))

# %% [exercise] masked_loss

# %% [derivation]
# A mean over tokens needs two numbers, and both have to leave padding out: the sum of the losses and the count. Which
# positions are real is told by the ids, $(B, T)$, and never by the losses, $(B, T)$, because a real token can have loss 0.
#
# The function returns sum and count and does not divide, so that the parts of a batch can be added: means of parts with
# different counts do not add up to the mean of the whole.

# %% [markdown]
# ## Backward needs no mask
#
# A forbidden pair has weight $p = 0$, and the softmax's backward multiplies by $p$ (chapter 4), so its score gets the gradient
# 0. What does not flow forward does not flow back. The proof, with your mask and a random upstream gradient:

# %%
query, key, value = np.random.default_rng(0).standard_normal((3, 1, 5, 4))
mine, suspect = causal_mask(target[:, :5]), lab.suspect_mask(target[:, :5])
for name, mask in (("your mask", mine), ("the suspect", suspect)):
    report = gradcheck((attention_forward, attention_backward), [query, key, value, mask], name="attention")
    print(f"{name}: the gradient check", "passes" if report.passed else "fails")

# %% [markdown]
# ## Break it: the culprit
#
# The check passes for the suspect too, because these *are* the true gradients, of a model with another mask. Read the
# suspect now.

# %%
print(suspect.astype(int))

# %% [markdown]
# One column too many, `np.tri(T, k=1)` for `np.tri(T)`, and each position sees the next one, which holds its answer. When the
# model writes by itself, the newest position is the last, and the place where it always found the answer is empty.
#
# We train an honest model beside it. Both begin by learning that an answer is one of 26 letters, and not yet which one.
# **Predict** the loss of a model that knows just that.

# %%
honest = train(plugged(functional.causal_mask, causal_mask), task=reverse, steps=150)
figure, axes = plt.subplots(figsize=(5.6, 3), layout="constrained")
for run, colour, name in ((honest, "black", "your mask"), (cheat, "tab:red", "the suspect")):
    axes.plot(run.losses, color=colour, label=name)
axes.axhline(np.log(26), color="grey", linewidth=0.8, label=f"ln 26 = {np.log(26):.2f}")
axes.set(xlabel="training step", ylabel="loss for each token")
legend = axes.legend()

# %% [markdown]
# Both curves level off near $\ln 26$, and then the cheat drops while the honest model has to learn where the letters are. A loss
# that falls suspiciously early is the first hint. Now for the proofs.
#
# ## Caught: look at the weights
#
# The picture shows who looks at whom in the decoder of the honest running example, and in that of the cheat.

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
# In the honest picture, the upper right is empty. (In every row, one head rests on BOS, in column 0: to reverse a word, the model
# needs the source and little else.) The cheat looks one column to the right: row 0 at key 1, row 1 at key 2. Only the last row
# has nowhere to look. But a leak *around* the mask leaves no trace in this picture. If another line of the code shows the answer,
# mask and weights are right. Chapter 7 has such a leak.
#
# ## Caught: touch one token
#
# So look at the outputs. Replace one token of the target, and run the model again: outputs before this token must not move.
# This needs one sentence and no training, and it finds every leak from later tokens, whatever the cause. Make it a test that
# you keep.

# %% [exercise] find_leaks

# %% [derivation]
# The rule is that output $t$ depends on the tokens 0 to $t$ alone. So compare two runs that differ in one token.
#
# | array | what it contains | shape |
# |---|---|---|
# | `touched` | in row $u$ the ids, with another letter in place $u$ alone | $(T, T)$ |
# | `changed` | one run for each row | $(T, T, d)$ |
# | `moved` | whether any of the $d$ numbers moved, up or down, by more than rounding | $(T, T)$ |
# | its transpose | the outputs as rows, the replaced tokens as columns | $(T, T)$ |
#
# "The next letter" is always another letter if the last one wraps round to the first. What moved on the diagonal or below it
# is allowed, so only the part above the diagonal counts.

# %%
fresh = Transformer(lab.CONFIG)    # not trained
for name, own in (("your mask", causal_mask), ("the suspect", lab.suspect_mask)):
    with plugged(functional.causal_mask, own):
        leak = find_leaks(lambda ids: fresh.forward(one.source, ids[None])[0][0], one.next_target[0, :6])
    print(f"{name}: {leak.sum()} leaks", np.argwhere(leak).tolist())

# %% [markdown]
# Each pair is an output and the later token that moves it: exactly the suspect's extra column.
#
# ## Caught: ask for the impossible
#
# A die cannot be predicted. Let the model read eight letters and write eight throws of a die, which have nothing to do with
# them. **Predict** the best possible accuracy of the honest model, and that of the cheat.

# %%
dice = lab.Dice()
held_out = draw_held_out(dice, 100)
for name, own in (("your mask", causal_mask), ("the suspect", lab.suspect_mask)):
    with plugged(functional.causal_mask, own):
        print(f"{name}: {lab.accuracy(train(task=dice, steps=90).model, make_batch(held_out)):.0%}")

# %% [markdown]
# One in six is 17 %, give or take a little luck. A model that does clearly better has seen the result of the throw. This
# test knows nothing about masks: take random targets, or shuffle the labels of your data, and whatever beats chance is a
# leak.
#
# There is one more way to show the answer. Forget to shift the target: the decoder reads `b a c EOS`, and has to predict
# `b a c EOS`. The mask is right, and each position holds its own answer (issue 314 of MONAI's GenerativeModels). **Predict:**
# which of the last two detectors finds it, touching or the die?


# %%
class NotShifted(lab.Dice):
    def make_batch(self, pairs):
        return (batch := make_batch(pairs))._replace(target=batch.next_target)


print(f"not shifted: {lab.accuracy(train(task=NotShifted(), steps=60).model, NotShifted().make_batch(held_out)):.0%}")

# %% [markdown]
# The die. Touching finds nothing, because no output depends on a *later* token.
#
# | | needs | leak through the mask | leak around the mask | target not shifted |
# |---|---|---|---|---|
# | look at the weights | a trained model | found | not found | not found |
# | touch one token | one sentence | found | found | not found |
# | ask for the impossible | a short training run | found | found | found |
#
# ## Your Transformer
#
# Your masks work inside the running example, together with everything else that passes so far:

# %%
lab.at_work()

# %% [markdown]
# `minitransformer learn plug causal_mask` trains a model with your mask. Plug in a wrong one, too: what does it write?
#
# **Read next:** `causal_mask` and `padding_mask` in `minitransformer/functional/masks.py`, and `Transformer.decode` in
# `minitransformer/models/transformer.py`, where both are used.
