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
from minitransformer_course import lab, yours

lab.you_are_here("encoder", "decoder", "decoding")

# %% [markdown]
# Here is a translator that you train in half a second. It reads English number words and writes German ones. This
# chapter asks a question that looks easier than all the others: how good is it? For the same model, one evaluation says
# that nearly nine tenths are right, and another says a quarter. Both run without an error.

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
# The *hypothesis* is what the model writes, and the *reference* is the right answer according to a person, or here a
# rule. The German is well formed, but many of the numbers are wrong, because the model saw few batches. That makes it a
# good model to evaluate.
#
# ## Four ways to fool yourself
#
# In training, the model is given the right tokens up to each position and predicts the next one. This is *teacher
# forcing*, and you can count how often its first choice is right. You can also count the texts in which every token is
# right.
#
# **By hand.** Two texts have 4 tokens each, and the model predicts 3 of the first and all 4 of the second. That is
# $7/8$ of the tokens, and $1/2$ of the texts. A third text has 2 tokens, both right, and two positions of padding. The
# shares are now $9/10$ and $2/3$, whatever the model predicts for padding.

# %% [exercise] accuracies

# %% [derivation]
# **The rule: a mean is a sum divided by the number of things that count.** With the mask
# $real_{bt} = [ids_{bt} \neq 0]$, of shape $(B, T)$, and $right_{bt} = [predicted_{bt} = ids_{bt}]$,
#
# $$ tokens = \frac{\sum_{bt} right_{bt}\, real_{bt}}{\sum_{bt} real_{bt}}, \qquad
# texts = \frac{1}{B} \sum_b \prod_t \max(right_{bt}, 1 - real_{bt}) $$
#
# In the sums, padding adds 0 above and below the fraction line, so it is left out. In the product it is a factor of 1,
# so it cannot spoil a text. The two formulas need opposite treatments of padding.

# %% [markdown]
# The first three of the four ways need only teacher-forced predictions.
#
# 1. **Teacher-forced tokens**, reported as if the model had written them.
# 2. **Padding counted** as right.
# 3. **Dropout left on**: the model is evaluated with some of its numbers set to 0.
#
# **Predict:** the model now writes on its own, choosing the most likely token each time. Is the share of numbers that
# it gets right larger than `texts`, smaller, or the same?

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
# It is the same number. If all predictions of a text are right, the model writes those tokens and sees, at each
# position, what teacher forcing gave it. At the first wrong prediction, both texts are wrong. So teacher forcing does
# not lie about the texts. It lies about the tokens, because after a mistake the model is put back on the right path and
# never has to live with what it wrote.
#
# The fourth way is to draw the test set like the training set. These numbers are drawn with 1 to 6 digits, and there
# are only ten numbers of one digit. **Predict:** the model has seen 160 batches of 16. Of 200 new draws, has it seen
# about one in ten, or about four in ten?

# %%
pairs, seen = lab.translator.with_seen()
right = np.array([output == target for output, (_source, target) in zip(lab.translator.translated(model, pairs), pairs)])
print(f"{seen.mean():.0%} of the test set are in the training text")
lab.translator.show_shares({"drawn like the training text": right.mean(), "of these, seen in training": right[seen].mean(),
                            "of these, not seen": right[~seen].mean(), "held out": written}, "texts right (%)")

# %% [markdown]
# It has seen about four in ten, and it knows nearly all of those by heart. One line of code catches this mistake, by
# looking for the test set's sources in the training set. The library holds out one number in ten by a checksum of its
# source, so that no seed can draw these for training.
#
# ## Count what is right, but not twice
#
# A sentence has many good translations, so exact match is too strict for real text. BLEU asks how many *n-grams* of the
# hypothesis, that is, runs of $n$ tokens, are also in the reference. This is a *precision*, a share of what was
# written.
#
# **By hand** (the example is that of Papineni et al. 2002, who invented BLEU). The reference is *the cat is on the
# mat*, and the hypothesis is *the the the the the the the*. Each of its seven words is in the reference, so the
# precision is $7/7$, for a text that says nothing. But the reference has *the* only twice. *Clip* the count, and $2/7$
# is left.

# %% [exercise] clipped_matches

# %% [derivation]
# **The rule: what is matched is used up.** If the n-gram $g$ occurs $h_g$ times in the hypothesis and $r_g$ times in
# the reference, then $\min(h_g, r_g)$ of these occurrences can be matched, each with a different one:
#
# $$ matches = \sum_g \min(h_g, r_g), \qquad total = \sum_g h_g = \max(0, T - n + 1) $$
#
# The sum runs over the distinct n-grams. The model solution avoids listing them. It numbers the occurrences of each
# n-gram from 1 to $h_g$, and counts those whose number is at most $r_g$, which again makes $\min(h_g, r_g)$. `found`
# has shape $(T - n + 1, n)$, and the comparison of all with all has shape $(T - n + 1, T - n + 1)$.

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
# The longer the n-gram, the less often every token in it is right. Single tokens show whether the words are there, and
# longer runs show whether they are in order.
#
# ## From counts to BLEU
#
# Four precisions are not one number yet, and they are easy to cheat, because a hypothesis of one safe word has
# precision 1. So BLEU combines them into a mean and multiplies it by a *brevity penalty*.
#
# **By hand.** The precisions are $1/2$ and $1/8$, and their geometric mean is $\sqrt{1/2 \cdot 1/8} = 1/4$. The
# hypotheses have 10 tokens and the references 20, so the penalty is $e^{1 - 2} = 0.37$, and BLEU is 0.09.
#
# **Predict:** one sentence of four tokens is perfect, and one of twenty tokens is poor. Is the mean of the two BLEU
# scores larger or smaller than the BLEU of both sentences together?

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
print(f"yours {score:.12f}, difference {abs(score - lab.translator.by_sacrebleu(outputs, references)):.0e}")

# %% [markdown]
# They agree up to rounding. If no 4-gram were right, your BLEU would be 0. Sacrebleu would replace the precision of 0
# with a small number, as its signature says with `smooth:exp`.
#
# If BLEU is what we want, why not follow its slope? The next cell turns logits into tokens and tokens into BLEU. As in
# chapter 12, the gradient check agrees with a backward that returns zeros:


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
# What is a token? With a vocabulary of words, a model cannot write a word that it has not seen, and letters make texts
# long. *Byte-pair encoding* starts with letters and repeatedly merges the two neighbours that occur together most
# often.
#
# **By hand.** In *her hen the*, the pair *h e* occurs three times and every other pair once. After the merge the text
# is *he-r he-n t-he*, and *he* is a token like any other. The *r* and the *h* after the space do not form a pair.

# %% [exercise] merged

# %% [derivation]
# **The rule: count all pairs, then replace one of them everywhere.** The array of pairs has shape $(T - 1, 2)$. Pair
# $i$ consists of the ids at $i$ and $i + 1$, and it lies within a word if neither is 0. If you compare all pairs with
# all pairs, $(T - 1, T - 1)$, the row sums are the counts.
#
# Wherever the pair is found at $i$, the id at $i$ becomes the new one, and the id at $i + 1$ is removed. A pair of two
# different ids cannot overlap with itself. The pair $(a, a)$ in $a\,a\,a$ could, which is why the task leaves it out.

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
# It was given no rules of German, and yet it finds *und*, *hundert* and *tausend*, the parts that the numbers are made
# of.
#
# The pieces are for the model. BLEU should be computed on words, since the same hypotheses get a different BLEU if they
# are split differently. **Predict:** is it larger or smaller on letters?

# %%
letters = [[[ord(letter) for letter in vocabulary.decode(one)] for one in both] for both in (outputs, references)]
print(f"BLEU of number words {score:.3f}, of letters {corpus_bleu(*counts(*letters)):.3f}")

# %% [markdown]
# The score is larger, although no translation has improved. A BLEU reported without its tokenisation is therefore not a
# result.
#
# ## A map, read aloud
#
# Here is the cross-attention of a translator trained for 400 steps, and of the model that writes backwards. Read a row
# as a sentence: "to write *drei*, it looks at *three*".

# %%
figure, both = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
number = lab.attention_of(lab.translator.trained(steps=400), vocabulary, "five hundred twenty three thousand seventy four")
head = number.weights[:, [0, 2, 4, 6, 8], [0, 3, 2, 6, 5]].sum(axis=-1).argmax()    # it looks most at what it translates
lab.show_map(both[0], number, head)
both[0].set(xlabel="key: the word it may look at", ylabel="query: the word being written")
both[0].tick_params(axis="x", rotation=60)
figure.colorbar(lab.show_map(both[1], lab.attention_of(*lab.drawkcab(), "backward")), label="attention weight")
lab.translator.spoken(523_074)

# %% [markdown]
# German says *three and twenty*, so the two words cross: *drei* looks past *twenty*, and *zwanzig* looks back at it.
# The other pair crosses as well. *und* has no counterpart in English, so its row looks at a word that it does not
# translate. In the model on the right, everything crosses.
#
# Korean groups by ten thousands, so *five hundred twenty three thousand* becomes *fifty-two ten-thousands and three
# thousands*, a cut for which English has no word.
#
# ## What an honest report says
#
# Train the translator three times with different seeds. Then draw 200 sentences from the 200, with replacement, a
# thousand times, and take the BLEU of each draw. Your function makes that cheap, because the counts stay the same.

# %%
others = [lab.translator.translated(lab.translator.trained(seed), unseen) for seed in (1, 2)]
seeds = [score, *(corpus_bleu(*counts(found, references)) for found in others)]
rows = np.random.default_rng(0).integers(200, size=(1000, 200))
drawn = np.array([corpus_bleu(matches[i], totals[i], lengths[i], right_lengths[i]) for i in rows])
lab.translator.show_spread(drawn, seeds)
print("seeds:", *(f"{one:.3f}" for one in seeds), "| 95 % of the draws:", *np.quantile(drawn, (0.025, 0.975)).round(3))

# %% [markdown]
# Only the seed was changed, and the scores of the seeds lie further apart than the draws. A report of the best seed
# would be true but misleading. An honest one gives the median of several seeds and how far apart they are.
#
# Here is such a report for real text: the library's English-to-German translator on Multi30K (commands in
# `docs/translation.md`), scored on `test_2016_flickr`, tokenised and lowercased.
#
# | | BLEU |
# |---|---|
# | three seeds | 41.18, 40.80, 40.58 |
# | their median | 40.80 |
# | published, a text-only model of this size (Wu et al. 2021) | 41.02 |
#
# **Predict:** is the best seed above the published score, and is the median? A report can choose its conclusion by
# choosing the row. This one says 0.2 below, and it gives the score's signature,
# `nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:2.6.0`, so that you can compute the same number.
#
# Table 2 of the paper gives one number for each model, and its cost. **By hand:** base took 12 hours on 8 processors with
# 9.5 trillion operations a second, which makes
#
# $$ 12 \cdot 3600 \cdot 8 \cdot 9.5 \cdot 10^{12} = 3.3 \cdot 10^{18} $$
#
# for a BLEU of 27.3. Big reached 28.4 with 7 times as many. The best ensemble before them needed 23 times as many for 26.36.
# No row has a second seed.
#
# ## Your Transformer

# %%
lab.run_yours()

# %% [markdown]
# The parts are yours now, and what holds them together is not. `minitransformer learn start my_model` writes a blank file
# for the whole model. `minitransformer learn plug --all` compares its gradients with those of the paper in one file, trains
# it until it reverses every word, and draws the map, each box in the colour of its proof.
#
# **Read next:** `exact_match` and `bleu` in `minitransformer/training/evaluation.py`, and the class `Numbers` in
# `minitransformer/tasks/numbers.py`, where `is_held_out` decides which numbers are never used for training.
