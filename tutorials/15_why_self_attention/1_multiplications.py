"""Count the multiplications of five layers

One sequence of `n` vectors of width `d` goes through a layer, and every vector that comes out has width `d`, too. How many
multiplications of two numbers are in the matrix products? Count exactly, for several sizes at once. Biases, the scale, softmax and
activations do not count. A convolution's kernel has `k` positions, and at the ends of the sequence it meets zeros, with which it
multiplies all the same. A restricted query meets `r` keys, all of which exist.
"""

import numpy as np

from minitransformer.learn import also_right, edge, invariant, mistake


# %% reference
def multiplications(n, d, k, r):
    """Each (C,), whole numbers for C sizes. Returns five counts, each (C,):

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
section = "Three positions by hand"
stars, minutes = 2, 15


def case(rng, C):
    n, d, k, r = rng.integers(3, 60, (4, C + 2))
    return n, d, k, r


@edge("a single position, whose only key is its own")
def one(rng):
    return np.array([1]), np.array([5]), np.array([3]), np.array([1])


@invariant("apart from four linear layers, the two kinds of attention cost n to r: cross-multiplied, the difference must be 0")
def per_key(answer, n, d, k, r):
    attention, recurrent, *_others, restricted = answer
    return (attention - 2 * recurrent) * r - (restricted - 2 * recurrent) * n


# %% hints
hints = (
    "How many products are in one score, and how many scores are there? Which other step of attention takes as many?",
    "Query, key, value and output are linear layers, n d^2 each. Scores and weighted sums: one product per pair and dimension.",
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


@mistake("self-attention is counted without its linear layers, as in the paper's table: query, key, value and output cost most "
         "while n is below 2 d", hint=2)
def without_projections(n, d, k, r):
    return replaced(0, lambda n, d, k, r: 2 * n * n * d)(n, d, k, r)


@mistake("self-attention has four linear layers: the one for the output is missing", hint=2)
def three_projections(n, d, k, r):
    return replaced(0, lambda n, d, k, r: 3 * n * d * d + 2 * n * n * d)(n, d, k, r)


@mistake("the weighted sums of the values are missing: they take as many products as the scores", hint=1)
def scores_alone(n, d, k, r):
    return replaced(0, lambda n, d, k, r: 4 * n * d * d + n * n * d)(n, d, k, r)


@mistake("each score is counted as one product: a dot product of d numbers has d of them", hint=1)
def one_product_per_score(n, d, k, r):
    return replaced(0, lambda n, d, k, r: 4 * n * d * d + 2 * n * n)(n, d, k, r)


@mistake("the recurrent layer is counted with one linear layer: the state has one, too", hint=2)
def without_the_state(n, d, k, r):
    return replaced(1, lambda n, d, k, r: n * d * d)(n, d, k, r)


@mistake("this is an LSTM, with four linear layers for the input and four for the state: the plain layer has one each", hint=2)
def lstm(n, d, k, r):
    return replaced(1, lambda n, d, k, r: 8 * n * d * d)(n, d, k, r)


@mistake("the recurrent layer is counted for one position: each of n positions is multiplied", hint=2)
def one_position(n, d, k, r):
    return replaced(1, lambda n, d, k, r: 2 * d * d)(n, d, k, r)


@mistake("each dimension is convolved alone: in a full one, every output meets all d numbers at each of k positions", hint=2)
def depthwise(n, d, k, r):
    return replaced(2, lambda n, d, k, r: k * n * d)(n, d, k, r)


@mistake("the convolution's products with the zeros beyond the ends are left out: they are multiplied like all others", hint=2)
def inside_alone(n, d, k, r):
    return replaced(2, lambda n, d, k, r: (k * n - k // 2 * (k // 2 + 1)) * d * d)(n, d, k, r)


@mistake("the two halves of the separable convolution are multiplied: one follows the other, so their counts add", hint=2)
def halves_multiplied(n, d, k, r):
    return replaced(3, lambda n, d, k, r: k * n * d * d * d)(n, d, k, r)


@mistake("the separable convolution's linear layer is missing: it mixes the dimensions", hint=2)
def without_pointwise(n, d, k, r):
    return replaced(3, lambda n, d, k, r: k * n * d)(n, d, k, r)


@mistake("the first half of the separable convolution is counted as a full one: it has one number per dimension, not d", hint=2)
def not_separated(n, d, k, r):
    return replaced(3, lambda n, d, k, r: (k + 1) * n * d * d)(n, d, k, r)


@mistake("the restricted layer's scores have r^2 pairs: each of n queries meets r keys", hint=1)
def r_by_r(n, d, k, r):
    return replaced(4, lambda n, d, k, r: 4 * n * d * d + 2 * r * r * d)(n, d, k, r)


@mistake("the restricted layer is counted without its linear layers: it has the four of self-attention", hint=2)
def restricted_without_projections(n, d, k, r):
    return replaced(4, lambda n, d, k, r: 2 * n * r * d)(n, d, k, r)


@mistake("the restricted layer's queries meet r keys on each side: here r counts all keys that a query meets", hint=1)
def on_each_side(n, d, k, r):
    return replaced(4, lambda n, d, k, r: 4 * n * d * d + 2 * n * (2 * r + 1) * d)(n, d, k, r)


@mistake("both kinds of attention are counted with three linear layers: query, key, value and output are four", hint=2)
def three_in_both(n, d, k, r):
    linear = n * d * d
    return 3 * linear + 2 * n * n * d, 2 * linear, k * linear, k * n * d + linear, 3 * linear + 2 * n * r * d


@mistake("both kinds of attention are counted without their four linear layers, as in the paper's table", hint=2)
def projections_in_neither(n, d, k, r):
    linear = n * d * d
    return 2 * n * n * d, 2 * linear, k * linear, k * n * d + linear, 2 * n * r * d


@mistake("both kinds of attention lack the weighted sums of the values: they take as many products as the scores", hint=1)
def scores_alone_in_both(n, d, k, r):
    linear = n * d * d
    return 4 * linear + n * n * d, 2 * linear, k * linear, k * n * d + linear, 4 * linear + n * r * d


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
