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
# # 14b. A real translator

# %%
from minitransformer_course import lab, yours

lab.you_are_here("encoder", "decoder", "decoding")

# %% [markdown]
# The paper reports scores and does not show a single translation. What does a translator write, and where does it fail? This
# chapter's model reads Korean and writes English. It comes with the package, and it is small: 0.6 million parameters, trained
# for a minute and a half of processor time on 5,349 pairs of sentences from [Tatoeba](https://tatoeba.org), a free collection.
# Here are five of the 200 pairs that it never saw:

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer.data.special import BOS, EOS

model, subwords = lab.load_korean_model()
pairs = lab.korean.held_out()
for korean, english in [pairs[i] for i in (143, 14, 183, 135, 105)]:
    print(f"{korean} -> {lab.write(model, subwords, korean)} | reference: {english}")

# %% [markdown]
# The first translation is right, but leaves out Mary, and the second is close. The third has to translate *울다*, which can mean
# to cry or, of a cat, to meow, and chooses crying. The fourth is worse than it looks, because it is fluent and says the
# opposite of its source. The last one has lost its way. Over all 200 pairs, BLEU is 8.2 and chrF, which counts characters
# instead of words, is 23.6. (With a beam of 5, they are 10.5 and 24.2.) The scores are low because the training text is small:
# in 5,349 short sentences, most words occur only a few times.
#
# ## Pieces of words
#
# What is a token of this model? With a vocabulary of words, a model cannot write a word that it has not seen, and with letters,
# texts become long. *Subwords* are in between. *Byte-pair encoding* starts with letters and repeatedly merges the pair of
# neighbours that occurs most often.
#
# **By hand.** In *her hen the*, the pair *h e* occurs three times and every other pair once. After the merge the text
# is *he-r he-n t-he*, and *he* is a token like any other. The *r* and the *h* after the space do not form a pair.

# %% [exercise] merged

# %% [derivation]
# **The rule: count all pairs, then replace one of them everywhere.** The array of pairs has shape $(T - 1, 2)$. Pair
# $i$ consists of the ids at $i$ and $i + 1$, and it lies within a word if neither is 0. In the pairwise comparison of
# shape $(T - 1, T - 1)$, the row sums are the counts.
#
# Wherever the pair is found at $i$, the id at $i$ becomes the new one, and the id at $i + 1$ is removed. A pair of two
# different ids cannot overlap with itself. The pair $(a, a)$ in $a\,a\,a$ could, which is why the task leaves it out.

# %%
text = " ".join(english.lower() for _korean, english in pairs[:60])
names = [" ", *sorted(set(text) - {" "})]
ids = np.array([names.index(letter) for letter in text])
sizes = [len(ids)]
for _merge in range(25):
    pair, ids = merged(ids, len(names))
    names.append(names[pair[0]] + names[pair[1]])
    sizes.append(len(ids))
lab.translator.show_merges(sizes, names[-25:])

# %% [markdown]
# Your function was given no rules of English, and yet it finds *the*, *you*, *ing* and, in this collection, *tom*. The model's
# 1,126 merges were learned on both languages together, and keep capital letters:

# %%
for sentence in pairs[143]:
    print(len(sentence), "characters:", " ".join(subwords.tokens(subwords.encode(sentence))))

# %% [markdown]
# The sign ▁ stands for the space before a word. The paper trains on 4.5 million pairs of English and German sentences, with
# byte-pair tokens, and on 36 million pairs of English and French, with 32,000 *word pieces*, which are learned in a similar
# way. That is 840 and 6,700 times as many pairs as this model had.
#
# ## Who asks whom?
#
# Here is the cross-attention of the last layer for the first sentence, averaged over its heads. The subwords of a
# word are taken together. Read a row as a sentence: "to write *French*, it looks at *프랑스어를*". **Predict:** Korean
# puts the verb last. At which Korean word are the rows of *doesn't* and *know* dark?

# %%
figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
bar = figure.colorbar(lab.show_translation(axes, model, subwords, pairs[143][0]), label="attention weight")

# %% [markdown]
# The rows of *doesn't* and *know* are dark at *몰라* (*molra*), the last word, which means *does not know*. So the English order
# crosses the Korean one. An attention map shows what the model looks at, not what it should look at: *how to* translates *할 줄*
# (*hal jul*), but its rows look at *프랑스어를*, French.
#
# ## Why it repeats itself
#
# A translator can get stuck in a phrase and write *and the seat was very big, and the seat was very big*. Ours can do that,
# too:


# %%
def write(text, n=None):
    """What greedy decoding makes of a Korean text; with n, no n-gram occurs twice."""
    source, target = np.array([[*subwords.encode(text), EOS]]), np.array([[BOS]])
    while target[0, -1] != EOS and target.shape[1] <= 30:
        logits = model.forward(source, target)[0][0, -1]
        if n:
            logits = np.where(may_follow(target[0], n, len(logits)), logits, -np.inf)
        target = np.append(target, [[logits.argmax()]], axis=1)
    return subwords.decode(target[0])


looping = pairs[105][0]
print(write(looping))

# %% [markdown]
# **By hand.** Suppose that the next word depends only on the last one: after *big* comes a comma with probability 0.6, or the
# end with 0.4, and after the comma, *and the seat was very big* is the most likely way to go on. If you sample the words, each
# round is the last with probability 0.4, so there are $1 / 0.4 = 2.5$ rounds on average. Greedy decoding takes the comma each
# time and never ends, because **the same state always leads to the same choice**.
#
# A Transformer sees all words that it has written, so its state is never exactly the same, but it may be nearly the same.
# **Predict:** in the loop, does each copy of a word look at another Korean word, or at the same one?

# %%
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
bar = figure.colorbar(lab.show_translation(axes, model, subwords, looping), label="attention weight")

# %% [markdown]
# From the first *of* on, the rows repeat: each *of* looks where the one before it looked, and the same holds for *a* and *lot*.
# Nothing in the model records which source words have been translated. And in training it only ever continued correct text, so
# it has never seen a loop and has not learned to leave one. (In large language models, one repetition even makes the next one
# more likely, as Holtzman et al. 2020 measured.)
#
# What helps? More training does, and so does a beam, which finds a hypothesis that ends if it is more likely as a whole. The
# table counts the outputs, out of 200, in which the same three tokens occur twice:
#
# | | greedy | beam 5 |
# |---|---|---|
# | after 400 updates | 50 | 18 |
# | at the end, after 1,600 | 22 | 1 |
# | the references | 0 | 0 |
#
# And there is a simple rule: **no n-gram may occur twice.**

# %% [exercise] may_follow

# %% [derivation]
# **The rule: an n-gram is $n - 1$ tokens and the one that follows them.** After the text $w_1, \dots, w_T$, a token completes a
# second copy of an n-gram if the last $n - 1$ tokens of the text also occur earlier, at some $i$, and are followed by that token
# there:
#
# $$ (w_i, \dots, w_{i+n-2}) = (w_{T-n+2}, \dots, w_T) \quad \Rightarrow \quad w_{i+n-1} \text{ is ruled out} $$
#
# Here $i$ runs from 1 to $T - n + 1$, so a text of fewer than $n$ tokens rules out nothing. For $n = 1$ both sides are
# empty, and every token of the text is ruled out.

# %%
for n in (None, 4, 2, 1):
    print(f"n = {n}: {write(looping, n)}")

# %% [markdown]
# The rule ends the loop, but the translation is still wrong. A small $n$ also forbids what is right: 33 of the 200 references
# contain a token twice, and 2 of them contain a pair of tokens twice. [Paulus and others](https://arxiv.org/abs/1705.04304)
# chose $n = 3$ for summaries, because their references, like ours, almost never contain the same three tokens twice.
#
# ## Two hours instead of ninety seconds
#
# The library's translator from English to German learns from Multi30K, which has 29,000 image captions. It has 2.1 million
# parameters and trains for about two hours on two cores. (`docs/translation.md` has the command.) After the first 1,000
# updates, *the person in the striped shirt is mountain climbing* is *die person in einem gestreiften hemd klettert auf dem
# berg*, which is right. In longer sentences it loses its way:
#
# - English: *three people sit at a picnic table outside of a building painted like a union jack*
# - greedy: *drei personen sitzen draußen an einem tisch, der ein gebäude sitzt, der ein gebäude sitzt*
# - beam 5: *drei personen sitzen an einem tisch vor einem gebäude*
#
# After 12,000 updates, greedy decoding writes *drei personen sitzen an einem picknicktisch vor einem gebäude, das wie ein union
# jack jack gemalten ist*. This model's BLEU is 39.8. Models of 24,000 updates reach a median of 40.80 with three seeds.
#
# ## What is known now
#
# A score of 8 or of 40 sums up right translations, fluent but wrong ones, and loops. Subwords let a model write any word, a beam
# or a rule ends a loop, and none of the three makes a wrong translation right. That the paper searches with a beam is part of its
# scores: on our 200 pairs, the beam alone is worth 2.3 points.
#
# ## Your Transformer

# %%
lab.run_yours("14b")
with lab.own_functions() as names:
    print(f"with {len(names)} functions of yours: {pairs[143][0]} -> {lab.write(model, subwords, pairs[143][0])}")

# %% [markdown]
# The parts are yours now, and what holds them together is not. `minitransformer learn start my_model` writes a blank file for
# the whole model. `minitransformer learn plug` compares its gradients with those of the paper in one file, trains it
# until it reverses every word, and draws the map, on which proven boxes are yellow and wrong ones red.
#
# **Read next:** `tutorials/korean_english/train.py`, which trained this model, and `SubwordVocabulary` in
# `minitransformer/data/vocabularies/subwords.py`, the byte-pair encoding of the library.
