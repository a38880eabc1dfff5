"""Count a Transformer

How many parameters does the paper's Transformer have? Count them for several configurations at once. Every linear layer has a bias,
every LayerNorm has gamma and beta, and one matrix embeds the source, embeds the target and makes the logits, without a bias.
The positions are sinusoids. Each sub-layer is followed by its norm, and there is no further norm at the end of a stack.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def count_parameters(V, d_model, d_ff, N):
    """Each (C,), whole numbers for C configurations: the size of the vocabulary, the two widths, the layers of each stack.

    Returns embedding, encoder and decoder, each (C,): the parameters of all layers together.
    """
    # your code: an attention, a feed-forward network, a norm; then how many of each there are
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    embedding = V * d_model
    encoder = N * (attention + feed_forward + 2 * norm)
    decoder = N * (2 * attention + feed_forward + 3 * norm)
    return embedding, encoder, decoder
    # end of your code


# %% what it is called with
returns = "embedding encoder decoder"
section = "Where are the parameters?"
stars, minutes = 2, 15


def case(rng, C):
    V, d_model, d_ff, N = rng.integers(5, 400, (4, C + 2))
    return V * 7, d_model, d_ff, N


@edge("one configuration, one layer")
def one(rng):
    return np.array([50]), np.array([6]), np.array([10]), np.array([1])


@invariant("a decoder layer is an encoder layer plus one attention and one norm")
def one_more(answer, V, d_model, d_ff, N):
    _, encoder, decoder = answer
    return decoder - encoder - N * (4 * d_model ** 2 + 6 * d_model)


# %% hints
hints = (
    "Which sub-layer does a decoder layer add to those of an encoder layer? Does the number of heads change any count?",
    "Attention has four linear layers, a feed-forward network has two. Count each with its bias. Each sub-layer has its own norm.",
    "decoder = N * (___ * attention + feed_forward + 3 * norm)",
)


# %% mistakes
def made(V, d, f, N, attention=None, feed_forward=None, norm=None, tables=1, attentions=2, norms=(2, 3)):
    attention = 4 * d * d + 4 * d if attention is None else attention
    feed_forward = 2 * d * f + f + d if feed_forward is None else feed_forward
    norm = 2 * d if norm is None else norm
    return (tables * V * d, N * (attention + feed_forward + norms[0] * norm),
            N * (attentions * attention + feed_forward + norms[1] * norm))


@mistake("the biases of the attention are missing: each of its four linear layers has one, of d_model numbers")
def attention_without_biases(V, d, f, N):
    return made(V, d, f, N, attention=4 * d * d)


@mistake("the biases of the feed-forward network are missing: one of d_ff numbers, one of d_model")
def feed_forward_without_biases(V, d, f, N):
    return made(V, d, f, N, feed_forward=2 * d * f)


@mistake("no bias is counted: each linear layer has one")
def without_biases(V, d, f, N):
    return made(V, d, f, N, attention=4 * d * d, feed_forward=2 * d * f)


@mistake("both biases of the feed-forward network are counted as d_ff numbers: the second one has d_model")
def wide_biases(V, d, f, N):
    return made(V, d, f, N, feed_forward=2 * d * f + 2 * f)


@mistake("the norms are missing: every sub-layer has a gamma and a beta of d_model numbers each")
def without_norms(V, d, f, N):
    return made(V, d, f, N, norm=0)


@mistake("a norm is counted as one vector: it has two, gamma and beta")
def gamma_only(V, d, f, N):
    return made(V, d, f, N, norm=d)


@mistake("the cross-attention is missing: a decoder layer has two attentions and three norms")
def without_cross(V, d, f, N):
    return made(V, d, f, N, attentions=1, norms=(2, 2))


@mistake("the cross-attention has no norm: a decoder layer has three")
def without_its_norm(V, d, f, N):
    return made(V, d, f, N, norms=(2, 2))


@mistake("a decoder layer has 4 d_model too few: the biases of its second attention are missing, or two of its three norms")
def cross_without_biases(V, d, f, N):
    return made(V, d, f, N, norms=(2, 1))


@mistake("the norm after the feed-forward network is missing: each sub-layer has its own")
def norms_of_attention_alone(V, d, f, N):
    return made(V, d, f, N, norms=(1, 2))


@mistake("each layer is counted with a single norm: each sub-layer has its own")
def one_norm(V, d, f, N):
    return made(V, d, f, N, norms=(1, 1))


@mistake("a decoder layer is counted as two encoder layers: it has only one feed-forward network")
def twice_the_encoder(V, d, f, N):
    embedding, encoder, _ = made(V, d, f, N)
    return embedding, encoder, 2 * encoder


@mistake("the output projection of the attention is missing: query, key, value and output are four matrices")
def three_matrices(V, d, f, N):
    return made(V, d, f, N, attention=3 * d * d + 3 * d)


@mistake("the embedding is counted three times: source, target and output share one matrix")
def three_tables(V, d, f, N):
    return made(V, d, f, N, tables=3)


@mistake("the embedding is counted twice: source, target and output share one matrix")
def two_tables(V, d, f, N):
    return made(V, d, f, N, tables=2)


@mistake("the logits are counted with a bias of V numbers: the shared matrix has none")
def output_bias(V, d, f, N):
    embedding, encoder, decoder = made(V, d, f, N)
    return embedding + V, encoder, decoder


@mistake("the encoder and the decoder are counted with one layer: each has N")
def one_layer(V, d, f, N):
    return made(V, d, f, 1)


@mistake("the feed-forward network is counted with one matrix: it has two, from d_model to d_ff and back")
def one_way(V, d, f, N):
    return made(V, d, f, N, feed_forward=d * f + f)


# %% other right solutions
@also_right
def by_linear_layers(vocabulary, d, inner, layers):
    def linear(rows, columns):
        return (rows + 1) * columns
    sublayer, network, norm = 4 * linear(d, d), linear(d, inner) + linear(inner, d), d + d
    return vocabulary * d, layers * (sublayer + network + 2 * norm), layers * (2 * sublayer + network + 3 * norm)


@also_right
def with_loops(V, d_model, d_ff, N):
    rows = []
    for v, d, f, n in zip(V.tolist(), d_model.tolist(), d_ff.tolist(), N.tolist()):
        shapes = [(d, d), (d,)] * 4 + [(d,)] * 2
        rest = [(d, f), (f,), (f, d), (d,), (d,), (d,)]
        attention, others = (sum(int(np.prod(shape)) for shape in one) for one in (shapes, rest))
        rows.append((v * d, n * (attention + others), n * (2 * attention + others)))
    return tuple(np.array(column) for column in zip(*rows))
