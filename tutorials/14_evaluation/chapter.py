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
# # 14. Did it learn?

# %%
from minitransformer_course import lab, yours

lab.you_are_here("encoder", "decoder", "decoding")

# %% [markdown]
# Section 6 of the paper reports a number for each model, 28.4 BLEU for its best German one. What does such a number say, and what
# does it hide? Here is a translator that you train in half a second. It reads English number words and writes German ones. How
# good is it? One evaluation of this model says 89 %, another says 22 %, and neither raises an error.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import make_batch

model, vocabulary = lab.translator.trained(seed=0), lab.translator.VOCABULARY
unseen = lab.translator.unseen()    # 200 pairs of ids that no training batch holds
outputs, references = lab.translator.translated(model, unseen), [target for _source, target in unseen]
for (source, target), output in zip(unseen[:4], outputs):
    print(" ".join(vocabulary.tokens(source)), "->", vocabulary.decode(output), "| reference:", vocabulary.decode(target))

# %% [markdown]
# The *hypothesis* is what the model writes, and the *reference* is the right answer, given by a person or, here, a rule. The
# German is well formed, but many of the numbers are wrong, because the model saw few batches.
#
# ## Four ways to fool yourself
#
# In training, the model is given the right tokens up to each position and predicts the next one. This is *teacher
# forcing*. You can count how often its first choice is right, and in how many texts every token is right.
#
# **By hand.** Two texts have 4 tokens each, and the model predicts 3 of the first and all 4 of the second correctly. That is
# $7/8$ of the tokens, and $1/2$ of the texts. A third text has 2 tokens, both right, and two positions of padding. Now the
# shares are $9/10$ and $2/3$, whatever is predicted for padding.

# %% [exercise] accuracies

# %% [derivation]
# **The rule: a mean is a sum divided by the number of things that count.** With the mask $real_{bt} = [ids_{bt} \neq 0]$, of
# shape $(B, T)$, and $right_{bt} = [predicted_{bt} = ids_{bt}]$,
#
# $$ tokens = \frac{\sum_{bt} right_{bt}\, real_{bt}}{\sum_{bt} real_{bt}}, \qquad
# texts = \frac{1}{B} \sum_b \prod_t \max(right_{bt}, 1 - real_{bt}) $$
#
# In the sums, padding adds 0 above and below the fraction line, so it is left out. In the product it is a factor of 1,
# so it cannot spoil a text. The two formulas need opposite treatments of padding.

# %% [markdown]
# The first three ways are to report teacher-forced tokens as if the model had written them, to count padding as right, and to
# leave dropout on.
#
# **Predict:** the model now writes on its own, choosing the most likely token each time. Is the share of numbers that
# it gets right larger than `texts`, smaller, or the same?

# %%
batch = make_batch(unseen)
predicted, ids = model.forward(*batch.inputs)[0].argmax(axis=-1), batch.next_target    # (200, T)
tokens, texts = accuracies(predicted, ids)
noisy = model.forward(*batch.inputs, rng=np.random.default_rng(0))[0].argmax(axis=-1)    # with dropout
noisy_tokens, noisy_texts = accuracies(noisy, ids)
written = np.mean([output == target for output, target in zip(outputs, references)])
lab.translator.show_shares({
    "tokens, padding counted as right": np.mean((predicted == ids) | (ids == 0)), "tokens, teacher-forced": tokens,
    "tokens, dropout left on": noisy_tokens, "texts, teacher-forced": texts, "texts, dropout left on": noisy_texts,
    "texts that the model writes": written}, "right (%)")

# %% [markdown]
# Until its first mistake, the model reads what teacher forcing would have given it, and after it the text is wrong in either
# case. So teacher forcing does not lie about the texts. It lies about the tokens, because after each mistake the model is put
# back on the right path.
#
# The fourth way is to draw the test set like the training set. These numbers have 1 to 6 digits, and only ten numbers have a
# single digit. **Predict:** the model has seen 160 batches of 16. Of 200 new draws, has it seen about one in ten, or about four
# in ten?

# %%
pairs, known = lab.translator.drawn_like_training(200), lab.translator.read_in_training()
seen = np.array([tuple(source) in known for source, _target in pairs])
right = np.array([output == target for output, (_source, target) in zip(lab.translator.translated(model, pairs), pairs)])
print(f"{seen.mean():.0%} of the test set are in the training text")
lab.translator.show_shares({"drawn like the training text": right.mean(), "of these, seen in training": right[seen].mean(),
                            "of these, not seen": right[~seen].mean(), "held out": written}, "texts right (%)")

# %% [markdown]
# Short numbers are drawn again and again, and the model knows nearly all that it has seen by heart. To catch this mistake, look
# for the test set's sources in the training set. The library holds out one number in ten by a checksum, so that no seed can
# draw it.
#
# ## One perplexity for each vocabulary
#
# Exact match ignores how sure the model was. Perplexity, from chapter 10, does not. **By hand.** A loss of 0.868 for each token
# is a perplexity of $e^{0.868} = 2.382$. But what is a token? A text of 2 words and 8 letters has probability $1/16$. For each
# word, that is a perplexity of $16^{1/2} = 4$. For each letter, it is $16^{1/8} = 1.41$. So perplexities of different
# vocabularies cannot be compared, unless each sum is divided by the number of words.
#
# A better perplexity need not mean better translations. In the paper's Table 3, label smoothing hurts the perplexity (4.92
# instead of 4.67), because the model learns to be less sure, and helps the next measure, BLEU (25.8 instead of 25.3).
#
# ## Count what is right, but not twice
#
# A sentence has many good translations, so exact match is too strict for real text. BLEU asks how many *n-grams* (runs of
# $n$ tokens) of the hypothesis are also in the reference. This is a *precision*, a share of what was written.
#
# **By hand** (from Papineni et al. 2002, who invented BLEU). The reference is *the cat is on the mat*, and the hypothesis
# is *the the the the the the the*. Each of its seven words is in the reference, so the precision is $7/7$. But the
# reference has *the* only twice. *Clip* the count, and $2/7$ is left.

# %% [exercise] clipped_matches

# %% [derivation]
# **The rule: what is matched is used up.** If the n-gram $g$ occurs $h_g$ times in the hypothesis and $r_g$ times in
# the reference, then $\min(h_g, r_g)$ of these occurrences can be matched, each with a different one:
#
# $$ matches = \sum_g \min(h_g, r_g), \qquad total = \sum_g h_g = \max(0, T - n + 1) $$
#
# The sum runs over the distinct n-grams. The model solution avoids listing them. It numbers the occurrences of each
# n-gram from 1 to $h_g$, and counts those whose number is at most $r_g$, which again makes $\min(h_g, r_g)$. `found`
# has shape $(T - n + 1, n)$, and the pairwise comparison has shape $(T - n + 1, T - n + 1)$.

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
# Single tokens show whether the words are there, and longer n-grams show whether they are in order.
#
# ## From counts to BLEU
#
# A high precision is easy to reach, because a hypothesis of one safe word has precision 1. So BLEU takes the geometric mean of
# four precisions and multiplies it by a *brevity penalty*.
#
# **By hand.** The precisions are $1/2$ and $1/8$, and their geometric mean is $\sqrt{1/2 \cdot 1/8} = 1/4$. The
# hypotheses have 10 tokens and the references 20, so the penalty is $e^{1 - 2} = 0.37$, and BLEU is 0.09.
#
# **Predict:** a sentence of four tokens is perfect, and one of twenty is poor. Is the mean of their BLEU scores larger or
# smaller than the BLEU of both together?

# %% [exercise] corpus_bleu

# %% [derivation]
# **The rule of chapter 10 again: sums add, means do not.** The precision for $n$ is one share of all n-grams of the
# corpus, so both sums run over the sentences $s$ before anything is divided:
#
# $$ p_n = \frac{\sum_s m_{sn}}{\sum_s t_{sn}}, \qquad
# BLEU = \min\big(1, e^{1 - r / c}\big) \cdot \Big( \prod_{n=1}^{N} p_n \Big)^{1/N} $$
#
# Here $p$ has shape $(N)$. The lengths $c$ and $r$ are also those of the corpus, so a sentence may be short if another
# one makes up for it. The minimum keeps BLEU at 1 or below, because for $r < c$ the exponential exceeds 1. A long
# hypothesis needs no penalty, since its extra n-grams are already in the totals.

# %%
two = np.array([[4, 3, 2, 1], [10, 4, 2, 1]]), np.array([[4, 3, 2, 1], [20, 19, 18, 17]]), np.array([4, 20]), np.array([4, 20])
alone = [corpus_bleu(*(part[i:i + 1] for part in two)) for i in (0, 1)]
print(f"both together {corpus_bleu(*two):.3f}; mean of {alone[0]:.3f} and {alone[1]:.3f}: {np.mean(alone):.3f}")

# %% [markdown]
# The mean is larger, because the short sentence counts as much as the long one.
#
# **Prove it.** Compare your two functions with sacrebleu, which papers cite, on all 200 hypotheses:

# %%
score = corpus_bleu(matches, totals, lengths, right_lengths)
print(f"yours {score:.12f}, {lab.translator.beside_sacrebleu(score, outputs, references)}")

# %% [markdown]
# If sacrebleu is installed, the difference is rounding, and otherwise the line says that nothing was compared. If no 4-gram
# were right, your BLEU would be 0, while sacrebleu would replace the precision of 0 with a small number (`smooth:exp` in its
# signature).
#
# BLEU, too, depends on what counts as a token. **Predict:** if hypotheses and references are split into letters, is BLEU larger
# or smaller?

# %%
split = [[[ord(letter) for letter in vocabulary.decode(one)] for one in both] for both in (outputs, references)]
print(f"BLEU of number words {score:.3f}, of letters {corpus_bleu(*counts(*split)):.3f}")

# %% [markdown]
# The score is larger, although no translation has improved, so a BLEU without its tokenisation is not a result.
#
# ## What an honest report says
#
# A single score hides two sources of chance: the seed of the training run, and the sentences in the test set. For the seed,
# train with several. How far do their scores spread?
#
# **By hand.** Suppose that each score is 0 or 2, with equal chances. The true mean is 1, and so is the true variance. Two seeds
# give (0, 0), (0, 2), (2, 0) or (2, 2). The squared deviations from each pair's *own* mean sum to 0, 2, 2 and 0, which is 1 on
# average. Divided by $n = 2$, that is half of the true variance. Divided by $n - 1 = 1$, it is all of it. A pair's own mean is
# closer to its scores than the true mean is, and $n - 1$ makes up for this:
#
# $$ s^2 = \frac{1}{n - 1} \sum_i (x_i - \bar x)^2, \qquad \text{standard error} = \frac{s}{\sqrt n} $$
#
# The *standard error* is the standard deviation of the mean $\bar x$. Variances of independent scores add, so their sum has
# variance $n \sigma^2$, and their mean $\sigma^2 / n$. For a difference of two means, the two variances add as well.
#
# For the sentences, draw 200 of the 200, with replacement, a thousand times, and take the BLEU of each draw. This is a
# *bootstrap*.

# %%
others = [lab.translator.translated(lab.translator.trained(seed), unseen) for seed in (1, 2)]
seeds = np.array([score, *(corpus_bleu(*counts(found, references)) for found in others)])
rows = np.random.default_rng(0).integers(200, size=(1000, 200))
drawn = np.array([corpus_bleu(matches[i], totals[i], lengths[i], right_lengths[i]) for i in rows])
lab.translator.show_spread(drawn, seeds)
print("seeds", *seeds.round(3), f"| mean {seeds.mean():.3f}, standard error {seeds.std(ddof=1) / 3 ** 0.5:.3f}")
print("95 % of the draws, for seed 0:", *np.quantile(drawn, (0.025, 0.975)).round(3))

# %% [markdown]
# The seeds lie further apart than the draws, so here the test set matters less. A report of the best seed would be true but
# misleading. An honest one gives the number of seeds, their mean or median, and their spread.
#
# For real text, Multi30K's English to German, our three seeds have a mean of 40.85 ± 0.18, and a published model of this size
# has 41.02 (Wu et al. 2021). If that single score varies as ours do, with $s = 0.30$, the difference has a standard error of
# $\sqrt{0.30^2 / 3 + 0.30^2} = 0.35$, so neither model is shown to be better.
#
# ## What is known now
#
# A BLEU score is a share of matched n-grams, and it means little without its tokenisation, its number of seeds and their spread.
# The paper gives one score for each model, so you know how good *these* models were on *this* test set, and not how far another
# seed would have been from 28.4. The next chapter looks at what no score shows, which is the translations.
#
# ## Your Transformer

# %%
lab.run_yours("14")

# %% [markdown]
# **Read next:** `exact_match` and `bleu` in `minitransformer/tasks/evaluation.py`, and the class `Numbers` in
# `minitransformer/tasks/numbers.py`.
