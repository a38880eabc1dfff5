"""Who is right about the pairs?

One implementation turns numbers 2i and 2i + 1 of a row as a pair. A pull request turns i and i + d/2 instead, "as in the other
library". A reviewer answers that this computes something else and must be wrong. Write a test that decides. Rotary positions
are right if the product of a turned query and a turned key changes with their distance, t - s, and depends on nothing else about
their positions. Which numbers form a pair and which way they turn are up to the author.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version


# %% reference
def test_pairs(turned):
    """turned: a version, x (T, d), positions (T,) -> y (T, d), for any even d. Returns True if it is right, else False."""
    # your code: turn a query and a key, and compare the products at equal distances and at a different one
    query, key = np.random.default_rng(0).standard_normal((2, 1, 8))
    products = []
    for t, s in ((5, 2), (9, 6), (3, 0), (5, 4)):
        products.append((turned(query, np.array([t])) * turned(key, np.array([s]))).sum())
    same = np.allclose(products[:3], products[0])
    return same and not np.isclose(products[3], products[0])
    # end of your code


# %% what it is called with
returns = "verdict"
section = "Which numbers are a pair?"
stars, minutes = 2, 15


@version("the code before the change: numbers 2i and 2i + 1", right=True)
def neighbours(x, positions):
    d = x.shape[1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    y = np.empty_like(x)
    y[:, 0::2] = x[:, 0::2] * np.cos(angles) - x[:, 1::2] * np.sin(angles)
    y[:, 1::2] = x[:, 0::2] * np.sin(angles) + x[:, 1::2] * np.cos(angles)
    return y


@version("the pull request: numbers i and i + d/2", right=True)
def halves(x, positions):
    d = x.shape[1]
    angles = np.tile(positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d), 2)
    return x * np.cos(angles) + np.concatenate([-x[:, d // 2:], x[:, :d // 2]], axis=1) * np.sin(angles)


@version("the pull request, clockwise", right=True)
def clockwise(x, positions):
    d = x.shape[1]
    angles = np.tile(positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d), 2)
    return x * np.cos(angles) + np.concatenate([x[:, d // 2:], -x[:, :d // 2]], axis=1) * np.sin(angles)


@version("the code before the change, with complex numbers: it differs only by rounding", right=True)
def complex_numbers(x, positions):
    d = x.shape[1]
    z = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d))
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)


@version(
    "half of each: the pull request's pairs with the angles in the order of the old code",
    right=False,
    shows="whether a score depends on the distance of two positions alone",
)
def mixed(x, positions):
    d = x.shape[1]
    angles = np.repeat(positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d), 2, axis=1)
    return x * np.cos(angles) + np.concatenate([-x[:, d // 2:], x[:, :d // 2]], axis=1) * np.sin(angles)


@version("the minus sign is forgotten", right=False, shows="whether lengths stay the same")
def sign(x, positions):
    d = x.shape[1]
    angles = np.tile(positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d), 2)
    return x * np.cos(angles) + np.concatenate([x[:, d // 2:], x[:, :d // 2]], axis=1) * np.sin(angles)


@version(
    "the position is in the exponent: lengths stay the same",
    right=False,
    shows="whether a score depends on the distance of two positions alone",
)
def exponent(x, positions):
    d = x.shape[1]
    angles = np.tile(10000.0 ** (-positions[:, None] * np.arange(0, d, 2) / (9 * d)), 2)
    return x * np.cos(angles) + np.concatenate([-x[:, d // 2:], x[:, :d // 2]], axis=1) * np.sin(angles)


@version("every position turns by the same angle", right=False, shows="whether a score depends on the distance at all")
def constant(x, positions):
    d = x.shape[1]
    return x * np.cos(1) + np.concatenate([-x[:, d // 2:], x[:, :d // 2]], axis=1) * np.sin(1)


@version("nothing turns", right=False, shows="whether a score depends on the distance at all")
def identity(x, positions):
    return x.copy()


@version("sines and cosines are added, as in the paper", right=False, shows="whether lengths stay the same")
def added(x, positions):
    d = x.shape[1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    return x + np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


# %% hints
hints = (
    "Queries at 5 and 9 are equally far from keys at 2 and 6. What must hold for the two products? And what if the key is at 4?",
    "Turn a query and a key to several positions. The same distance must give the same product, and another distance another one.",
    "same = np.allclose(products[:3], ___)",
)


# %% mistakes
def random(d=8):
    return np.random.default_rng(1).standard_normal((2, 1, d))


def product(turned, query, key, t, s):
    return (turned(query, np.array([t])) * turned(key, np.array([s]))).sum()


@mistake("your test passes every version: it has to fail for a wrong one")
def always_true(turned):
    return True


@mistake("your test fails every version: a correct one has to pass. Does it use == on rounded numbers?")
def always_false(turned):
    return False


@mistake("only the pull request's pairs pass your test: other pairs give other numbers and are right as well")
def numbers_of_the_request(turned):
    x = random()[0]
    return np.allclose(turned(x, np.array([3])), halves(x, np.array([3])))


@mistake("only the old code's pairs pass your test: other pairs give other numbers and are right as well")
def numbers_of_the_code(turned):
    x = random()[0]
    return np.allclose(turned(x, np.array([3])), neighbours(x, np.array([3])))


@mistake("only the old code's exact numbers pass your test: others are right as well, and one differs only by rounding")
def exact_numbers(turned):
    x = np.random.default_rng(2).standard_normal((50, 8))
    return (turned(x, np.arange(50)) == neighbours(x, np.arange(50))).all()


@mistake("your test checks only that lengths stay the same, as they do at any angle: compare the products of queries and "
         "keys")
def lengths(turned):
    x = random()[0]
    return np.allclose((turned(x, np.array([3])) ** 2).sum(), (x ** 2).sum())


@mistake("your test compares only equal distances, and a version that never turns passes it: compare another distance, too")
def distance_alone(turned):
    query, key = random()
    return np.isclose(product(turned, query, key, 5, 2), product(turned, query, key, 9, 6))


@mistake("your test checks only that the product changes with the distance: it must also depend on nothing else")
def any_change(turned):
    query, key = random()
    return not np.isclose(product(turned, query, key, 5, 2), product(turned, query, key, 5, 4))


@mistake("your test checks only that y differs from x, as in every version but one: compare the products of queries and "
         "keys")
def moves(turned):
    x = random()[0]
    return not np.allclose(turned(x, np.array([3])), x)


@mistake("your test checks only position 0, where a wrong turn does not show: compare products at other positions")
def position_0(turned):
    x = random()[0]
    return np.allclose(turned(x, np.array([0])), x)


@mistake("your rows have two numbers and so only one pair: take d = 4 or more, where a wrong pair shows")
def one_pair(turned):
    query, key = random(2)
    same = np.isclose(product(turned, query, key, 5, 2), product(turned, query, key, 9, 6))
    return same and not np.isclose(product(turned, query, key, 5, 2), product(turned, query, key, 5, 4))


@mistake("your test demands one direction: clockwise is right as well if queries and keys turn alike")
def one_direction(turned):
    query, key = random()
    same = np.isclose(product(turned, query, key, 5, 2), product(turned, query, key, 9, 6))
    return same and turned(np.eye(1, 8), np.array([1])).sum() > 1.1


@mistake("your test is the wrong way round: it has to pass the correct versions and fail the wrong ones")
def wrong_way_round(turned):
    return not test_pairs(turned)


# %% other right solutions
@also_right
def with_asserts(version):
    rng = np.random.default_rng(3)
    for d in (4, 6, 16):
        q, k = rng.standard_normal((2, d))
        table = version(np.tile(q, (9, 1)), np.arange(9)) @ version(np.tile(k, (9, 1)), np.arange(9)).T
        for distance in range(-3, 4):
            np.testing.assert_allclose(np.diag(table, distance), table[max(0, -distance), max(0, distance)], atol=1e-9)
        assert table.std() > 1e-6


@also_right
def shifted_by_ten(turned):
    x = np.arange(1.0, 25).reshape(3, 8) % 5
    near, far = turned(x, np.array([0, 1, 3])), turned(x, np.array([10, 11, 13]))
    return bool(np.allclose(near @ near.T, far @ far.T) and not np.allclose(near @ near.T, x @ x.T))
