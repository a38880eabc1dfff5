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
# # 12. Writing: from probabilities to a text

# %%
from minitransformer_course import lab, yours

lab.you_are_here("decoding")

# %% [markdown]
# A trained model does not write. It takes the beginning of a text and gives, for every token in its vocabulary, the probability
# that it comes next. To get a text from these probabilities, you have to choose. The most likely token each time sounds
# like the safest choice there is, but this chapter shows you a vocabulary of three words in which it misses the most likely
# text by a factor of two.
#
# Then you make writing fast, because a chat model that recomputes all of the conversation for each word would not be one for
# long.

# %%
import timeit

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import beam_search, functional, gradcheck
from minitransformer.data.special import BOS, EOS
from minitransformer.cores import one_blas_thread

model, vocabulary = lab.drawkcab()
rng = np.random.default_rng(0)

# %% [markdown]
# ## The loop
#
# The model reads the source and `<s>`, the beginning of the answer. You choose a token, append it, and ask again, until
# the choice is `</s>`. With `np.argmax` as the choice this is *greedy decoding*.


# %%
def write(choose, word, limit=20):
    """The text that the model writes after it has read `word`, if choose(logits) picks each token."""
    source, target = np.array([[*vocabulary.encode(word), EOS]]), np.array([[BOS]])
    while target[0, -1] != EOS and target.shape[1] <= limit:
        logits, _ = model.forward(source, target)    # (1, T, V), of which only the last row is new
        target = np.append(target, [[choose(logits[0, -1])]], axis=1)
    return vocabulary.decode([i for i in target[0, 1:].tolist() if i != EOS])


print(write(np.argmax, "backward"))
lab.show_steps(lab.steps_of(model, vocabulary, "backward"))

# %% [markdown]
# Each row is a softmax, and greedy decoding takes the darkest square in each. In training, all rows are computed at
# once, because the right answer is known. Here row 5 cannot be computed until the letter for row 4 has been chosen.
#
# So why not train the model the way it is used, by letting it write and comparing the result? The reason is that the
# derivative of the choice is 0 wherever it exists. Nudge a logit, and either the same token wins again, or another
# one wins and the text jumps. The gradient check agrees with a backward that returns nothing but zeros:

# %%
table = rng.standard_normal((5, 4))    # a vector for each token
print(gradcheck((lambda logits: (table.astype(logits.dtype)[logits.argmax(axis=-1)], logits),
                 lambda dy, logits: np.zeros_like(logits)), [rng.standard_normal((3, 5))], methods=["central"], name="choice"))

# %% [markdown]
# Some large models have such a choice inside. A *router*, a matrix and a softmax, sends each token to the most likely of
# several feed-forward networks, the *experts*, and so gets no gradient either. The way around is to multiply the expert's
# output by its probability. The cell nudges one weight of a router, and measures how much the output changes for each unit of
# the nudge:

# %%
x, W, experts, nudge = rng.standard_normal(4), rng.standard_normal((4, 3)) / 4, rng.standard_normal((3, 4, 4)), np.zeros((4, 3))
nudge[0, 0] = 1e-6
for name, with_p in (("the choice alone", 0), ("times its probability", 1)):
    two = [functional.softmax_forward(x @ (W + sign * nudge))[0] for sign in (1, -1)]
    up, down = ((p.max() ** with_p * (x @ experts[p.argmax()])).sum() for p in two)
    print(f"{name}: the router's slope is {(up - down) / 2e-6:.3f}")

# %% [markdown]
# ## Draw, but not everything
#
# For a story or a conversation you do not want the same text each time, so you *draw* each token with its
# probability. In chapter 4 you did this with a temperature $t$, by which the logits are divided. But the vocabulary
# has a long tail of unlikely tokens, and although each single one is nearly impossible, you will often draw one of
# them. *Top-k* keeps the $k$ most likely tokens. *Top-p* keeps the *nucleus*, the smallest set of most likely tokens
# whose probabilities together reach $p$.
#
# **By hand.** The probabilities are 0.5, 0.3, 0.15 and 0.05, and $p = 0.75$. The first token reaches 0.5, which is not enough.
# The second one crosses the line, with a sum of 0.8, and it is part of the nucleus. Divided by 0.8, the two become 0.625 and
# 0.375. If you leave out the token that crosses, as libraries have done (fish-speech, pull request 1171; esm, 360), you draw
# from one token alone.

# %% [exercise] nucleus

# %% [derivation]
# **The rule: a token belongs to the nucleus if the more likely tokens together do not reach $p$ yet.** Sort a row, so
# that $p_{(1)} \geq p_{(2)} \geq \dots$, and take the running sum $c_i = p_{(1)} + \dots + p_{(i)}$. The tokens
# before token $i$ sum to $c_i - p_{(i)}$, so token $i$ stays if
#
# $$ c_i - p_{(i)} < p $$
#
# The comparison $c_i \leq p$ looks much the same but drops the token that crosses. The first token always stays,
# since nothing comes before it. All of these arrays have shape $(\dots, V)$. The answers are in sorted order, so they
# have to be put back, and `order` tells you which token is in each place.
#
# The temperature comes first, because it changes the probabilities that are added up. Dividing $p$ by it instead of
# the logits does nothing, because the last division cancels every common factor. Dividing $\log p$ is right, since it
# differs from the logits by one constant per row.

# %% [markdown]
# Here is the step at which the model is least certain while it writes *grandchildren* backwards. It was trained on
# words of at most 12 letters, and this one has 13.

# %%
logits = min(lab.steps_of(model, vocabulary, "grandchildren"), key=lambda row: nucleus(row, 1, 1).max())
figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained", subplot_kw={"ylabel": "probability"})
for one, t, top_p in zip(axes, (1, 1, 2), (1, 0.9, 0.9)):
    p = nucleus(logits, t, top_p)
    one.bar(vocabulary.listed[EOS:], p[EOS:], color="tab:gray")
    one.set(title=f"t = {t}, p = {top_p}: {(p > 0).sum()} tokens", xticks=range(0, 27, 3), xlabel="token that may come next")

# %% [markdown]
# In chapter 4, drawing from all tokens wrote *drawkcab* in about 39 % of the attempts, because the right letter has a
# probability of about 0.90 each time. **Predict:** with $p = 0.8$, how often does the word come out right?

# %%
for top_p in (1, 0.95, 0.8):
    drawn = [write(lambda row: rng.choice(len(row), p=nucleus(row.astype(float), 1, top_p)), "backward") for _ in range(40)]
    print(f"p = {top_p}: {np.mean([text == 'drawkcab' for text in drawn]):.0%} of 40, the last one: {drawn[-1]}")

# %% [markdown]
# The right letter reaches 0.8 by itself, so the nucleus has one token, and drawing from it is greedy decoding.
#
# ## Several hypotheses at once
#
# Here is the promised vocabulary of three words: *so*, *good* and `</s>`. The next word depends only on the last one:
#
# | after | so | good | `</s>` |
# |---|---|---|---|
# | `<s>` | 0.50 | 0.40 | 0.10 |
# | so | 0.25 | 0.40 | 0.35 |
# | good | 0.10 | 0.10 | 0.80 |
#
# **By hand.** Greedy decoding takes *so*, then *good*, then `</s>`, and the text *so good* has probability
# $0.50 \cdot 0.40 \cdot 0.80 = 0.16$. **Predict:** which text is the most likely of all, and how likely is it?
#
# There are infinitely many texts, so you cannot try them all. *Beam search* keeps the `width` best beginnings, its
# *hypotheses*, instead of one. At each step every hypothesis is continued by every token, and only the `width` best
# of all these continuations live on. Probabilities are multiplied, so their logarithms are added. A hypothesis that
# ends with `</s>` is finished and leaves its place empty.

# %% [exercise] beam_step

# %% [derivation]
# **The rule: the logarithm of a product is the sum of the logarithms.** A hypothesis $h$ that is continued by $w$ has
#
# $$ \log p(h, w) = \log p(h) + \log p(w \mid h) $$
#
# so each sum, $(L)$, is added to its row of the table, $(L, V)$. All $L \cdot V$ totals compete in one list, $(L V)$.
# No rule says that each hypothesis gets one place, so a good one may take several, and a bad one none. The entry in
# row $i$ and column $k$ of the table is at place $i V + k$ in the list. Divide the place by $V$, and the quotient is
# the parent and the remainder is the token.

# %%
WORDS, AFTER = ("so", "good", "</s>"), {"<s>": (0.5, 0.4, 0.1), "so": (0.25, 0.4, 0.35), "good": (0.1, 0.1, 0.8)}


def beam(width):
    """All hypotheses that competed, [(path, log-probability)], and the paths that are finished."""
    live, sums, finished, tried = [("<s>",)], np.zeros(1), [], []
    while live and len(finished) < width:
        log_p = np.log([AFTER[path[-1]] for path in live])
        tried += [((*path, word), total + one) for path, total, row in zip(live, sums, log_p) for word, one in zip(WORDS, row)]
        sums, parents, tokens = beam_step(sums, log_p, width - len(finished))
        paths = [(*live[i], WORDS[k]) for i, k in zip(parents, tokens)]
        finished += [path for path in paths if path[-1] == "</s>"]
        live, sums = [path for path in paths if path[-1] != "</s>"], sums[tokens != 2]
    return tried, finished


# %%
figure, both = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for axes, width in zip(both, (1, 2)):
    lab.show_tree(axes, *beam(width), f"width {width}")

# %% [markdown]
# Greedy decoding never saw *good*, whose probability is $0.40 \cdot 0.80 = 0.32$, because its first word is not the most likely
# first word. The boxes with a thick frame lived on, and the green ones are finished.
#
# For words of up to 12 letters, a beam with the trained model finds no likelier text than greedy decoding. For
# *grandchildren* it does:

# %%
for width in (1, 2, 4):
    best = beam_search(model, np.array([[*vocabulary.encode("grandchildren"), EOS]]), width)[0][0]
    print(f"width {width}: {vocabulary.decode(best.ids)}, probability {np.exp(best.log_probability):.4f}")

# %% [markdown]
# The other text is more than three times as likely and wrong all the same, because the word backwards is *nerdlihcdnarg*. A beam
# searches for what the model believes, and here the model is mistaken.
#
# ## Short texts win, unless they pay
#
# Every further token multiplies the probability by a number below 1, so a search for the most likely text favours
# short ones. The paper divides the log-probability by a penalty that grows with the length, with an exponent
# $\alpha = 0.6$, and looks for the largest score.
#
# **By hand.** For $\alpha = 1$ a text of 7 tokens, counting the end, has a penalty of 2, and a text of 13 tokens has
# a penalty of 3.

# %% [exercise] ranked

# %% [derivation]
# **A quantity that is proportional to another, and known at one point, is known everywhere.** The penalty is
# $c\, (5 + n)^\alpha$, and it is 1 for $n = 1$, so $c = 1 / 6^\alpha$:
#
# $$ \text{penalty} = \Big( \frac{5 + n}{6} \Big)^{\alpha}, \qquad \text{score} = \frac{\log p}{\text{penalty}} \qquad (N) $$
#
# Penalties and scores have shape $(N)$. Log-probabilities are negative, so a larger penalty makes a *better* score.
# An empty text has $n = 1$, because its end counts. The 5 keeps the first few tokens from mattering too much. For
# $\alpha = 1$ the penalty grows by a sixth from $n = 1$ to $n = 2$, while it would double without the 5.

# %% [markdown]
# A text of 2 tokens has a log-probability of $-2.0$, and one of 6 tokens has $-2.3$. **Predict:** which of them wins
# without a penalty, and which with $\alpha = 1$?

# %%
for alpha in (0, 0.6, 1):
    print(f"alpha = {alpha}: scores", *ranked(np.array([-2.0, -2.3]), np.array([2, 6]), alpha)[0].round(2))

# %% [markdown]
# The longer text loses 0.3 for four extra tokens. With $\alpha = 1$, dividing by $11 / 6$ instead of $7 / 6$ more than makes up
# for it, and so does the paper's 0.6.
#
# ## What need not be computed again
#
# The loop at the top ran the model on $1, 2, \dots, T$ positions to write $T$ tokens. **Predict:** how many positions
# is that for 100 tokens, and how many of them are new?

# %%
print(f"{sum(range(1, 101)):,} positions, and 100 of them are new")

# %% [markdown]
# Position 3 cannot see what is written after it, since the causal mask forbids it. So whatever the model computed there stays
# the same in every layer. The newest position needs only its key and its value, because its query has already been answered.
# Keep the keys and values in a *key-value cache*, and each step computes only one position.
#
# In a beam there is one more thing to remember. Hypotheses are dropped and split, and each needs the past of the
# hypothesis that it continues. `beam_step` has just told you which one that is.

# %% [exercise] cached_step

# %% [derivation]
# **The rule: with a causal mask, row $t$ of attention needs one query and all keys and values up to $t$.** In chapter
# 5, $y = \operatorname{softmax}(q k^\top / \sqrt{d_k})\, v$ had a row for each query. Only the last row is new:
#
# $$ y_t = \sum_{u \leq t} p_{tu} v_u, \qquad p_t = \operatorname{softmax}_u \Big( \frac{q_t \cdot k_u}{\sqrt{d_k}} \Big) $$
#
# The sum includes $u = t$, so the newest key and value are appended *before* the attention: keys become
# $(W, T + 1, d_k)$. No mask is needed, because nothing in the cache lies ahead. The past of hypothesis $i$ is that of
# its parent, `keys[parents]` and `values[parents]`, before anything is appended.

# %% [markdown]
# **Prove it.** The next cell computes attention over 256 positions, again at every step and with your cache, and compares the
# time for one token.


# %%
x, weights = rng.standard_normal((256, 64)), rng.standard_normal((3, 64, 64)) / 8
cache = [np.zeros((1, 0, 64)), np.zeros((1, 0, 64))]


def cached(t):
    y, *cache[:] = cached_step(*(x[None, t] @ w for w in weights), *cache, np.array([0]))
    return y[0]


def again(t):    # every position up to t
    return functional.attention_forward(*(x[:t + 1] @ w for w in weights), np.tri(t + 1, dtype=bool))[0]


# %%
print(f"off by {np.abs(np.array([cached(t) for t in range(256)]) - again(255)).max():.0e}")
with one_blas_thread:
    alone, with_cache = (1e6 * min(timeit.repeat(way, number=1, repeat=9)) for way in (lambda: again(255), lambda: cached(255)))
print(f"the last token alone: {alone:.0f} microseconds without a cache, {with_cache:.0f} with yours")
print(f"all 256 tokens at once: {alone / 256:.0f} microseconds each")

# %% [markdown]
# The last line is for a text that is already there, such as a question. A chat model reads it in
# one pass, its *prefill*, and needs the cache only for *decoding* its answer, token by token. The
# cache has its price in bytes: at 2 bytes a number, SmolLM2 (chapter 13) keeps $2 \cdot 30 \cdot 3
# \cdot 64$ numbers, 23 kB, for each token. That is 189 MB for its window of 8,192 tokens, while its
# weights take 269 MB.
#
# **Break it.** Forget to reorder the cache, as the library Sockeye once did. Whoever mended it looked for the mistake by comparing
# *sums* over the states (pull request 731). **Predict:** two hypotheses swap places. Does the sum of all keys change? Does the
# output?

# %%
new, past = rng.standard_normal((3, 2, 4)), rng.standard_normal((2, 2, 5, 4))    # two hypotheses, five positions before
(y, keys, _), (other_y, other_keys, _) = (cached_step(*new, *past, np.array(parents)) for parents in ((1, 0), (0, 1)))
print(f"the sums differ by {abs(keys.sum() - other_keys.sum()):.0e}, the outputs by {np.abs(y - other_y).max():.2f}")

# %% [markdown]
# The sum over all keys adds the same numbers in another order, so it cannot show which hypothesis they belong to. Would you
# notice the mistake at inference? Here is the trained model with a cache that is never reordered, on 100 random words of each
# length.

# %%
print(lab.with_a_broken_cache(12), lab.with_a_broken_cache(13), sep="\n")

# %% [markdown]
# With 12 letters every word is right, broken cache or not, so an accuracy of 100 % proves nothing about the cache. Here is a
# cache that is reordered, and wrong all the same.

# %% [exercise] find_stale

# %% [derivation]
# **The rule: a hypothesis is a text, whatever its number is.** Follow the parents from step $t$ back to the first, and you have its
# ids. A run over this text alone has nothing to reorder, so it must give the same logits.
#
# Line 5 makes no copies. `keys[:, :t]` is a view, so line 7 overwrites what it reads from. If two hypotheses swap places, the first
# gets the second's past, and then the second gets its own past back from the first. Copies in line 5 are enough.

# %% [markdown]
# ## Your Transformer

# %%
lab.run_yours("12")

# %% [markdown]
# The model can now write anything that it has probabilities for, and fast. So far that is one word, reversed. Chapter 12b gives
# it a text.
#
# **Read next:** `beam_search` in `minitransformer/decoding/beam.py`, then `CachedStack` in
# `minitransformer/decoding/cached.py`.
