"""Find the stale cache

`broken_run` continues several hypotheses at once and keeps their keys and values in a cache. What a single hypothesis writes
is right, and so are most beams, but one of the numbered lines lets a hypothesis continue the past of another one. More than
one line can be changed, alone, so that the run is right: the wrong line is the earliest of these. Then write a test, with
NumPy alone, that passes every correct run and fails every wrong one. The judge runs it on this run and on others, which are
right for a single hypothesis, too.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version
from minitransformer_course.judge.fixtures import rewritten


# %% reference
def broken_run(E, W, ids, parents):
    """E: (V, D); W: (3, D, D); ids, parents: (T, B). At step t, hypothesis i continues hypothesis parents[t, i] of the step before
    with ids[t, i]; parents[0] has no meaning. Returns logits (T, B, V), of the token that comes next."""
    T, B = ids.shape                                                           # 1
    keys, values = np.zeros((2, B, T, E.shape[1]))                             # 2   (B, T, D) each
    logits = np.zeros((T, B, len(E)))                                          # 3
    for t in range(T):                                                         # 4
        old_keys, old_values = keys[:, :t], values[:, :t]                      # 5   (B, t, D) of the step before
        for i, parent in enumerate(parents[t]):                                # 6
            keys[i, :t] = old_keys[parent]                                     # 7
            values[i, :t] = old_values[parent]                                 # 8
        x = E[ids[t]]                                                          # 9   (B, D)
        query, keys[:, t], values[:, t] = x @ W                                # 10
        scores = np.einsum("bd,bsd->bs", query, keys[:, :t + 1])               # 11  (B, t + 1)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))                # 12
        p = e / e.sum(axis=-1, keepdims=True)                                  # 13
        y = x + np.einsum("bs,bsd->bd", p, values[:, :t + 1])                  # 14
        logits[t] = y @ E.T                                                    # 15
    return logits


def find_stale(run):
    """run: a version, called like broken_run. Returns whether it is right, and the number of broken_run's wrong line."""
    # your code: which text does each hypothesis have, and what does a run say of that text alone? Then: return verdict, line
    rng = np.random.default_rng(0)
    E, W, ids = rng.standard_normal((7, 4)), rng.standard_normal((3, 4, 4)), rng.integers(7, size=(4, 3))
    parents = np.array([[0, 1, 2], [1, 2, 0], [2, 2, 0], [1, 0, 0]])
    logits = run(E, W, ids, parents)
    for t, i in np.ndindex(ids.shape):
        text, at = [], i
        for step in range(t, -1, -1):
            text.insert(0, [ids[step, at]])
            at = parents[step, at]
        alone = run(E, W, np.array(text), np.zeros((t + 1, 1), int))
        if np.abs(alone[t, 0] - logits[t, i]).max() > 1e-9:
            return False, 5
    return True, 5
    # end of your code


# %% what it is called with
returns = "verdict line"
section = "What need not be computed again"
stars, minutes = 2, 30


def otherwise(*changes):
    """The run without its mistake, and with these changes."""
    return rewritten(broken_run, ("keys[:, :t], values[:, :t]", "keys[:, :t].copy(), values[:, :t].copy()"), *changes)


given = version("the run that you were given", right=False)(rewritten(broken_run))
mended = version("the run that you were given, mended with copies", right=True)(otherwise())
chosen = version("the run that you were given, mended by a choice of rows", right=True)(rewritten(broken_run,
    ("keys[:, :t], values[:, :t]", "keys[parents[t], :t], values[parents[t], :t]"), ("old_keys[parent]", "old_keys[i]"),
    ("old_values[parent]", "old_values[i]")))
products = version("a correct run with other products: its numbers differ by rounding", right=True)(otherwise(
    ('np.einsum("bd,bsd->bs", query, keys[:, :t + 1])', "(keys[:, :t + 1] @ query[:, :, None])[:, :, 0]")))
never = version("the cache is never reordered", right=False)(otherwise(
    ("old_keys[parent]", "old_keys[i]"), ("old_values[parent]", "old_values[i]")))
keys_alone = version("only the keys are reordered", right=False)(otherwise(("old_values[parent]", "old_values[i]")))
values_alone = version("only the values are reordered", right=False)(otherwise(("old_keys[parent]", "old_keys[i]")))
inverse = version("each hypothesis is written to its parent's place", right=False)(otherwise(
    ("keys[i, :t] = old_keys[parent]", "keys[parent, :t] = old_keys[i]"),
    ("values[i, :t] = old_values[parent]", "values[parent, :t] = old_values[i]")))
newest = version("only the newest entry of the cache is reordered", right=False)(otherwise(
    ("keys[i, :t] = old_keys[parent]", "keys[i, t - 1:t] = old_keys[parent, t - 1:t]"),
    ("values[i, :t] = old_values[parent]", "values[i, t - 1:t] = old_values[parent, t - 1:t]")))
late = version("the parents of the step before are used", right=False)(otherwise(
    ("enumerate(parents[t])", "enumerate(parents[max(t - 1, 0)])")))
last = version("the last hypothesis keeps its own past", right=False)(otherwise(
    ("enumerate(parents[t])", "enumerate([*parents[t][:-1], B - 1])")))
crowd = version("all hypotheses get the past of the first one", right=False)(otherwise(
    ("enumerate(parents[t])", "enumerate([parents[t][0]] * B)")))
slightly = version("a hypothesis has a little of its own past left", right=False)(otherwise(
    ("= old_values[parent]", "= 0.98 * old_values[parent] + 0.02 * old_values[i]")))


# %% hints
hints = (
    "A hypothesis is a text. Follow its parents back to the first step: which ids does it consist of? The run is right for "
    "a single hypothesis, so what does it say of this text?",
    "The parents of your test must move three hypotheses in a circle, drop one and split one, and do so after several steps. "
    "Compare each logit with that of the same text alone. Which line keeps what the next lines overwrite?",
    "text.insert(0, [ids[step, ___]])",
)


# %% mistakes
LINE = 5
CIRCLES = np.array([[0, 1, 2], [1, 2, 0], [2, 2, 0], [1, 0, 0]])


def is_right(run, parents=CIRCLES, tolerance=1e-9):
    rng = np.random.default_rng(0)
    E, W, ids = rng.standard_normal((7, 4)), rng.standard_normal((3, 4, 4)), rng.integers(7, size=np.shape(parents))
    logits = run(E, W, ids, np.array(parents))
    for t in range(len(ids)):
        for i in range(ids.shape[1]):
            text, at = [], i
            for step in range(t, -1, -1):
                text.insert(0, [ids[step, at]])
                at = parents[step][at]
            alone = run(E, W, np.array(text), np.zeros((t + 1, 1), int))
            if np.abs(alone[t, 0] - logits[t, i]).max() > tolerance:
                return False
    return True


@mistake("your test passes every version: it has to fail for a wrong one")
def always_true(run):
    return True, LINE


@mistake("your test fails for every version: a correct one has to pass")
def always_false(run):
    return False, LINE


@mistake("your test looks at the code of the run: whether the cache is right is seen in its logits")
def knows_the_code(run):
    return "keys[:, :t], values[:, :t]" not in run.source, LINE


@mistake("each hypothesis continues itself in your test, so nothing has to be reordered")
def nobody_moves(run):
    return is_right(run, [[0, 1, 2]] * 4), LINE


@mistake("your test has two steps: whoever reorders the newest entry alone passes it")
def two_steps(run):
    return is_right(run, CIRCLES[:2]), LINE


@mistake("the parents of your test only look ahead, so that no past is overwritten before it is read")
def ahead(run):
    return is_right(run, [[0, 1, 2], [1, 2, 2], [2, 2, 2], [1, 1, 2]]), LINE


@mistake("the tolerance of your test is too large: a hypothesis with a little of another past passes it")
def tolerant(run):
    return is_right(run, tolerance=0.5), LINE


@mistake("your test is the wrong way round: it passes the wrong versions, and fails for the correct ones")
def wrong_way_round(run):
    return not is_right(run), LINE


# %% other right solutions
@also_right
def without_a_cache(run):
    rng = np.random.default_rng(3)
    E, W, ids = rng.standard_normal((5, 3)), rng.standard_normal((3, 3, 3)), rng.integers(5, size=(5, 4))
    parents = np.array([np.roll(np.arange(4), t) for t in range(5)])
    parents[3] = [3, 3, 0, 1]
    logits, texts = run(E, W, ids, parents), [[] for _ in range(4)]
    for t in range(5):
        texts = [texts[parent] + [ids[t, i]] for i, parent in enumerate(parents[t])]
        for i, text in enumerate(texts):
            query, key, value = E[text] @ W
            e = np.exp(key @ query[-1])
            expected = (E[text[-1]] + e / e.sum() @ value) @ E.T
            if not np.allclose(logits[t, i], expected, rtol=1e-6, atol=1e-7):
                return False, 5
    return True, np.int64(5)
