"""Count the multiplications of five layers

A sequence of `n` vectors of width `d` goes through a layer, and every vector that comes out has width `d`, too. How many
multiplications of two numbers do the layer's matrix products take? Count exactly, for several sizes at once, and leave out
biases, the scale, softmax and activations. A convolution's kernel covers `k` positions. Beyond the ends of the sequence it
meets zeros, and the products with these zeros count as well. In restricted attention, each query meets `r` keys, all of which
exist.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def multiplications(n, d, k, r):
    """Each argument is (C,), whole numbers for C sizes. Returns five counts, each (C,):

    attention: self-attention with its four linear layers; recurrent: one linear layer for the input and one for the state;
    convolution: every output sees k positions; separable: one number for each of k positions in each dimension alone, then one
    linear layer; restricted: self-attention, but each query meets r keys instead of n.
    """
    # your code: begin with one linear layer from d to d numbers, at each of n positions
    linear = n * d * d
    attention = 4 * linear + 2 * n * n * d
    recurrent = 2 * linear
    convolution = k * linear
    separable = k * n * d + linear
    restricted = 4 * linear + 2 * n * r * d
    return attention, recurrent, convolution, separable, restricted
    # end of your code


# %% what it is called with
returns = "attention recurrent convolution separable restricted"
section = "The count"
stars, minutes = 2, 15


def case(rng, C):
    n, d, k, r = rng.integers(3, 60, (4, C + 2))
    return n, d, k, r


@edge("a single position, whose only key is its own")
def one(rng):
    return np.array([1]), np.array([5]), np.array([3]), np.array([1])


@invariant("without their linear layers, the two kinds of attention cost n to r, so the cross-multiplied difference must be 0")
def per_key(answer, n, d, k, r):
    attention, recurrent, *_others, restricted = answer
    return (attention - 2 * recurrent) * r - (restricted - 2 * recurrent) * n


# %% hints
hints = (
    "How many products are in one score, and how many scores are there? Which other step of attention takes as many products?",
    "Query, key, value and output take n d^2 each. Scores and weighted sums each take one product per pair and dimension.",
    "attention = 4 * linear + ___",
)


# %% mistakes
def replaced(place, count):
    """The right counts of all layers but one."""
    def made(n, d, k, r):
        linear = n * d * d
        right = [4 * linear + 2 * n * n * d, 2 * linear, k * linear, k * n * d + linear, 4 * linear + 2 * n * r * d]
        right[place] = count(n, d, k, r)
        return tuple(right)
    return made


@mistake("self-attention is counted without its linear layers, as in the paper's table: add the four, which cost most "
         "while n is below 2 d")
def without_projections(n, d, k, r):
    return replaced(0, lambda n, d, k, r: 2 * n * n * d)(n, d, k, r)


@mistake("self-attention is counted with three linear layers: the one for the output is missing")
def three_projections(n, d, k, r):
    return replaced(0, lambda n, d, k, r: 3 * n * d * d + 2 * n * n * d)(n, d, k, r)


@mistake("the weighted sums of the values are missing: they take as many products as the scores")
def scores_alone(n, d, k, r):
    return replaced(0, lambda n, d, k, r: 4 * n * d * d + n * n * d)(n, d, k, r)


@mistake("each score is counted as one product: a dot product of d numbers takes d of them")
def one_product_per_score(n, d, k, r):
    return replaced(0, lambda n, d, k, r: 4 * n * d * d + 2 * n * n)(n, d, k, r)


@mistake("the recurrent layer is counted with one linear layer: the input has one and the state has another")
def without_the_state(n, d, k, r):
    return replaced(1, lambda n, d, k, r: n * d * d)(n, d, k, r)


@mistake("this is an LSTM, with four linear layers for the input and four for the state: the plain layer has one each")
def lstm(n, d, k, r):
    return replaced(1, lambda n, d, k, r: 8 * n * d * d)(n, d, k, r)


@mistake("the recurrent layer is counted for one position: each of n positions takes as many multiplications")
def one_position(n, d, k, r):
    return replaced(1, lambda n, d, k, r: 2 * d * d)(n, d, k, r)


@mistake("the convolution treats each dimension alone: in a full one, every output meets all d numbers at each of k "
         "positions")
def depthwise(n, d, k, r):
    return replaced(2, lambda n, d, k, r: k * n * d)(n, d, k, r)


@mistake("the convolution's products with the zeros beyond the ends are left out: count them like all others")
def inside_alone(n, d, k, r):
    return replaced(2, lambda n, d, k, r: (k * n - k // 2 * (k // 2 + 1)) * d * d)(n, d, k, r)


@mistake("the counts of the separable convolution's two halves are multiplied: one half follows the other, so add them")
def halves_multiplied(n, d, k, r):
    return replaced(3, lambda n, d, k, r: k * n * d * d * d)(n, d, k, r)


@mistake("the separable convolution's linear layer is missing: add it, because it mixes the dimensions")
def without_pointwise(n, d, k, r):
    return replaced(3, lambda n, d, k, r: k * n * d)(n, d, k, r)


@mistake("the separable convolution's first half is counted as a full one: it has one number per position and dimension, "
         "not d")
def not_separated(n, d, k, r):
    return replaced(3, lambda n, d, k, r: (k + 1) * n * d * d)(n, d, k, r)


@mistake("the restricted layer is counted with r^2 pairs: each of n queries meets r keys, so there are n r")
def r_by_r(n, d, k, r):
    return replaced(4, lambda n, d, k, r: 4 * n * d * d + 2 * r * r * d)(n, d, k, r)


@mistake("the restricted layer is counted without its linear layers: it has the same four as self-attention")
def restricted_without_projections(n, d, k, r):
    return replaced(4, lambda n, d, k, r: 2 * n * r * d)(n, d, k, r)


@mistake("the restricted layer is counted with r keys on each side: r is the number of all keys that a query meets")
def on_each_side(n, d, k, r):
    return replaced(4, lambda n, d, k, r: 4 * n * d * d + 2 * n * (2 * r + 1) * d)(n, d, k, r)


@mistake("both kinds of attention are counted with three linear layers: query, key, value and output make four")
def three_in_both(n, d, k, r):
    linear = n * d * d
    return 3 * linear + 2 * n * n * d, 2 * linear, k * linear, k * n * d + linear, 3 * linear + 2 * n * r * d


@mistake("both kinds of attention are counted without their linear layers, as in the paper's table: add four to each")
def projections_in_neither(n, d, k, r):
    linear = n * d * d
    return 2 * n * n * d, 2 * linear, k * linear, k * n * d + linear, 2 * n * r * d


@mistake("both kinds of attention lack the weighted sums of the values: they take as many products as the scores")
def scores_alone_in_both(n, d, k, r):
    linear = n * d * d
    return 4 * linear + n * n * d, 2 * linear, k * linear, k * n * d + linear, 4 * linear + n * r * d


@mistake("these are the terms of Table 1, which drops constant factors: count every linear layer, the scores and the weighted sums")
def terms_of_the_table(n, d, k, r):
    return n * n * d, n * d * d, k * n * d * d, k * n * d + n * d * d, r * n * d


# %% other right solutions
@also_right
def per_position(n, d, k, r):
    projections = 4 * d ** 2
    return (n * (projections + 2 * n * d), n * 2 * d ** 2, n * k * d ** 2, n * d * (k + d), n * (projections + 2 * r * d))


@also_right
def from_shapes(n, d, k, r):
    def product(rows, inner, columns):    # (rows, inner) times (inner, columns)
        return rows * inner * columns
    projections = 4 * product(n, d, d)
    return (projections + product(n, d, n) + product(n, n, d), product(n, d, d) + product(n, d, d), product(n, k * d, d),
            d * product(n, k, 1) + product(n, d, d), projections + n * (product(1, d, r) + product(1, r, d)))
