"""BLEU of a corpus

BLEU is a brevity penalty times the geometric mean of N precisions. A precision is the share of the corpus's n-grams that match. The
penalty is 1 if the hypotheses together are at least as long as their references, and exp(1 - r / c) if their length c is below r.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def corpus_bleu(matches, totals, lengths, references):
    """matches, totals: (S, N), counts of each of S sentences for n = 1, ..., N; lengths, references: (S,), in tokens.

    Returns bleu (), from 0 to 1.
    """
    # your code: what does each precision sum over? Which mean combines the N of them? When is the penalty below 1?
    precisions = matches.sum(axis=0) / totals.sum(axis=0)
    ratio = references.sum() / lengths.sum()
    penalty = np.exp(np.minimum(0, 1 - ratio))
    return penalty * precisions.prod() ** (1 / len(precisions))
    # end of your code


# %% what it is called with
returns = "bleu"
float64_only = True
section = "From counts to BLEU"
stars, minutes = 2, 15


def drawn(rng, S, N, longer):
    lengths = rng.integers(N + 2, N + 15, S)
    totals = lengths[:, None] - np.arange(N)
    return rng.integers(1, totals + 1), totals, lengths, lengths - longer


def case(rng, S, N):
    return drawn(rng, S + 2, N, -rng.integers(1, 4, S + 2))


@edge("the hypotheses are longer than the references")
def long(rng, S, N):
    return drawn(rng, S + 1, N, 1)


@edge("longer together, but not each one")
def mixed(rng, S, N):
    return drawn(rng, S + 1, N, np.append(np.full(S, 2), -1))


@edge("a sentence without any match, and one without an n-gram of N tokens")
def empty(rng, S):
    matches, totals, lengths, references = drawn(rng, S + 2, 4, -1)
    matches[0] = 0
    lengths[1], totals[1], matches[1] = 3, (3, 2, 1, 0), (2, 1, 0, 0)
    return matches, totals, lengths, references


@edge("no n-gram of N tokens is right")
def nothing(rng, S):
    matches, *others = drawn(rng, S, 4, -1)
    matches[:, -1] = 0
    return matches, *others


@invariant("BLEU is at most the largest precision, and at least 0")
def bounded(answer, matches, totals, lengths, references):
    return answer - np.clip(answer, 0, (matches.sum(axis=0) / totals.sum(axis=0)).max())


# %% hints
hints = (
    "One sentence matches 1 of 1 n-grams, another 0 of 99. Is the corpus's precision 0.5 or 0.01? Can BLEU exceed 1?",
    "Add matches and totals over the sentences, then divide. Take the N-th root of the product. The penalty is at most exp(0).",
    "penalty = np.exp(np.minimum(0, ___))",
)


# %% mistakes
def precision(matches, totals):
    return matches.sum(axis=0) / totals.sum(axis=0)


def brevity(lengths, references):
    return np.exp(min(0, 1 - references.sum() / lengths.sum()))


def root(p):
    return np.prod(p) ** (1 / len(p))


def with_penalty(matches, totals, penalty):
    return penalty * root(precision(matches, totals))


@mistake("it is the mean of the sentences' BLEU: add up the counts of the corpus, and take one BLEU")
def mean_of_sentences(matches, totals, lengths, references):
    return np.mean([root(m / np.maximum(t, 1)) * np.exp(min(0, 1 - r / c))
                    for m, t, c, r in zip(matches, totals, lengths, references)])


@mistake("the precisions are means over the sentences, in which an n-gram of a short sentence counts more")
def mean_precisions(matches, totals, lengths, references):
    return brevity(lengths, references) * root((matches / np.maximum(totals, 1)).mean(axis=0))


@mistake("the brevity penalty is missing: without it, a hypothesis of a single word can be perfect")
def no_penalty(matches, totals, lengths, references):
    return with_penalty(matches, totals, 1.0)


@mistake("the penalty is upside down: it punishes long texts instead of short ones")
def upside_down(matches, totals, lengths, references):
    return with_penalty(matches, totals, brevity(references, lengths))


@mistake("the exponent may be positive: a long hypothesis is rewarded, and BLEU may exceed 1")
def rewarded(matches, totals, lengths, references):
    return with_penalty(matches, totals, np.exp(1 - references.sum() / lengths.sum()))


@mistake("the exponent has the wrong sign: short texts are rewarded")
def sign(matches, totals, lengths, references):
    return with_penalty(matches, totals, np.exp(max(0, references.sum() / lengths.sum() - 1)))


@mistake("the penalty is c / r: it has to be exp(1 - r / c)")
def ratio(matches, totals, lengths, references):
    return with_penalty(matches, totals, min(1, lengths.sum() / references.sum()))


@mistake("the penalty's exponent is 1 - c / r: it has to be 1 - r / c")
def inverted_ratio(matches, totals, lengths, references):
    return with_penalty(matches, totals, np.exp(-max(0, 1 - lengths.sum() / references.sum())))


@mistake("the exponent is c - r, the difference of the lengths: it has to be 1 - r / c")
def difference(matches, totals, lengths, references):
    return with_penalty(matches, totals, np.exp(min(0.0, lengths.sum() - references.sum())))


@mistake("each sentence has a penalty, and their mean is taken: the lengths of the corpus decide")
def penalties(matches, totals, lengths, references):
    return with_penalty(matches, totals, np.exp(np.minimum(0, 1 - references / lengths)).mean())


@mistake("the arithmetic mean of the precisions is taken: BLEU takes the N-th root of their product")
def arithmetic(matches, totals, lengths, references):
    return brevity(lengths, references) * precision(matches, totals).mean()


@mistake("the root is missing: this is the product of the precisions")
def no_root(matches, totals, lengths, references):
    return brevity(lengths, references) * precision(matches, totals).prod()


@mistake("the root is taken of the penalty as well: it belongs to the precisions alone")
def root_of_all(matches, totals, lengths, references):
    return brevity(lengths, references) ** (1 / matches.shape[1]) * root(precision(matches, totals))


@mistake("the degree of the root is the number of sentences: it has to be the number of precisions")
def root_of_sentences(matches, totals, lengths, references):
    return brevity(lengths, references) * precision(matches, totals).prod() ** (1 / len(matches))


@mistake("only the longest n-grams count: take the mean over all N precisions")
def longest(matches, totals, lengths, references):
    return brevity(lengths, references) * precision(matches, totals)[-1]


@mistake("only single tokens count: take the mean over all N precisions")
def single(matches, totals, lengths, references):
    return brevity(lengths, references) * precision(matches, totals)[0]


@mistake("all n-grams are lumped together: each n has its own precision")
def together(matches, totals, lengths, references):
    return brevity(lengths, references) * matches.sum() / totals.sum()


@mistake("the matches of all n are added up: each n has its own matches")
def all_matches(matches, totals, lengths, references):
    return brevity(lengths, references) * root(matches.sum() / totals.sum(axis=0))


@mistake("this is a percentage: return a number from 0 to 1")
def percentage(matches, totals, lengths, references):
    return 100 * with_penalty(matches, totals, brevity(lengths, references))


# %% other right solutions
@also_right
def with_logarithms(right, everything, c, r):
    logs = np.log(right.sum(axis=0)) - np.log(everything.sum(axis=0))
    return np.exp(logs.mean() + min(0, 1 - r.sum() / c.sum()))


@also_right
def with_loops(matches, totals, lengths, references):
    product, N = 1, matches.shape[1]
    for n in range(N):
        product *= sum(row[n] for row in matches) / sum(row[n] for row in totals)
    c, r = sum(lengths), sum(references)
    return product ** (1 / N) * (1 if c >= r else np.exp(1 - r / c))
