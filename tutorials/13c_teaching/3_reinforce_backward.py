"""The gradient of a reward

A model drew a few texts, one token after another, and each text was given a number: how much better
it was than usual. Return the gradient that makes good texts likelier and bad ones less likely.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def reinforce_backward(logits, drawn, advantage):
    """logits: (B, T, V), from which the tokens drawn (B, T) were drawn; advantage: (B,).
    Returns dlogits (B, T, V), the gradient of -1/B sum_b advantage_b log p(text b).
    """
    # your code: log p(text) is a sum over its tokens; what is the gradient of one log-softmax?
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    one_hot = drawn[..., None] == np.arange(logits.shape[-1])
    return (p - one_hot) * advantage[:, None, None] / len(logits)
    # end of your code


# %% what it is called with
returns = "dlogits"
section = "Around the choice"
stars, minutes = 2, 20


def case(rng, B, T, V):
    return made(rng, B, T, V)


@edge("logits of 1,000 in some rows and of -1,000 in others, and large rewards")
def large(rng, B, T, V):
    logits, drawn, advantage = made(rng, B, T, V)
    return 1000 * (-1.0) ** np.arange(T)[:, None] + logits, drawn, 9 * advantage


@edge("all texts are equally good: there is nothing to learn")
def alike(rng, B, T, V):
    logits, drawn, advantage = made(rng, B, T, V)
    return logits, drawn, 0 * advantage


def made(rng, B, T, V):
    logits = 2 * rng.standard_normal((B, T, V))
    return logits, rng.integers(V, size=(B, T)), 1.5 * rng.standard_normal(B)


def loss(logits, drawn, advantage):
    def of(logits):
        shifted = logits - logits.real.max(axis=-1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        of_texts = np.take_along_axis(log_p, drawn[..., None], axis=-1).sum(axis=(1, 2))
        return -(advantage * of_texts).sum() / len(logits)
    return of, [logits]


def terms(logits, drawn, advantage):
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weight = advantage[:, None, None] / len(logits)
    one_hot = drawn[..., None] == np.arange(logits.shape[-1])
    return {"p advantage / B": e / e.sum(axis=-1, keepdims=True) * weight,
            "- one_hot advantage / B": -1.0 * one_hot * weight}


@invariant("each row of dlogits must sum to 0, because a constant added to a row changes no p")
def shifted(dlogits, logits, drawn, advantage):
    return dlogits.sum(axis=-1)


# %% hints
hints = (
    "If the advantage were 1 for every text, this would be a loss that you know, with the drawn "
    "tokens as targets. Which one? And what does the advantage change?",
    "The gradient of -log p(token) with respect to a row of logits is p minus a 1 at the token. Each "
    "text multiplies all of its rows by its advantage, and the mean divides by B.",
    "return (p - ___) * advantage[:, None, None] / len(logits)",
)


# %% mistakes
def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def minus_one_hot(p, drawn):
    return p - (drawn[..., None] == np.arange(p.shape[-1]))


def weight(advantage):
    return advantage[:, None, None] / len(advantage)


@mistake("the sign is wrong: this makes good texts less likely, because the optimiser goes downhill")
def ascent(logits, drawn, advantage):
    return -minus_one_hot(softmax(logits), drawn) * weight(advantage)


@mistake("the advantage is missing: this imitates every text, the bad ones as well")
def imitation(logits, drawn, advantage):
    return minus_one_hot(softmax(logits), drawn) / len(logits)


@mistake("the drawn tokens are missing: p alone is left")
def p_alone(logits, drawn, advantage):
    return softmax(logits) * weight(advantage)


@mistake("p is missing: only the drawn tokens are pushed, and no others are pulled down")
def one_hot_alone(logits, drawn, advantage):
    return (minus_one_hot(0 * logits, drawn) * weight(advantage)).astype(logits.dtype)


@mistake("this is a sum over the texts: divide by B")
def summed(logits, drawn, advantage):
    return minus_one_hot(softmax(logits), drawn) * advantage[:, None, None]


@mistake("divided by the number of tokens: the mean is over texts, and a text's tokens add up")
def over_tokens(logits, drawn, advantage):
    return minus_one_hot(softmax(logits), drawn) * weight(advantage) / logits.shape[1]


@mistake("the likeliest tokens are taken, not the drawn ones")
def likeliest(logits, drawn, advantage):
    return minus_one_hot(softmax(logits), logits.argmax(axis=-1)) * weight(advantage)


@mistake("the softmax runs over the positions: it has to run over the vocabulary")
def over_positions(logits, drawn, advantage):
    return minus_one_hot(softmax(logits, axis=1), drawn) * weight(advantage)


@mistake("only the sign of the advantage counts here: its size has to, as well")
def sign_alone(logits, drawn, advantage):
    return minus_one_hot(softmax(logits), drawn) * weight(np.sign(advantage))


@mistake("bad texts are ignored: a negative advantage makes a text less likely")
def good_alone(logits, drawn, advantage):
    return minus_one_hot(softmax(logits), drawn) * weight(np.maximum(advantage, 0))


@mistake("the advantage is centred once more: it says already how much better than usual a text was")
def centred(logits, drawn, advantage):
    return minus_one_hot(softmax(logits), drawn) * weight(advantage - advantage.mean())


@mistake("only the last token of a text is made likelier: every token was part of it")
def last_token(logits, drawn, advantage):
    made = minus_one_hot(softmax(logits), drawn) * weight(advantage)
    made[:, :-1] = 0
    return made


# %% other right solutions
@also_right
def with_loops(scores, tokens, how_good):
    B, T, V = scores.shape
    d = np.zeros_like(scores)
    for b in range(B):
        for t in range(T):
            e = np.exp(scores[b, t] - scores[b, t].max())
            d[b, t] = e / e.sum()
            d[b, t, tokens[b, t]] -= 1
            d[b, t] *= how_good[b] / B
    return d


@also_right
def in_place(logits, drawn, advantage):
    d = np.exp(logits - np.max(logits, axis=2, keepdims=True))
    d /= np.sum(d, axis=2, keepdims=True)
    B, T, _V = d.shape
    d[np.arange(B)[:, None], np.arange(T), drawn] -= 1
    return np.einsum("btv,b->btv", d, advantage / B)
