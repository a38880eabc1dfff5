"""A vocabulary, from a number of parameters

Table 3 of the paper gives the number of parameters of each model, rounded to millions. Return the smallest and the largest
vocabulary that such a number allows. One table of embeddings serves the source, the target and the output, and every linear
layer but the output has a bias. A row may change d_k and leave d_v as it is.
"""

import numpy as np

from minitransformer_course.judge import also_right, invariant, mistake


# %% reference
def implied_vocabulary(printed, N, d_model, d_ff, H, d_k, d_v):
    """printed: (R,) millions of parameters, rounded; N ... d_v: (R,) integers. Returns low (R,) and high (R,), not rounded."""
    # your code: count all parameters but the table's, as in chapter 9; then divide what is left among the tokens
    attention = H * (2 * d_k + d_v) * (d_model + 1) + (H * d_v + 1) * d_model
    feed_forward = (d_model + 1) * d_ff + (d_ff + 1) * d_model
    layers = N * (3 * attention + 2 * feed_forward + 5 * 2 * d_model)
    low = (1e6 * (printed - 0.5) - layers) / d_model
    high = (1e6 * (printed + 0.5) - layers) / d_model
    return low, high
    # end of your code


# %% what it is called with
returns = "low high"
section = "Section 6.2: a number that does not fit"
stars, minutes = 2, 20
float64_only = True


def case(rng, R, N, A, B, C):
    width = 64 * np.array([A, B, C])
    sizes = rng.integers(1, 5, (3, R + 1))
    d_model, d_ff, H = width[rng.integers(3, size=R + 1)], 128 * sizes[0], 2 * sizes[1]
    return rng.integers(60, 90, R + 1), N + sizes[2], d_model, d_ff, H, 8 * sizes[1], 16 * sizes[2]


@invariant("high - low must be a million divided by the number of parameters of one token")
def a_million(answer, printed, N, d_model, d_ff, H, d_k, d_v):
    low, high = answer
    return (high - low) * d_model / 1e6 - 1


# %% hints
hints = (
    "If a model had one more token and nothing else, how many more parameters would it have?",
    "Keys and queries have H d_k columns, values H d_v. A decoder layer has two attentions and three LayerNorms, "
    "an encoder layer one and two.",
    "low = (1e6 * (printed - 0.5) - ___) / d_model",
)


# %% mistakes
def counted(N, d_model, d_ff, H, d_k, d_v, bias=1, attentions=3, norms=5, feed_forwards=2):
    attention = H * (2 * d_k + d_v) * (d_model + bias) + (H * d_v + bias) * d_model
    feed_forward = (d_model + bias) * d_ff + (d_ff + bias) * d_model
    return N * (attentions * attention + feed_forwards * feed_forward + norms * 2 * d_model)


def between(printed, layers, d_model, half=0.5):
    return (1e6 * (printed - half) - layers) / d_model, (1e6 * (printed + half) - layers) / d_model


@mistake("the values are given the width of the keys: they have H d_v columns, whatever d_k is")
def values_as_keys(printed, N, d_model, d_ff, H, d_k, d_v):
    return between(printed, counted(N, d_model, d_ff, H, d_k, d_k), d_model)


@mistake("the heads are taken to fill d_model: together they have the widths H d_k and H d_v, whatever d_model is")
def heads_fill_the_width(printed, N, d_model, d_ff, H, d_k, d_v):
    return between(printed, counted(N, d_model, d_ff, 1, d_model, d_model), d_model)


@mistake("the biases are missing: every linear layer has one more number for each output")
def no_biases(printed, N, d_model, d_ff, H, d_k, d_v):
    return between(printed, counted(N, d_model, d_ff, H, d_k, d_v, bias=0), d_model)


@mistake("the decoder's layers are counted with one attention: they have two, one to themselves and one to the encoder")
def no_cross_attention(printed, N, d_model, d_ff, H, d_k, d_v):
    return between(printed, counted(N, d_model, d_ff, H, d_k, d_v, attentions=2), d_model)


@mistake("the LayerNorms are missing: add gamma and beta for each of the five sub-layers")
def no_norms(printed, N, d_model, d_ff, H, d_k, d_v):
    return between(printed, counted(N, d_model, d_ff, H, d_k, d_v, norms=0), d_model)


@mistake("an encoder and a decoder layer are counted with four LayerNorms: there are five, three of them in the decoder "
         "layer")
def four_norms(printed, N, d_model, d_ff, H, d_k, d_v):
    return between(printed, counted(N, d_model, d_ff, H, d_k, d_v, norms=4), d_model)


@mistake("only the encoder's layers are counted: add those of the decoder")
def encoder_alone(printed, N, d_model, d_ff, H, d_k, d_v):
    return between(printed, counted(N, d_model, d_ff, H, d_k, d_v, attentions=1, norms=2, feed_forwards=1), d_model)


@mistake("the layers' parameters are not subtracted: the table has only what is left after them")
def nothing_subtracted(printed, N, d_model, d_ff, H, d_k, d_v):
    return between(printed, 0, d_model)


@mistake("source and target are counted with a table each: there is one for both")
def two_tables(printed, N, d_model, d_ff, H, d_k, d_v):
    return between(printed, counted(N, d_model, d_ff, H, d_k, d_v), 2 * d_model)


@mistake("the range is a million parameters to each side: a rounded number is off by at most half a million")
def too_wide(printed, N, d_model, d_ff, H, d_k, d_v):
    return between(printed, counted(N, d_model, d_ff, H, d_k, d_v), d_model, 1)


@mistake("low and high are swapped: return the smaller vocabulary first")
def swapped(printed, N, d_model, d_ff, H, d_k, d_v):
    return between(printed, counted(N, d_model, d_ff, H, d_k, d_v), d_model)[::-1]


@mistake("low and high are rounded to whole tokens: return the exact quotients")
def whole_tokens(printed, N, d_model, d_ff, H, d_k, d_v):
    low, high = between(printed, counted(N, d_model, d_ff, H, d_k, d_v), d_model)
    return np.ceil(low), np.floor(high)


# %% other right solutions
@also_right
def layer_by_layer(printed, N, d_model, d_ff, H, d_k, d_v):
    def linear(into, out):
        return into * out + out

    def attention():
        return 2 * linear(d_model, H * d_k) + linear(d_model, H * d_v) + linear(H * d_v, d_model)

    inner = linear(d_model, d_ff) + linear(d_ff, d_model)
    encoder = attention() + inner + 4 * d_model
    decoder = 2 * attention() + inner + 6 * d_model
    rest = printed * 10**6 - N * (encoder + decoder)
    return (rest - 500_000) / d_model, (rest + 500_000) / d_model


@also_right
def row_by_row(printed, N, d_model, d_ff, H, d_k, d_v):
    low, high = [], []
    for millions, n, d, inner, h, k, v in zip(printed, N, d_model, d_ff, H, d_k, d_v):
        one = 2 * (d * h * k + h * k) + d * h * v + h * v + h * v * d + d
        layers = n * (3 * one + 2 * (2 * d * inner + inner + d) + 10 * d)
        low.append(((millions - 0.5) * 1e6 - layers) / d)
        high.append(((millions + 0.5) * 1e6 - layers) / d)
    return np.array(low), np.array(high)
