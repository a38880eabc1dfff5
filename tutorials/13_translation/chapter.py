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
# # 13. A translation, and whether it is any good
#
# *한국어: 번역 (translation), 평가 (evaluation), 정확도 (accuracy), BLEU 점수, 서브워드 (subword), 재현성 (reproducibility).*

# %%
from minitransformer.learn import lab, yours

lab.you_are_here("encoder", "decoder", "decoding")

# %% [markdown]
# Here is a translator, and you will train it in half a second. It reads English number words and writes German ones.
# This chapter asks a question that looks easier than all the others: how good is it? For the same model, one evaluation
# says that nearly nine tenths are right, and another one says a quarter. Both of them run without an error.
#
# You write the two accuracies that are usually confused, and BLEU, the number in every paper on translation.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import gradcheck

model, vocabulary = lab.translator.trained(seed=0), lab.translator.VOCABULARY
unseen = lab.translator.unseen()    # 200 pairs of ids that no training batch holds
outputs, references = lab.translator.translated(model, unseen), [target for _source, target in unseen]
for (source, target), output in zip(unseen[:4], outputs):
    print(" ".join(vocabulary.tokens(source)), "->", vocabulary.decode(output), "| reference:", vocabulary.decode(target))

# %% [markdown]
# The *hypothesis* is what the model writes, and the *reference* is what a person, or here a rule, says is right. The German
# is well formed, but many of the numbers are wrong, because the model saw few batches. That makes it a good model to
# evaluate.
#
# ## Four ways to fool yourself
#
# In training, the model is given the right tokens up to each position, and says which one comes next. This is *teacher
# forcing*, and you can count how often its first choice is right. Or you count the texts in which every token is right.
#
# **By hand.** Two texts have 4 tokens each, and the model predicts 3 of the first and all 4 of the second. That is
# $7/8$ of the tokens, and $1/2$ of the texts. A third text has 2 tokens, both right, and its row is filled up with two
# places of padding. Now it is $9/10$ and $2/3$, whatever the model predicts for padding.

# %% [exercise] accuracies

# %% [derivation]
# **The rule: a mean is a sum divided by the number of things that were asked for.** With the mask
# $real_{bt} = [ids_{bt} \neq 0]$, of shape $(B, T)$, and $right_{bt} = [predicted_{bt} = ids_{bt}]$,
#
# $$ tokens = \frac{\sum_{bt} right_{bt}\, real_{bt}}{\sum_{bt} real_{bt}}, \qquad
# texts = \frac{1}{B} \sum_b \prod_t \max(right_{bt}, 1 - real_{bt}) $$
#
# In the sums, padding is a 0 above and below the line, so it is left out. In the product it is a factor of 1, so it
# passes and cannot spoil a text. A place of padding needs the opposite treatment in each of the two.

# %% [markdown]
# The first three of the four ways need only the predictions, with the right tokens before them.
#
# 1. **Teacher-forced tokens**, reported as if the model had written them.
# 2. **Padding counted** as right.
# 3. **Dropout left on**: the model is evaluated with a part of its numbers set to 0.
#
# **Predict:** the model writes on its own, each time the most likely token. Is the share of numbers that it gets
# right larger than `texts`, smaller, or the same?

# %%
predicted, ids = lab.translator.predictions(model, unseen)    # (200, T)
tokens, texts = accuracies(predicted, ids)
noisy_tokens, noisy_texts = accuracies(lab.translator.predictions(model, unseen, dropout_seed=0)[0], ids)
written = np.mean([output == target for output, target in zip(outputs, references)])
lab.translator.show_shares({
    "tokens, padding counted as right": np.mean((predicted == ids) | (ids == 0)), "tokens, teacher-forced": tokens,
    "tokens, dropout left on": noisy_tokens, "texts, teacher-forced": texts, "texts, dropout left on": noisy_texts,
    "texts that the model writes": written}, "right (%)")

# %% [markdown]
# It is the same number. If all predictions of a text are right, the model writes those tokens and meets, at each
# position, what teacher forcing gave it. At the first wrong one, both texts are wrong. So teacher forcing does not lie
# about the texts. The lie is in the tokens: after a mistake the model is put back on the right path, and it never has
# to live with what it wrote.
#
# The fourth way is to draw the test set like the training set. These numbers are drawn with 1 to 6 digits, and there
# are only ten numbers of one digit. **Predict:** the model has seen 160 batches of 16. Of 200 new draws, is about
# one in ten a number that it has seen, or about four in ten?

# %%
pairs, seen = lab.translator.with_seen()
right = np.array([output == target for output, (_source, target) in zip(lab.translator.translated(model, pairs), pairs)])
print(f"{seen.mean():.0%} of the test set are in the training text")
lab.translator.show_shares({"drawn like the training text": right.mean(), "of these, seen in training": right[seen].mean(),
                            "of these, not seen": right[~seen].mean(), "held out": written}, "texts right (%)")

# %% [markdown]
# About four in ten, and the model knows nearly all of those by heart. The check that catches it takes one line: are
# the sources of the test set in the training set? The library holds out one number in ten by a checksum of its source,
# so that no seed can draw it for training.
#
# ## Count what is right, but not twice
#
# A sentence has many good translations, so exact match is too strict for real text. BLEU asks how many *n-grams* of
# the hypothesis, the runs of $n$ tokens, are also in the reference. This is a *precision*, a share of what was written.
#
# **By hand** (the example is that of Papineni et al. 2002, who invented BLEU). The reference is *the cat is on the
# mat*, and the hypothesis is *the the the the the the the*. Each of its seven words is in the reference, so the
# precision is $7/7$, for a text that says nothing. But the reference has only two of them. *Clip* the count, and
# $2/7$ is left.

# %% [exercise] clipped_matches

# %% [derivation]
# **The rule: what is matched is used up.** If the hypothesis has an n-gram $g$ $h_g$ times, and the reference has it $r_g$
# times, then $\min(h_g, r_g)$ of them can be matched, each with a different one:
#
# $$ matches = \sum_g \min(h_g, r_g), \qquad total = \sum_g h_g = \max(0, T - n + 1) $$
#
# The sum is over the different n-grams. The reference's solution avoids the list of different ones. It numbers the
# occurrences of each n-gram from 1 to $h_g$, and counts those whose number is at most $r_g$, which are
# $\min(h_g, r_g)$ again. `found` is of shape $(T - n + 1, n)$, and the comparison of all with all $(T - n + 1, T - n + 1)$.

# %%
def counts(outputs, references):
    """matches (S, 4), totals (S, 4), lengths (S,), lengths of the references (S,)"""
    made = [[clipped_matches(np.array(one, int), np.array(right, int), n) for n in (1, 2, 3, 4)]
            for one, right in zip(outputs, references)]
    matches, totals = np.moveaxis(np.array(made), -1, 0)
    return matches, totals, np.array([*map(len, outputs)]), np.array([*map(len, references)])


matches, totals, lengths, right_lengths = counts(outputs, references)
lab.translator.show_shares({f"n = {n}": matches[:, n - 1].sum() / totals[:, n - 1].sum() for n in (1, 2, 3, 4)}, "precision (%)")

# %% [markdown]
# The longer the n-gram, the less often every token in it is right. Single tokens say whether the words are there, and
# longer runs say whether they are in order.
#
# ## From counts to BLEU
#
# Four precisions are not one number yet, and they can be cheated: a hypothesis of one safe word has the precision 1. So
# BLEU joins them with a mean and multiplies it by a *brevity penalty*.
#
# **By hand.** The precisions are $1/2$ and $1/8$, and the mean is the geometric one, $\sqrt{1/2 \cdot 1/8} = 1/4$. The
# hypotheses have 10 tokens and the references 20, so the penalty is $e^{1 - 2} = 0.37$, and BLEU is 0.09.
#
# **Predict:** one sentence of four tokens is perfect, and one of twenty tokens is poor. Is the mean of the two
# sentences' BLEU larger or smaller than the BLEU of both together?

# %% [exercise] corpus_bleu

# %% [derivation]
# **The rule of chapter 10 again: sums add, means do not.** The precision for $n$ is one share of all n-grams of the
# corpus, so both sums run over the sentences $s$ before anything is divided:
#
# $$ p_n = \frac{\sum_s m_{sn}}{\sum_s t_{sn}}, \qquad
# BLEU = \min\big(1, e^{1 - r / c}\big) \cdot \Big( \prod_{n=1}^{N} p_n \Big)^{1/N} $$
#
# $p$ is of shape $(N)$. $c$ and $r$ are lengths of the corpus too, so a sentence may be short if another one makes up
# for it. The minimum is what keeps BLEU at 1 or below: for $r < c$ the exponential exceeds 1. A long hypothesis needs
# no penalty, since its extra n-grams are in the totals already.

# %%
two = np.array([[4, 3, 2, 1], [10, 4, 2, 1]]), np.array([[4, 3, 2, 1], [20, 19, 18, 17]]), np.array([4, 20]), np.array([4, 20])
alone = [corpus_bleu(*(part[i:i + 1] for part in two)) for i in (0, 1)]
print(f"both together {corpus_bleu(*two):.3f}; mean of {alone[0]:.3f} and {alone[1]:.3f}: {np.mean(alone):.3f}")

# %% [markdown]
# The mean is larger, because the short sentence counts as much as the long one.
#
# **Prove it.** Your two functions against sacrebleu, which papers cite, on all 200 hypotheses:

# %%
score = corpus_bleu(matches, totals, lengths, right_lengths)
print(f"yours {score:.12f}, difference {abs(score - lab.translator.by_sacrebleu(outputs, references)):.0e}")

# %% [markdown]
# They agree up to rounding. If no 4-gram were right, yours would be 0, and sacrebleu would put a small number in its
# place, which its signature calls `smooth:exp`.
#
# If BLEU is what we want, why not follow its slope? Turn logits into tokens and tokens into BLEU. The gradient check
# agrees with a backward that returns zeros, as it did in chapter 12:


# %%
def forward(logits):    # (1, 6, 6): the BLEU of the most likely tokens, if 0 1 2 3 4 5 is right
    return np.array(corpus_bleu(*counts(logits.argmax(axis=-1).tolist(), [range(6)])), logits.dtype), logits


logits = np.random.default_rng(0).standard_normal((1, 6, 6)) + 9 * np.eye(6)[[0, 1, 2, 3, 4, 2]]    # the last one is wrong
print(f"BLEU {forward(logits)[0]:.3f}")
print(gradcheck((forward, lambda dbleu, logits: np.zeros_like(logits)), [logits], methods=["central"], name="BLEU"))

# %% [markdown]
# BLEU moves in jumps, so models are trained on the cross-entropy of chapter 10, and BLEU only judges them.
#
# ## Pieces of words
#
# What is a token? A vocabulary of words cannot write a word that it has not seen, and letters make texts long. *Byte-pair
# encoding* starts with letters and merges, again and again, the two neighbours that occur together most often.
#
# **By hand.** In *her hen the*, the pair *h e* occurs three times and every other pair once. After the merge the text is
# *he-r he-n t-he*, and *he* is a token like any other. The *r* and the *h* after the space are not a pair.

# %% [exercise] merged

# %% [derivation]
# **The rule: count all pairs, then replace one of them everywhere.** The pairs are of shape $(T - 1, 2)$. Pair $i$
# consists of the ids $i$ and $i + 1$, and it is within a word if neither is 0. A comparison of all pairs with all pairs,
# $(T - 1, T - 1)$, has the count of each in its row sums.
#
# Where a pair was found at $i$, the id at $i$ becomes the new one, and that at $i + 1$ goes. Two ids that differ cannot
# overlap with themselves. The pair $(a, a)$ in $a\,a\,a$ could, which is why the task leaves it out.

# %%
words = [vocabulary.decode(target) for _source, target in unseen[:30]]
names = [" ", *sorted(set("".join(words)))]
text = np.array([names.index(letter) for letter in " ".join(words)])
sizes = [len(text)]
for _merge in range(25):
    pair, text = merged(text, len(names))
    names.append(names[pair[0]] + names[pair[1]])
    sizes.append(len(text))
lab.translator.show_merges(sizes, names[-25:])

# %% [markdown]
# No rule of German was given to it, and it finds *und*, *hundert* and *tausend*, which are what the numbers are made of.
#
# The pieces are for the model. BLEU should be taken of words, since the same hypotheses get a different BLEU if they are
# split differently. **Predict:** is it larger or smaller for letters?

# %%
letters = [[[ord(letter) for letter in vocabulary.decode(one)] for one in both] for both in (outputs, references)]
print(f"BLEU of number words {score:.3f}, of letters {corpus_bleu(*counts(*letters)):.3f}")

# %% [markdown]
# The score is larger, although no translation has improved. A BLEU reported without its tokenisation is therefore not a
# result.
#
# ## A map, read aloud
#
# Here is the cross-attention of a translator that was trained for 400 steps, and of the model that writes backwards.
# Read a row as a sentence: "to write *drei*, it looks at *three*".

# %%
figure, both = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
number = lab.attention_of(lab.translator.trained(steps=400), vocabulary, "five hundred twenty three thousand sixty four")
head = number.weights[:, [0, 2, 4, 6, 8], [0, 3, 2, 6, 5]].sum(axis=-1).argmax()    # it looks most at what it translates
lab.show_map(both[0], number, head)
both[0].set(xlabel="key: the word it may look at", ylabel="query: the word being written")
both[0].tick_params(axis="x", rotation=60)
figure.colorbar(lab.show_map(both[1], lab.attention_of(*lab.drawkcab(), "backward")), label="attention weight")

# %% [markdown]
# German says *three and twenty*, so the two words cross: *drei* looks past *twenty*, and *zwanzig* goes back to it. The
# other pair crosses as well. *und* has no counterpart in English, and its row shows that: it looks at something that is
# no translation. The model on the right crosses everything.
#
# ## What an honest report says
#
# Train the translator three times with different seeds. Then draw 200 sentences from the 200, with repetition, a thousand
# times, and take the BLEU of each draw. Your function makes that cheap, because the counts stay as they are.

# %%
seeds = [score]
for seed in (1, 2):
    found = lab.translator.translated(lab.translator.trained(seed), unseen)
    seeds.append(corpus_bleu(*counts(found, references)))
rows = np.random.default_rng(0).integers(200, size=(1000, 200))
drawn = np.array([corpus_bleu(matches[i], totals[i], lengths[i], right_lengths[i]) for i in rows])
lab.translator.show_spread(drawn, seeds)
print("seeds:", *(f"{one:.3f}" for one in seeds), "| 95 % of the draws:", *np.quantile(drawn, (0.025, 0.975)).round(3))

# %% [markdown]
# Nothing but the seed was changed, and the seeds are further apart than the draws. A report of the best seed would be
# true, and it would mislead. An honest one names the median of several seeds, and how far apart they are.
#
# Here is such a report for real text, on the library's translator from English to German on Multi30K, as recorded in
# `docs/translation.md`, where the commands are. All scores are of `test_2016_flickr`, tokenised and lowercased.
#
# | | BLEU |
# |---|---|
# | three seeds | 41.18, 40.80, 40.58 |
# | their median | 40.80 |
# | published, a text-only model of this size (Wu et al. 2021) | 41.02 |
# | three ensembles of two models each | 41.50, 40.77, 41.73 |
# | their median | 41.50 |
#
# **Predict:** is the best seed above the published score, and is the median? A report can choose its conclusion by
# choosing the row. This one says 0.2 below, and it gives the signature of the score,
# `nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:2.6.0`, so that you can compute the same number.
#
# The page records a failure, too. One model reached a validation perplexity of 17 and a BLEU of 11, in fluent German
# that had little to do with the English. The rows of its attention map were uniform, so it never read its source.
# Look at a few hypotheses and at one map before you believe any number.
#
# ## Your Transformer

# %%
lab.at_work()

# %% [markdown]
# **Read next:** `exact_match` and `bleu` in `minitransformer/training/evaluation.py`, and the class `Numbers` in
# `minitransformer/tasks/numbers.py`, where `is_held_out` says what may never be trained on. The measurements on Multi30K,
# including everything that did not help, are in `experiments/multi30k.md`.
