"""Find the line

`broken_step` is one step of SGD. Its model guesses the next token from the current one, with tied embeddings, and its author
saves memory. The loss is right and falls in training, but one of the numbered lines is wrong. Find it by any means that you have,
such as `gradcheck`. More than one line can be changed, alone, so that the step is right: the wrong line is the earliest of these.
Then write a test, with NumPy alone, that passes every correct step and fails every wrong one. The judge runs it on this step and
on others, whose loss is right, too.
"""

import numpy as np

from minitransformer_course.judge import also_right, mistake, version
from minitransformer_course.judge.fixtures import rewritten


# %% reference
def broken_step(E, W, b, ids, targets, rate):
    """E: (V, D); W: (D, D); b: (D,); ids, targets: (T,). Returns E, W and b after the step, and the mean loss before it."""
    x = E[ids]                                                # 1   (T, D) the embedding
    z = x @ W + b                                             # 2   (T, D) a linear layer
    h = np.maximum(z, 0, out=z)                               # 3   (T, D) ReLU
    y = np.add(x, h, out=x)                                   # 4   (T, D) the residual connection
    logits = y @ E.T                                          # 5   (T, V) with the matrix of line 1
    logits -= logits.max(axis=-1, keepdims=True)              # 6
    e = np.exp(logits, out=logits)                            # 7
    p = np.divide(e, e.sum(axis=-1, keepdims=True), out=e)    # 8   (T, V) softmax
    loss = -np.log(p[np.arange(len(ids)), targets]).mean()    # 9   cross-entropy
    dlogits = (p - np.eye(len(E))[targets]) / len(ids)        # 10  (T, V)
    dE = dlogits.T @ y                                        # 11  (V, D) from line 5
    dy = dlogits @ E                                          # 12  (T, D)
    dz = dy * (z > 0)                                         # 13  (T, D)
    dW = x.T @ dz                                             # 14  (D, D)
    db = dz.sum(axis=0)                                       # 15  (D,)
    dx = dy + dz @ W.T                                        # 16  (T, D)
    np.add.at(dE, ids, dx)                                    # 17  (V, D) from line 1
    return E - rate * dE, W - rate * dW, b - rate * db, loss  # 18


def find_fault(step):
    """step: a version, called like broken_step. Returns whether it is right, and the number of broken_step's wrong line."""
    # your code: what do E, W and b move by, and what should they? Then: return verdict, line
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(shape) for shape in ((5, 3), (3, 3), 3)]
    given = np.array([1, 1, 0, 4, 1]), np.array([2, 0, 3, 1, 1]), 1.0
    *moved, loss = step(*weights, *given)
    for w, after in zip(weights, moved):
        for place in np.ndindex(w.shape):
            kept, gradient = w[place], w[place] - after[place]
            w[place] += 1e-6
            numeric = (step(*weights, *given)[3] - loss) / 1e-6
            w[place] = kept
            if abs(gradient - numeric) > 1e-4:
                return False, 4
    return True, 4
    # end of your code


# %% what it is called with
returns = "verdict line"
section = "One line is wrong"
stars, minutes = 3, 40


def otherwise(*changes):
    """The step without its mistake, and with these changes."""
    return rewritten(broken_step, ("np.add(x, h, out=x)", "x + h"), *changes)


given = version("the step that you were given", right=False)(rewritten(broken_step))
mended = version("the step that you were given, mended", right=True)(otherwise())
copied = version("the step that you were given, mended with a copy", right=True)(rewritten(broken_step,
    ("z = x @ W", "z = (kept := x.copy()) @ W"), ("dW = x.T", "dW = kept.T")))
later = version("the step that you were given, mended in line 14", right=True)(rewritten(broken_step,
    ("dW = x.T", "dW = (y - h).T")))
products = version("a correct step with other products: its numbers differ by rounding", right=True)(otherwise(
    ("np.add.at(dE, ids, dx)", "dE += np.eye(len(E))[ids].T @ dx"), ("dz.sum(axis=0)", "np.ones(len(ids)) @ dz")))
transposed = version("dW is transposed", right=False)(otherwise(("x.T @ dz", "dz.T @ x")))
lost = version("a token that occurs twice gets one gradient", right=False)(otherwise(("np.add.at(dE, ids, dx)", "dE[ids] += dx")))
jump = version("no gradient through the residual connection", right=False)(otherwise(("dx = dy + dz", "dx = dz")))
tied = version("no gradient from the second use of E", right=False)(otherwise(("dE = dlogits.T @ y", "dE = np.zeros_like(E)")))
relu = version("ReLU passes all of the gradient", right=False)(otherwise((" * (z > 0)", "")))
total = version("the gradient of the sum of the losses", right=False)(otherwise((") / len(ids)", ")")))
uphill = version("a step uphill", right=False)(otherwise(
    ("E - rate", "E + rate"), ("W - rate", "W + rate"), ("b - rate", "b + rate")))
double = version("b moves twice as far", right=False)(otherwise(("b - rate", "b - 2 * rate")))
further = version("W moves 2 % too far", right=False)(otherwise(("W - rate", "W - 1.02 * rate")))


# %% hints
hints = (
    "With a learning rate of 1, each weight moves by its gradient. Which of E, W and b moves by something else?",
    "The line that computes this gradient may be right. When it runs, do the arrays in it still hold what the forward put there?",
    "numeric = (step(*weights, *given)[3] - loss) / ___",
)


# %% mistakes
LINE = 4


def is_right(step, ids=(1, 1, 0, 4, 1), targets=(2, 0, 3, 1, 1), arrays=(0, 1, 2), tolerance=1e-4, places=None):
    """Whether the moves of these arrays, or of their first `places` numbers, are the numeric derivatives of the loss."""
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(shape) for shape in ((5, 3), (3, 3), 3)]
    called = np.array(ids), np.array(targets), 1.0
    *moved, loss = step(*weights, *called)
    for i in arrays:
        for place in [*np.ndindex(weights[i].shape)][:places]:
            nudged = [w.copy() for w in weights]
            nudged[i][place] += 1e-6
            gradient = (weights[i] - moved[i])[place]
            if abs(gradient - (step(*nudged, *called)[3] - loss) / 1e-6) > tolerance:
                return False
    return True


@mistake("your test passes every version: it has to fail for a wrong one")
def always_true(step):
    return True, LINE


@mistake("your test fails for every version: a correct one has to pass")
def always_false(step):
    return False, LINE


@mistake("your test looks at the code of the step: whether that is right is seen in the numbers that it returns")
def knows_the_code(step):
    return "out=x)" not in step.source, LINE


@mistake("your test passes the step that you were given, and fails for correct ones: is it compared with that step?")
def as_given(step):
    rng = np.random.default_rng(0)
    called = [rng.standard_normal(shape) for shape in ((5, 3), (3, 3), 3)] + [np.array([1, 1, 0, 4]), np.array([2, 0, 3, 1]), 0.1]
    return all(np.allclose(one, other) for one, other in zip(step(*called), broken_step(*called))), LINE


@mistake("your test looks at W alone: a step whose E or b moves wrongly passes it")
def only_w(step):
    return is_right(step, arrays=(1,)), LINE


@mistake("your test does not look at W: the step that you were given passes it")
def without_w(step):
    return is_right(step, arrays=(0, 2)), LINE


@mistake("no token occurs twice in your test, so a lost gradient passes it")
def no_token_twice(step):
    return is_right(step, ids=(1, 2, 0, 4, 3)), LINE


@mistake("your test looks at the first number of each array, and dW transposed has the right one there")
def first_numbers(step):
    return is_right(step, places=1), LINE


@mistake("the tolerance of your test is too large: a step that moves W 2 % too far passes it")
def tolerant(step):
    return is_right(step, tolerance=0.05), LINE


@mistake("your test asks whether the loss falls: it falls for most wrong steps, too")
def loss_falls(step):
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(shape) for shape in ((5, 3), (3, 3), 3)]
    first = step(*weights, np.array([1, 1, 0, 4, 1]), np.array([2, 0, 3, 1, 1]), 0.01)
    return step(*first[:3], np.array([1, 1, 0, 4, 1]), np.array([2, 0, 3, 1, 1]), 0.01)[3] < first[3], LINE


@mistake("your test is the wrong way round: it passes the wrong versions, and fails for the correct ones")
def wrong_way_round(step):
    return not is_right(step), LINE


# %% other right solutions
@also_right
def against_a_right_step(step):
    rng = np.random.default_rng(1)
    E, W, b = rng.standard_normal((6, 4)), rng.standard_normal((4, 4)), rng.standard_normal(4)
    ids, targets = np.array([2, 2, 3, 0, 0, 2, 2]), np.array([1, 2, 3, 4, 5, 0, 1])
    x, z = E[ids], E[ids] @ W + b
    y = x + z * (z > 0)
    p = np.exp(y @ E.T)
    d = (p / p.sum(axis=1, keepdims=True) - np.eye(6)[targets]) / 7
    dz = d @ E * (z > 0)
    dE = d.T @ y + np.eye(6)[ids].T @ (d @ E + dz @ W.T)
    moved = step(E, W, b, ids, targets, 0.5)
    np.testing.assert_allclose(moved[0], E - 0.5 * dE)
    np.testing.assert_allclose(moved[1], W - 0.5 * x.T @ dz)
    np.testing.assert_allclose(moved[2], b - 0.5 * dz.sum(axis=0))
    return True, 4


@also_right
def along_random_directions(step):
    rng = np.random.default_rng(2)
    ids, targets, h = rng.integers(0, 7, 30), rng.integers(0, 7, 30), 1e-5
    for _direction in range(3):
        for i in range(3):
            weights = [rng.standard_normal(shape) for shape in ((7, 4), (4, 4), 4)]
            w, v = weights[i].copy(), rng.standard_normal(weights[i].shape)
            moved, losses = w - step(*weights, ids, targets, 1.0)[i], []
            for sign in (1, -1):
                weights[i] = w + sign * h * v
                losses.append(step(*weights, ids, targets, 1.0)[3])
            if abs((moved * v).sum() - (losses[0] - losses[1]) / (2 * h)) > 1e-5:
                return False, 4
    return True, np.int64(4)
