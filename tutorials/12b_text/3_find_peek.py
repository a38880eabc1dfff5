"""Find the peek

`broken_reader` gives the logits of a small language model with one attention, in which each position may look at itself and at a
few positions before it. Its training loss is wonderful, and what it writes is not. One of the numbered lines lets a position see
what comes next. More than one line can be changed, alone, so that the model is right: the wrong line is the earliest of these.
Then write a test, with NumPy alone, that passes every model whose logits depend on nothing that comes later, and fails every
other. The judge runs it on this model and on others, which need not be wrong in the same way.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version
from minitransformer_course.judge.fixtures import rewritten


# %% reference
def broken_reader(E, W, ids):
    """E: (V, D), V at least 4; W: (3, D, D); ids: (T,). Returns logits (T, V): row t says what comes after ids 0 to t."""
    rows, window = np.arange(len(ids)), 4                     # 1
    x = E[ids]                                                # 2   (T, D) the embedding
    query, key, value = x @ W                                 # 3   (T, D) each
    scores = query @ key.T / np.sqrt(E.shape[1])              # 4   (T, T) queries first
    first = np.maximum(rows - window, 0)                      # 5   (T,) where each window begins
    end = rows + 1                                            # 6   (T,) and where it ends
    late = rows > end[:, None]                                # 7   (T, T)
    early = rows < first[:, None]                             # 8   (T, T)
    scores[late | early] = -np.inf                            # 9
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))   # 10
    p = e / e.sum(axis=-1, keepdims=True)                     # 11  (T, T) softmax
    y = x + p @ value                                         # 12  (T, D)
    return y @ E.T                                            # 13  (T, V)


def find_peek(reader):
    """reader: a version, called like broken_reader. Returns whether it is right, and the number of broken_reader's wrong line."""
    # your code: what may change in row t if only later ids change? Then: return verdict, line
    rng = np.random.default_rng(0)
    E, W, ids = rng.standard_normal((6, 4)), rng.standard_normal((3, 4, 4)), rng.integers(6, size=9)
    logits = reader(E, W, ids)
    for t in range(1, len(ids)):
        changed = ids.copy()
        changed[t:] = (changed[t:] + 1) % 6
        if np.abs(reader(E, W, changed)[:t] - logits[:t]).max() > 1e-9:
            return False, 6
    return True, 6
    # end of your code


# %% what it is called with
returns = "verdict line"
section = "Find the peek"
stars, minutes = 2, 30


def otherwise(*changes):
    """The reader without its mistake, and with these changes."""
    return rewritten(broken_reader, ("end = rows + 1", "end = rows"), *changes)


given = version("the model that you were given", right=False)(rewritten(broken_reader))
mended = version("the model that you were given, mended in line 6", right=True)(otherwise())
later = version("the model that you were given, mended in line 7", right=True)(rewritten(broken_reader,
    ("rows > end", "rows >= end")))
longer = version("a right model with a longer window", right=True)(otherwise(("(len(ids)), 4", "(len(ids)), 99")))
itself = version("a right model in which each position sees itself alone", right=True)(otherwise(("rows - window", "rows")))
products = version("a right model with other products: its numbers differ by rounding", right=True)(otherwise(
    ("p @ value", "np.einsum('tu,ud->td', p, value)"), ("= -np.inf", "= -1e9")))
jump = version("two positions later is seen, and the next one is not", right=False)(otherwise(
    ("rows > end[:, None]", "(rows > end[:, None]) & (rows != end[:, None] + 2)")))
first_row = version("only the first position sees the next one", right=False)(otherwise(
    ("rows > end[:, None]", "rows > np.maximum(end, 1)[:, None]")))
last_row = version("only the position before the last one sees the last one", right=False)(otherwise(
    ("end = rows", "end = rows + (rows == len(rows) - 2)")))
softly = version("what comes later gets less weight, but not none", right=False)(otherwise(
    ("scores[late | early] = -np.inf", "scores[late] -= 6")))
centred = version("the mean over all positions is subtracted", right=False)(otherwise(
    ("x + p @ value", "x + p @ value - 0.1 * x.mean(axis=0)")))
queries = version("the softmax runs over the queries", right=False)(otherwise(
    ("e.sum(axis=-1, keepdims=True)", "(e.sum(axis=0) + 1e-9)")))
backwards = version("each position sees itself and what comes later", right=False)(otherwise(
    ("rows > end", "rows < end"), ("rows < first", "rows > 9 + first")))


# %% hints
hints = (
    "Row t may depend on ids 0 to t. If you change an id after t and nothing else, what may happen to row t?",
    "A leak may be in one row alone, may jump over a position, and may be small. Change all ids from t on, for every t, "
    "and compare all rows before t.",
    "if np.abs(reader(E, W, changed)[:t] - ___).max() > 1e-9:",
)


# %% mistakes
LINE = 6


def given_to():
    rng = np.random.default_rng(0)
    return rng.standard_normal((9, 4)), rng.standard_normal((3, 4, 4)), rng.permutation(9)


def is_right(reader, places=range(1, 9), rows=lambda t: slice(0, t), length=9, tolerance=1e-9):
    """Whether rows(t) stay as they are if ids t to t + length change."""
    E, W, ids = given_to()
    logits = reader(E, W, ids)
    for t in places:
        other = ids.copy()
        other[t:t + length] = (other[t:t + length] + 1) % 9
        if not np.abs(reader(E, W, other)[rows(t)] - logits[rows(t)]).max() <= tolerance:
            return False
    return True


@mistake("your test passes every version: it has to fail for a wrong one")
def always_true(reader):
    return True, LINE


@mistake("your test fails for every version: a right one has to pass")
def always_false(reader):
    return False, LINE


@mistake("your test looks at the code of the model: whether it peeks is seen in its logits")
def knows_the_code(reader):
    return "rows + 1" not in reader.source, LINE


@mistake("your test passes the model that you were given, and fails for right ones: is it compared with that model?")
def as_given(reader):
    return np.allclose(reader(*given_to()), broken_reader(*given_to())), LINE


@mistake("your test changes the last id alone: a leak in an earlier row passes it")
def last_id_alone(reader):
    return is_right(reader, places=[8]), LINE


@mistake("your test changes the first ids alone: a leak in a later row passes it")
def early_ids_alone(reader):
    return is_right(reader, places=[1, 2], length=1), LINE


@mistake("your test changes one id and looks at the row before it: a leak that jumps over a position passes it")
def next_alone(reader):
    return is_right(reader, rows=lambda t: slice(t - 1, t), length=1), LINE


@mistake("the tolerance of your test is too large: a model in which later ids have little weight passes it")
def tolerant(reader):
    return is_right(reader, tolerance=0.5), LINE


@mistake("your test is the wrong way round: it passes the wrong versions, and fails for the right ones")
def wrong_way_round(reader):
    return not is_right(reader), LINE


# %% other right solutions
@also_right
def by_shorter_texts(reader):
    E, W, ids = given_to()
    logits = reader(E, W, ids)
    return all(np.allclose(reader(E, W, ids[:t]), logits[:t], atol=1e-9) for t in range(1, 9)), LINE


@also_right
def by_derivatives(reader):
    rng = np.random.default_rng(4)
    E, W, ids = rng.standard_normal((9, 5)), rng.standard_normal((3, 5, 5)), np.arange(8)
    logits = reader(E, W, ids)
    for t in range(8):
        moved = E.copy()
        moved[t] += rng.standard_normal(5)
        before = reader(moved, W, ids) - logits    # (T, V): column t itself moves, since E makes the logits
        if np.abs(np.delete(before[:t], t, axis=1)).max(initial=0) > 1e-9:
            return False, np.int64(6)
    return True, np.int64(6)
