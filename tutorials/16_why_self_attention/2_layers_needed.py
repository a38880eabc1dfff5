"""How many layers until the ends meet

In a stack of causal convolutions with a kernel of `k` positions, how many layers does it take before the last of `n` positions
depends on the first? Count the layers of two stacks. In a *plain* stack, every layer sees `k` neighbouring positions. In a
*dilated* stack, the positions that layers 1, 2, 3, ... see are 1, k, k^2, ... apart.
"""

import math

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def layers_needed(n, k):
    """n, k: whole numbers, n at least 1 and k at least 2. Returns plain and dilated, whole numbers; for n = 1 they are 0."""
    # your code: how many positions do L layers see? A loop is fine, too
    steps = n - 1
    plain = -(-steps // (k - 1))
    dilated = sum(k ** layers < n for layers in range(n))
    return plain, dilated
    # end of your code


# %% what it is called with
returns = "plain dilated"
section = "Layers are steps, too"
stars, minutes = 2, 20


def case(rng, N):
    return int(rng.integers(40, 2000)), int(rng.integers(3, 8))


@edge("n = 3^5, whose logarithm to base 3 comes out as not quite 5 on a computer")
def power_of_three(rng):
    return 243, 3


@edge("n = 5^3")
def power_of_five(rng):
    return 125, 5


@edge("one position more than a power")
def one_more(rng):
    return 2188, 3


@edge("one position, which sees itself without any layer")
def already(rng):
    return 1, 4


@edge("k = 2, where each dilated layer sees twice as far as the one before")
def doubled(rng):
    return 3000, 2


@edge("a long sequence: 3,000 positions")
def longer(rng):
    return 3000, 3


@edge("a kernel of 40 positions, and one position too many for 25 layers")
def wide(rng):
    return 977, 40


@invariant("n - 1 layers that each look one position back are enough, so plain is at most n - 1")
def at_most(answer, n, k):
    return max(0, float(answer[0]) - (n - 1))


@invariant("k^(L - 1) has to be below n, or one dilated layer fewer would do")
def no_fewer(answer, n, k):
    layers = min(float(answer[1]), 40)
    return max(0, min(k ** (layers - 1), 2 * n) - n + 1) * (layers > 0)


# %% hints
hints = (
    "With k = 3, one layer sees 3 positions. How many do two plain layers see, and how many if the second one is dilated?",
    "A plain layer adds k - 1 to the positions seen, and a dilated layer multiplies their number by k. Begin with 1 and round up.",
    "plain = -(-steps // (___))",
)


# %% mistakes
def plain_of(n, k):
    return (n + k - 3) // (k - 1)


def dilated_of(n, k):
    layers = 0
    while k ** layers < n:
        layers += 1
    return layers


@mistake("plain is n / k, as in the paper's O(n / k): a layer adds only k - 1 positions, because one of its k was already "
         "seen")
def n_over_k(n, k):
    return -(-n // k), dilated_of(n, k)


@mistake("plain is rounded down: a fraction of a layer takes a whole one, so round up")
def rounded_down(n, k):
    return (n - 1) // (k - 1), dilated_of(n, k)


@mistake("plain is n - 1, one position at a time as in a recurrent layer: a window of k positions adds k - 1")
def one_at_a_time(n, k):
    return n - 1, dilated_of(n, k)


@mistake("plain bridges n steps: n - 1 are enough, because the last position sees itself with no layer at all")
def all_positions(n, k):
    return -(-n // (k - 1)), dilated_of(n, k)


@mistake("plain is counted for centred windows, which see half as far back: these are causal and end at their own position")
def centred(n, k):
    return -(-2 * (n - 1) // (k - 1)), dilated_of(n, k)


@mistake("dilated rounds up a logarithm of floats: log(125) / log(5) is a little above 3, so multiply whole numbers "
         "instead")
def logarithm_of_floats(n, k):
    return plain_of(n, k), math.ceil(math.log(n) / math.log(k))


@mistake("dilated is rounded down: k^L has to reach n, so round up")
def logarithm_down(n, k):
    layers = dilated_of(n, k)
    return plain_of(n, k), layers if k ** layers == n else max(layers - 1, 0)


@mistake("the distances double from layer to layer: here they grow by a factor of k")
def doubles(n, k):
    layers, seen = 0, 1
    while seen < n:
        seen += (k - 1) * 2 ** layers
        layers += 1
    return plain_of(n, k), layers


@mistake("the distances grow as 1, 2, 3, ...: they have to grow as 1, k, k^2, ...")
def distances_add(n, k):
    layers, seen = 0, 1
    while seen < n:
        layers += 1
        seen += (k - 1) * layers
    return plain_of(n, k), layers


@mistake("dilated is the number of positions seen, which grows exponentially: the number of layers grows like the "
         "logarithm")
def positions_seen(n, k):
    return plain_of(n, k), k ** dilated_of(n, k)


@mistake("dilated is one layer too many: stop as soon as k^L reaches n")
def one_too_many(n, k):
    return plain_of(n, k), dilated_of(n, k) + 1


@mistake("dilated has as many layers as plain: each dilated layer multiplies the number of positions seen by k, so fewer "
         "do")
def same_for_both(n, k):
    return plain_of(n, k), plain_of(n, k)


@mistake("the count of plain begins at 1: with no layer at all, a position already sees itself")
def one_plain_too_many(n, k):
    return plain_of(n, k) + 1, dilated_of(n, k)


@mistake("plain is n / k, and both are rounded down: a layer adds k - 1 positions, and a part of a layer is a layer")
def both_rounded_down(n, k):
    return n // k, int(math.log(n) / math.log(k))


@mistake("the counts begin with one layer: begin with none, where the position sees itself")
def begun_with_a_layer(n, k):
    return max(plain_of(n, k), 1), max(dilated_of(n, k), 1)


# %% other right solutions
@also_right
def from_the_other_end(n, k):
    def dilated(n):
        return 0 if n == 1 else 1 + dilated((n + k - 1) // k)
    return len(range(0, n - 1, k - 1)), dilated(n)


@also_right
def with_a_loop(n, k):
    layers, seen = 0, 1
    while seen < n:
        layers, seen = layers + 1, seen * k
    return math.ceil((n - 1) / (k - 1)), layers


@also_right
def with_a_sum(n, k):
    reach, layers = 0, 0    # how far back the stack reaches
    while reach < n - 1:
        reach += (k - 1) * k ** layers
        layers += 1
    return (n - 1 + k - 2) // (k - 1), layers
