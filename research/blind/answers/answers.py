"""Answers of imagined learners to the exercises of the course, written without a look at the judge.

WRONG: (exercise, source, truth, accept). `truth` says in one sentence what is wrong, and a message
truly names it if it contains one of the phrases in `accept`, in any case of letters.
RIGHT: (exercise, source), correct answers in unusual styles.

verify.py compares all of them with the references.
"""

from textwrap import dedent

HEAD = "import math\n\nimport numpy as np\n\n\n"
WRONG, RIGHT = [], []


def wrong(name, truth, accept, source):
    WRONG.append((name, HEAD + dedent(source).lstrip("\n"), truth, accept))


def right(name, source):
    RIGHT.append((name, HEAD + dedent(source).lstrip("\n")))


# ---------------------------------------------------------------- 01_linear

wrong("linear_backward", "dW is reshaped to its shape where it has to be transposed.",
      ["transpos", "reshap", "x.T @ dy"], """
def linear_backward(dy, x, W):
    dx = dy @ W.T
    dW = (dy.T @ x).reshape(W.shape)
    db = dy.sum(axis=0)
    return dx, dW, db
""")

wrong("linear_backward", "db adds up all numbers of dy, so every output gets the same number.",
      ["over the tokens", "over the rows", "all of dy", "same number", "each output",
      "axis=0", "axis 0", "of all numbers"], """
def linear_backward(dy, x, W):
    dx = dy @ W.T
    dW = x.T @ dy
    db = np.ones(W.shape[1]) * dy.sum()
    return dx, dW, db
""")

wrong("query_key_backward", "ds is divided by sqrt(d_k), but these scores are not scaled.",
      ["sqrt(d_k)", "root of d_k", "not scaled", "scale of", "is scaled", "1 / sqrt"], """
def query_key_backward(ds, x, w_q, w_k):
    q, k = x @ w_q, x @ w_k
    ds = ds / np.sqrt(q.shape[-1])
    dq = ds @ k
    dk = ds.swapaxes(-1, -2) @ q
    dx = dq @ w_q.T + dk @ w_k.T
    rows = x.reshape(-1, x.shape[-1])
    dw_q = rows.T @ dq.reshape(-1, dq.shape[-1])
    dw_k = rows.T @ dk.reshape(-1, dk.shape[-1])
    return dx, dw_q, dw_k
""")

wrong("query_key_backward", "The keys' gradient goes back to x through w_q; it has to be w_k.",
      ["w_k", "keys' gradient", "key's weight", "path through the keys", "through k"], """
def query_key_backward(ds, x, w_q, w_k):
    q, k = x @ w_q, x @ w_k
    dq = ds @ k
    dk = ds.swapaxes(-1, -2) @ q
    dx = (dq + dk) @ w_q.T
    dw_q = np.einsum("bti,btj->ij", x, dq)
    dw_k = np.einsum("bti,btj->ij", x, dk)
    return dx, dw_q, dw_k
""")

# ---------------------------------------------------------------- 01b_checking

wrong("numeric_gradient", "A one-sided difference, which is not exact for a parabola.",
      ["one-sided", "one side", "forward difference", "both sides", "central",
      "in one direction"], """
def numeric_gradient(f, dy, x, h):
    dx = np.zeros(x.shape)
    here = (dy * f(x)).sum()
    for place in np.ndindex(x.shape):
        moved = x.copy()
        moved[place] += h
        dx[place] = ((dy * f(moved)).sum() - here) / h
    return dx
""")

wrong("numeric_gradient", "The way back is h and not 2 h, so the left point is x itself.",
      ["2 h", "2h", "half as far", "both sides", "other side", "one side", "only half",
      "one-sided", "one direction"], """
def numeric_gradient(f, dy, x, h):
    x = x.copy()
    dx = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        x[place] += h
        right = (dy * f(x)).sum()
        x[place] -= h
        left = (dy * f(x)).sum()
        dx[place] = (right - left) / (2 * h)
    return dx
""")

wrong("slope_along", "A real step of 1e-20 does not change x at all; the step has to be imaginary.",
      ["real step", "imaginary", "complex", "cancel"], """
def slope_along(f, dy, x, v, h):
    return ((dy * f(x + h * v)).sum() - (dy * f(x)).sum()) / h
""")

wrong("slope_along", "x moves equally far in every number, and the direction v is ignored.",
      ["direction", "without v", "ignores v", "v is missing", "v is ignored", "all ones"], """
def slope_along(f, dy, x, v, h):
    y = f(x + 1j * h * np.ones_like(x))
    return np.sum(dy * y.imag) / h
""")

wrong("slope_along", "The modulus of f is taken instead of its imaginary part.",
      ["imaginary", "modulus", "absolute value", "np.abs", "real part"], """
def slope_along(f, dy, x, v, h):
    moved = f(x + 1j * h * v)
    return (dy * np.abs(moved)).sum() / h
""")

wrong("shares_backward", "The path through the row's sum is missing.",
      ["through the sum", "sum of the row", "second path", "row's sum", "treats s as",
      "s is constant", "as a constant"], """
def shares_backward(dy, x):
    s = x.sum(axis=-1, keepdims=True)
    return dy / s
""")

wrong("shares_backward", "The subtracted sum uses x where it needs the shares y = x / s.",
      ["y = x / s", "divided by s", "by the sum", "x instead of", "instead of y", "x / s",
      "shares instead", "the shares y"], """
def shares_backward(dy, x):
    s = x.sum(axis=1)[:, None]
    lost = (dy * x).sum(axis=1)[:, None]
    return (dy - lost) / s
""")

wrong("twice_backward", "W gets the gradient of its second use only.",
      ["first use", "used twice", "both uses", "second use", "x.T @ dh",
      "one of the two uses", "last use", "first layer"], """
def twice_backward(dy, x, W):
    h = x @ W
    dh = dy @ W.T
    dW = h.T @ dy
    dx = dh @ W.T
    return dx, dW
""")

wrong("twice_backward", "The first use of W gets dy, but it has to get dh = dy W^T.",
      ["dy @ W.T", "dy W^T", "dh instead", "first use", "through the second"], """
def twice_backward(dy, x, W):
    h = x @ W
    dx = dy @ W.T @ W.T
    dW = h.T @ dy
    dW += x.T @ dy
    return dx, dW
""")

# ---------------------------------------------------------------- 02_embedding

wrong("embedding", "The scale is the root of the paper's 512, not of this table's d_model.",
      ["512", "hard-coded", "fixed width", "fixed number", "whatever d_model",
      "root of d_model", "sqrt(d_model)"], """
def embedding(ids, W):
    return W[ids] * math.sqrt(512)
""")

wrong("embedding", "The scale is the root of the vocabulary's size, not of d_model.",
      ["size of the vocabulary", "vocabulary's size", "len(W)", "W.shape[0]", "root of V",
      "sqrt(V)", "rows of W"], """
def embedding(ids, W):
    return math.sqrt(len(W)) * W[ids]
""")

wrong("embedding_backward", "dW[ids] += dy counts a token that occurs several times only once.",
      ["twice", "several times", "repeated", "more than once", "add.at", "only once",
      "last one"], """
def embedding_backward(dy, ids, W):
    dW = np.zeros_like(W)
    dW[ids] += math.sqrt(W.shape[1]) * dy
    return dW
""")

wrong("embedding_backward", "The factor sqrt(d_model) is missing.",
      ["sqrt(d_model)", "root of d_model", "scale is missing", "without the scale",
      "forgotten scale", "the scale"], """
def embedding_backward(dy, ids, W):
    dW = np.zeros_like(W)
    for b in range(ids.shape[0]):
        for t in range(ids.shape[1]):
            dW[ids[b, t]] += dy[b, t]
    return dW
""")

wrong("embedding_backward", "Id 0 is treated as padding, and its row gets no gradient.",
      ["row 0", "id 0", "first row", "padding", "token 0"], """
def embedding_backward(dy, ids, W):
    dW = np.zeros_like(W)
    real = ids != 0
    np.add.at(dW, ids[real], dy[real])
    return math.sqrt(W.shape[1]) * dW
""")

wrong("tied_backward", "dh carries the embedding's scale sqrt(d_model), but the output has none.",
      ["sqrt(d_model)", "root of d_model", "not scaled", "has no scale", "the scale",
      "too large by"], """
def tied_backward(dlogits, h, W):
    dh = math.sqrt(W.shape[1]) * dlogits @ W
    dW = dlogits.T @ h
    return dh, dW
""")

wrong("tied_backward", "dW is the mean over the tokens where it has to be the sum.",
      ["the mean", "averag", "divided by N", "number of tokens", "divided by the"], """
def tied_backward(dlogits, h, W):
    dh = dlogits @ W
    dW = np.einsum("nv,nd->vd", dlogits, h) / len(h)
    return dh, dW
""")

# ---------------------------------------------------------------- 03_positions

wrong("sinusoids", "The exponent doubles the column twice: it is 4 i / d_model, not 2 i / d_model.",
      ["exponent", "4 i", "too slow", "frequenc", "factor 2", "squared"], """
def sinusoids(positions, d_model):
    i = np.arange(0, d_model, 2)
    angles = positions[:, None] / 10000 ** (2 * i / d_model)
    PE = np.zeros((len(positions), d_model))
    PE[:, 0::2] = np.sin(angles)
    PE[:, 1::2] = np.cos(angles)
    return PE
""")

wrong("sinusoids", "The rows are those of 0, 1, 2, ..., whatever positions were asked for.",
      ["arange", "0, 1, 2", "row number", "in order", "given positions",
      "positions are ignored", "ignores positions", "positions"], """
def sinusoids(positions, d_model):
    T = len(positions)
    PE = np.zeros((T, d_model))
    for t in range(T):
        for i in range(d_model // 2):
            angle = t / 10000 ** (2 * i / d_model)
            PE[t, 2 * i] = math.sin(angle)
            PE[t, 2 * i + 1] = math.cos(angle)
    return PE
""")

wrong("sinusoids", "All sines come first and then all cosines; they should alternate.",
      ["alternat", "interleav", "side by side", "first half", "order of the columns",
      "two halves", "sines first"], """
def sinusoids(positions, d_model):
    frequencies = 1 / 10000 ** (np.arange(0, d_model, 2) / d_model)
    angles = np.outer(positions, frequencies)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
""")

wrong("rotate_positions", "The cosine is made from the sine that has already been turned.",
      ["already", "overwritten", "new sine", "in place", "old sine"], """
def rotate_positions(PE, k):
    d_model = PE.shape[1]
    turn = k / 10000 ** (np.arange(0, d_model, 2) / d_model)
    moved = PE.copy()
    moved[:, 0::2] = moved[:, 0::2] * np.cos(turn) + moved[:, 1::2] * np.sin(turn)
    moved[:, 1::2] = moved[:, 1::2] * np.cos(turn) - moved[:, 0::2] * np.sin(turn)
    return moved
""")

wrong("rotate_positions",
      "t is read from the first clock, which has turned several times from t = 7 on.",
      ["first clock", "full turn", "2 pi", "large t", "arctan", "far positions",
      "several turns", "ambiguous"], """
def rotate_positions(PE, k):
    d_model = PE.shape[1]
    t = np.round(np.arctan2(PE[:, 0], PE[:, 1]))
    frequencies = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angles = (t + k)[:, None] * frequencies
    moved = np.empty_like(PE)
    moved[:, 0::2] = np.sin(angles)
    moved[:, 1::2] = np.cos(angles)
    return moved
""")

wrong("learned_positions_backward",
      "dW has a row for each position of the batch, not for each of W.",
      ["rows of W", "L rows", "unused", "shape of W", "L, D", "(L"], """
def learned_positions_backward(dy, W):
    return dy.copy(), dy.sum(axis=0)
""")

wrong("learned_positions_backward", "dW is the mean over the batch where it has to be the sum.",
      ["the mean", "averag", "divided by B", "sum over the batch", "over the batch"], """
def learned_positions_backward(dy, W):
    B, T, D = dy.shape
    dW = np.zeros_like(W)
    for t in range(T):
        dW[t] = dy[:, t].mean(axis=0)
    return dy.copy(), dW
""")

# ---------------------------------------------------------------- 04_softmax

wrong("softmax", "Nothing is subtracted, so the exponential of a large score overflows.",
      ["overflow", "subtract the", "without the maximum", "maximum", "nan", "1,000"], """
def softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)
""")

wrong("softmax", "The largest score of all rows is subtracted, so a row far below it sums to 0.",
      ["all rows", "own maximum", "underflow", "own largest", "of each row", "of the whole",
      "row's maximum"], """
def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum(axis=-1, keepdims=True)
""")

wrong("softmax", "Scores are clipped to 500, so two scores above 500 get equal probabilities.",
      ["clip", "large scores", "500", "subtract the", "limited to", "cut off"], """
def softmax(x):
    x = np.clip(x, -500, 500)
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)
""")

wrong("softmax", "The sum runs over axis 1, which is the last axis of a matrix only.",
      ["last axis", "axis=-1", "axis -1", "axis 1", "three axes", "more axes"], """
def softmax(x):
    if x.ndim == 1:
        x = x - max(x)
        return np.exp(x) / sum(np.exp(x))
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
""")

wrong("softmax_backward", "Only a score's own probability counts: the diagonal of the Jacobian.",
      ["diagonal", "own probability", "other probabilities", "sum over the row",
      "through all", "only its own"], """
def softmax_backward(dp, p):
    return dp * p * (1 - p)
""")

wrong("softmax_backward", "The weighted mean is taken over all rows together, not in each row.",
      ["all rows", "each row", "own row", "row by row", "keepdims", "of the whole"], """
def softmax_backward(dp, p):
    along = np.sum(dp * p)
    return p * (dp - along)
""")

wrong("softmax_backward", "The plain mean of dp is subtracted; it has to be weighted by p.",
      ["weighted", "dp * p", "weigh", "plain mean"], """
def softmax_backward(dp, p):
    return p * (dp - dp.mean(axis=-1, keepdims=True))
""")

wrong("masked_softmax",
      "The softmax runs over all entries and is masked afterwards: rows do not sum to 1.",
      ["afterwards", "after the softmax", "sum to 1", "before the softmax", "normalis",
      "normaliz"], """
def masked_softmax(x, mask):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p * mask
""")

wrong("masked_softmax",
      "A row in which nothing is allowed becomes uniform, because -1e9 is finite.",
      ["empty row", "nothing is allowed", "nothing to attend", "uniform", "-1e9", "finite",
      "no allowed", "all masked"], """
def masked_softmax(x, mask):
    x = np.where(mask, x, -1e9)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
""")

wrong("masked_softmax",
      "The largest score is sought among the masked ones too, and all others underflow.",
      ["masked out", "underflow", "of the masked", "masked score", "even those",
      "over all entries"], """
def masked_softmax(x, mask):
    e = np.exp(x - x.max(axis=-1, keepdims=True)) * mask
    total = e.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    return e / total
""")

wrong("masked_softmax", "Masked scores become 0, and e^0 still takes part.",
      ["score 0", "scores 0", "e^0", "exp(0)", "minus infinity", "-inf", "still takes part",
      "still take part", "set to 0"], """
def masked_softmax(x, mask):
    x = x * mask
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return np.where(np.any(mask, axis=-1, keepdims=True), p, 0)
""")

wrong("temperature_backward", "The sign of dt: t is in the denominator, so a minus is missing.",
      ["the sign", "minus", "negative"], """
def temperature_backward(ds, x, t):
    dx = ds / t
    dt = (ds * x).sum() / t ** 2
    return dx, dt
""")

wrong("temperature_backward", "dt is a number for each row, but one t serves all rows.",
      ["each row", "all rows", "one number", "every row", "per row", "over everything"], """
def temperature_backward(ds, x, t):
    dx = ds / t
    dt = -np.sum(ds * x, axis=-1) / t ** 2
    return dx, dt
""")

wrong("log_softmax_backward", "This is the softmax's own gradient, with p in front.",
      ["softmax's", "of the softmax", "p in front", "softmax_backward", "of softmax"], """
def log_softmax_backward(dy, y):
    p = np.exp(y)
    return p * (dy - (dy * p).sum(axis=-1, keepdims=True))
""")

wrong("log_softmax_backward", "dy is not summed over the row; this is dy (1 - p).",
      ["sum over the row", "not summed", "row's sum", "diagonal", "sum of dy", "total of",
      "only its own"], """
def log_softmax_backward(dy, y):
    return dy * (1 - np.exp(y))
""")

# ---------------------------------------------------------------- 05_attention

wrong("attention", "The scores are divided by d_k and not by its root.",
      ["by d_k", "root of d_k", "sqrt(d_k)", "square root"], """
def attention(query, key, value, mask):
    scores = query @ key.swapaxes(-1, -2) / query.shape[-1]
    scores = np.where(mask, scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p
""")

wrong("attention", "The scale is 1 / 8, which is right only for d_k = 64.",
      ["= 64", "hard-coded", "fixed scale", "1 / 8", "by 8", "root of d_k", "sqrt(d_k)",
      "fixed number"], """
def attention(query, key, value, mask):
    scores = (query @ key.swapaxes(-1, -2)) / 8.0
    scores = np.where(mask, scores, -np.inf)
    scores = scores - scores.max(axis=-1, keepdims=True)
    p = np.exp(scores)
    p = p / p.sum(axis=-1, keepdims=True)
    return p @ value, p
""")

wrong("attention", "The softmax runs over the queries and not over the keys.",
      ["over the queries", "over the keys", "axis=-2", "axis -2", "wrong axis",
      "columns sum", "column sums", "each query"], """
def attention(query, key, value, mask):
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    scores = np.where(mask, scores, -1e30)
    e = np.exp(scores - scores.max(axis=-2, keepdims=True))
    p = e / e.sum(axis=-2, keepdims=True)
    return p @ value, p
""")

wrong("attention", "The mask is inverted: True hides a key.",
      ["invert", "opposite", "wrong way", "reversed", "may attend", "allowed"], """
def attention(query, key, value, mask):
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    scores = np.where(mask, -1e30, scores)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p
""")

wrong("attention", "Masked scores become -100, which is not low enough if the others are lower.",
      ["-100", "minus infinity", "-inf", "low enough", "not masked enough", "finite"], """
def attention(query, key, value, mask):
    d_k = query.shape[-1]
    scores = np.einsum("...qd,...kd->...qk", query, key) / math.sqrt(d_k)
    scores = np.where(mask, scores, -100)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p
""")

wrong("attention", "Weights are masked after the softmax and no longer sum to 1.",
      ["after the softmax", "before the softmax", "sum to 1", "normalis", "normaliz"], """
def attention(query, key, value, mask):
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    p = p * mask
    return p @ value, p
""")

wrong("mirror_matrix", "The turn is n f and not (n - 1) f, so row t becomes row n - t.",
      ["n - 1", "one position", "off by one", "by one", "one too far", "n - t"], """
def mirror_matrix(frequencies, n):
    d = 2 * len(frequencies)
    W = np.zeros((d, d))
    for i, f in enumerate(frequencies):
        c, s = math.cos(n * f), math.sin(n * f)
        W[2 * i:2 * i + 2, 2 * i:2 * i + 2] = [[-c, s], [s, c]]
    return W
""")

wrong("mirror_matrix", "This walks n - 1 steps on, to row t + n - 1: it turns but does not mirror.",
      ["does not mirror", "t + n - 1", "rotat", "turns instead", "shift", "walks on",
      "minus sign", "sign of"], """
def mirror_matrix(frequencies, n):
    d = 2 * len(frequencies)
    W = np.zeros((d, d))
    for i, f in enumerate(frequencies):
        c, s = math.cos((n - 1) * f), math.sin((n - 1) * f)
        W[2 * i, 2 * i], W[2 * i, 2 * i + 1] = c, -s
        W[2 * i + 1, 2 * i], W[2 * i + 1, 2 * i + 1] = s, c
    return W
""")

wrong("attention_backward", "The scale 1 / sqrt(d_k) is missing on the way to the keys.",
      ["dkey", "scale of the keys", "keys' scale", "sqrt(d_k)", "root of d_k"], """
def attention_backward(dy, query, key, value, p):
    dp = dy @ value.swapaxes(-1, -2)
    dvalue = p.swapaxes(-1, -2) @ dy
    dscores = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
    dquery = dscores @ key / math.sqrt(query.shape[-1])
    dkey = dscores.swapaxes(-1, -2) @ query
    return dquery, dkey, dvalue
""")

wrong("attention_backward", "The softmax's backward sums over the queries and not over the keys.",
      ["over the queries", "over the keys", "axis=-2", "axis -2", "wrong axis", "columns",
      "row of p"], """
def attention_backward(dy, query, key, value, p):
    scale = 1 / math.sqrt(query.shape[-1])
    dp = dy @ value.swapaxes(-1, -2)
    dvalue = p.swapaxes(-1, -2) @ dy
    dscores = p * (dp - (dp * p).sum(axis=-2, keepdims=True))
    return scale * dscores @ key, scale * dscores.swapaxes(-1, -2) @ query, dvalue
""")

wrong("attention_backward", "The scale is the root of d_v, the values' width, and not of d_k.",
      ["d_v", "width of the values", "of value"], """
def attention_backward(dy, query, key, value, p):
    dp = np.einsum("...qv,...kv->...qk", dy, value)
    dvalue = np.einsum("...qk,...qv->...kv", p, dy)
    dscores = p * (dp - (dp * p).sum(axis=-1, keepdims=True)) / math.sqrt(value.shape[-1])
    dquery = np.einsum("...qk,...kd->...qd", dscores, key)
    dkey = np.einsum("...qk,...qd->...kd", dscores, query)
    return dquery, dkey, dvalue
""")

wrong("attention_backward",
      "The softmax is skipped: dp is only multiplied by p, its mean stays in.",
      ["subtract", "softmax's backward", "through the softmax", "sum to 0", "second term",
      "along", "weighted mean"], """
def attention_backward(dy, query, key, value, p):
    dp = dy @ value.swapaxes(-1, -2)
    dscores = p * dp / math.sqrt(query.shape[-1])
    dquery = dscores @ key
    dkey = dscores.swapaxes(-1, -2) @ query
    dvalue = p.swapaxes(-1, -2) @ dy
    return dquery, dkey, dvalue
""")

# ---------------------------------------------------------------- 06_masks

wrong("shifted", "EOS stands in the last column, after the padding, and not after the last token.",
      ["after the padding", "before its padding", "last column", "behind the padding",
      "end of the row", "after its last token"], """
def shifted(target):
    B, T = target.shape
    bos = np.full((B, 1), 1, target.dtype)
    eos = np.full((B, 1), 2, target.dtype)
    decoder_input = np.concatenate([bos, target], axis=1)
    next_target = np.concatenate([target, eos], axis=1)
    return decoder_input, next_target
""")

wrong("shifted", "EOS replaces the last token of each target.",
      ["last token", "replac", "overwrit", "off by one", "too early", "one position"], """
def shifted(target):
    B, T = target.shape
    decoder_input = np.zeros((B, T + 1), target.dtype)
    next_target = np.zeros((B, T + 1), target.dtype)
    decoder_input[:, 0] = 1
    decoder_input[:, 1:] = target
    next_target[:, :T] = target
    for b in range(B):
        end = np.count_nonzero(target[b])
        next_target[b, end - 1] = 2
    return decoder_input, next_target
""")

wrong("shifted", "All sentences get their EOS where the longest one ends.",
      ["own length", "longest", "each sentence", "every sentence", "same place",
      "same position", "same column", "its padding"], """
def shifted(target):
    B, T = target.shape
    longest = (target != 0).sum(axis=1).max()
    decoder_input = np.pad(target, ((0, 0), (1, 0)), constant_values=1)
    next_target = np.pad(target, ((0, 0), (0, 1)))
    next_target[:, longest] = 2
    return decoder_input, next_target
""")

wrong("causal_mask", "A position may not attend to itself.",
      ["itself", "diagonal", "own position", "strict"], """
def causal_mask(ids):
    position = np.arange(ids.shape[1])
    return position[:, None] > position
""")

wrong("causal_mask", "The mask is transposed: each position sees what comes after it.",
      ["transpos", "future", "after it", "upper triang", "exchanged", "swapped",
      "later positions", "row is the query"], """
def causal_mask(ids):
    T = ids.shape[1]
    return np.triu(np.ones((T, T), dtype=bool))
""")

wrong("causal_mask", "T is read from the batch axis of ids.",
      ["batch", "axis 0", "shape[0]", "shape[1]", "number of sentences", "wrong axis"], """
def causal_mask(ids):
    T = len(ids)
    return np.tril(np.ones((T, T), dtype=bool))
""")

wrong("three_masks", "The cross-attention's mask comes from the target; its keys are the source.",
      ["cross"], """
def three_masks(source, target):
    T = target.shape[1]
    encoder = (source != 0)[:, None, None, :]
    real = (target != 0)[:, None, None, :]
    causal = np.tril(np.ones((T, T), dtype=bool))
    return encoder, causal & real, real
""")

wrong("three_masks", "The decoder's mask hides the future but not the padding.",
      ["padding of the target", "target's padding", "decoder's padding",
      "padding in the decoder", "decoder: padding", "decoder"], """
def three_masks(source, target):
    B, T = target.shape
    real = (source != 0)[:, None, None, :]
    causal = np.tril(np.ones((T, T), dtype=bool))
    decoder = np.broadcast_to(causal, (B, 1, T, T))
    return real, decoder, real
""")

wrong("three_masks", "In the decoder, padding is hidden as a query and not as a key.",
      ["as a query", "queries", "as a key", "keys are", "query instead", "rows instead",
      "row instead"], """
def three_masks(source, target):
    position = np.arange(target.shape[1])
    causal = position <= position[:, None]
    encoder = (source != 0)[:, None, None, :]
    decoder = causal & (target != 0)[:, None, :, None]
    return encoder, decoder, encoder
""")

wrong("masked_loss", "Padding counts: the number of all tokens is returned.",
      ["count", "padding counts", "all tokens", "real tokens"], """
def masked_loss(losses, ids):
    real = ids != 0
    return losses[real].sum(), ids.size
""")

wrong("masked_loss", "total is already the mean, and the training loop divides it once more.",
      ["mean", "divided twice", "divides", "already divided"], """
def masked_loss(losses, ids):
    real = ids != 0
    count = int(real.sum())
    total = (losses * real).sum() / count
    return total, count
""")

wrong("masked_loss",
      "A token whose loss is 0 is taken for padding, and padding's own loss is counted.",
      ["padding", "from ids", "loss of 0", "loss is 0", "zero loss", "by the losses"], """
def masked_loss(losses, ids):
    real = losses > 0
    return losses[real].sum(), real.sum()
""")

wrong("find_leaks",
      "Every token is replaced with the letter 3, and a token that is 3 does not change.",
      ["another letter", "already", "letter 3", "same letter", "does not change", "id 3",
      "is not replaced"], """
def find_leaks(model, ids):
    T = len(ids)
    y = model(ids)
    leak = np.zeros((T, T), dtype=bool)
    for u in range(T):
        changed = ids.copy()
        changed[u] = 3
        moved = np.abs(model(changed) - y).max(axis=-1) > 1e-3
        leak[:u, u] = moved[:u]
    return leak
""")

wrong("find_leaks",
      "A replaced token is never put back, so later runs have several replaced tokens.",
      ["put back", "restor", "no other", "one token", "cumul", "earlier tokens",
      "stay replaced", "a copy"], """
def find_leaks(model, ids):
    T = len(ids)
    y = model(ids)
    ids = ids.copy()
    leak = np.zeros((T, T), dtype=bool)
    for u in range(T):
        ids[u] = ids[u] + 1 if ids[u] < 28 else 3
        moved = (np.abs(model(ids) - y) > 1e-3).any(axis=-1)
        for t in range(u):
            leak[t, u] = moved[t]
    return leak
""")

wrong("find_leaks", "leak is transposed: its rows are tokens and its columns outputs.",
      ["transpos", "rows and columns", "rows are outputs", "swapped", "exchanged"], """
def find_leaks(model, ids):
    T = len(ids)
    y = model(ids)
    leak = np.zeros((T, T), dtype=bool)
    for u in range(T):
        changed = ids.copy()
        changed[u] = 3 if ids[u] != 3 else 4
        moved = (abs(model(changed) - y) > 1e-3).any(axis=1)
        leak[u, :u] = moved[:u]
    return leak
""")

# ---------------------------------------------------------------- 07_heads

wrong("split_heads", "One reshape to (B, H, T, d) mixes the positions with the heads.",
      ["reshape", "mixes", "swap", "transpos", "positions"], """
def split_heads(x, num_heads):
    B, T, width = x.shape
    return x.reshape(B, num_heads, T, width // num_heads)
""")

wrong("split_heads", "Each head takes every H-th number; its numbers lie side by side.",
      ["every H", "side by side", "interleav", "neighbour", "head by head", "H-th"], """
def split_heads(x, num_heads):
    return np.stack([x[:, :, h::num_heads] for h in range(num_heads)], axis=1)
""")

wrong("merge_heads", "The heads are reshaped without bringing the positions to the front.",
      ["swap", "transpos", "mixes", "positions", "reshape"], """
def merge_heads(heads):
    B, H, T, d = heads.shape
    return heads.reshape(B, T, H * d)
""")

wrong("merge_heads", "The numbers of the heads alternate; they should lie head by head.",
      ["alternat", "interleav", "head by head", "side by side"], """
def merge_heads(heads):
    B, H, T, d = heads.shape
    return heads.transpose(0, 2, 3, 1).reshape(B, T, H * d)
""")

wrong("multi_head_attention",
      "The merge reshapes (B, H, T, d) without moving the heads behind the positions.",
      ["merge", "without the swap", "swapaxes", "transpos", "mixed"], """
def multi_head_attention(attend, x, w_q, w_k, w_v, w_o, num_heads):
    B, T, _ = x.shape

    def split(a):
        return a.reshape(B, T, num_heads, -1).transpose(0, 2, 1, 3)

    heads = attend(split(x @ w_q), split(x @ w_k), split(x @ w_v))
    return heads.reshape(B, T, -1) @ w_o
""")

wrong("multi_head_attention", "Queries and keys are exchanged in the call of attend.",
      ["exchang", "swapped", "queries and keys", "keys and queries", "query and key"], """
def multi_head_attention(attend, x, w_q, w_k, w_v, w_o, num_heads):
    B, T, _ = x.shape
    q, k, v = [(x @ w).reshape(B, T, num_heads, -1).swapaxes(1, 2) for w in (w_k, w_q, w_v)]
    heads = attend(q, k, v)
    return heads.swapaxes(1, 2).reshape(B, T, -1) @ w_o
""")

wrong("multi_head_attention", "The queries are divided by sqrt(d_k), which attend does already.",
      ["scaled twice", "twice", "already", "sqrt(d_k)", "root of d_k", "scale"], """
def multi_head_attention(attend, x, w_q, w_k, w_v, w_o, num_heads):
    B, T, _ = x.shape
    q = (x @ w_q).reshape(B, T, num_heads, -1).swapaxes(1, 2)
    k = (x @ w_k).reshape(B, T, num_heads, -1).swapaxes(1, 2)
    v = (x @ w_v).reshape(B, T, num_heads, -1).swapaxes(1, 2)
    q = q / math.sqrt(q.shape[-1])
    heads = attend(q, k, v)
    return heads.swapaxes(1, 2).reshape(B, T, -1) @ w_o
""")

wrong("contributions", "Head h gets every H-th row of w_o; its rows lie side by side.",
      ["every H", "own rows", "side by side", "interleav", "H-th", "block of rows",
      "neighbouring rows"], """
def contributions(heads, w_o):
    H, d_v = heads.shape[1], heads.shape[3]
    w = w_o.reshape(d_v, H, -1).swapaxes(0, 1)
    return heads @ w
""")

wrong("contributions", "The terms are divided by the number of heads: they make a mean and no sum.",
      ["mean of", "the mean", "divided by the number", "number of heads", "divided by H",
      "averag", "factor H"], """
def contributions(heads, w_o):
    B, H, T, d_v = heads.shape
    c = np.zeros((B, H, T, w_o.shape[1]))
    for h in range(H):
        c[:, h] = heads[:, h] @ w_o[h * d_v:(h + 1) * d_v] / H
    return c
""")

wrong("projections_backward",
      "The gradients of the heads are reshaped without moving the positions forward.",
      ["swap", "transpos", "merge", "mixes", "positions", "reshape"], """
def projections_backward(dq, dk, dv, x, w_q, w_k, w_v):
    B, T, d_model = x.shape
    dq, dk, dv = [a.reshape(B, T, -1) for a in (dq, dk, dv)]
    dx = dq @ w_q.T + dk @ w_k.T + dv @ w_v.T
    weights = [np.einsum("btm,bth->mh", x, a) for a in (dq, dk, dv)]
    return dx, weights[0], weights[1], weights[2]
""")

wrong("projections_backward", "dx is overwritten twice, and only the values' part of it is left.",
      ["only the values", "queries and keys", "of all three", "overwrit", "path through",
      "paths", "sum of three", "only dv"], """
def projections_backward(dq, dk, dv, x, w_q, w_k, w_v):
    B, T, d_model = x.shape
    grads = []
    for d, w in ((dq, w_q), (dk, w_k), (dv, w_v)):
        merged = d.swapaxes(1, 2).reshape(B, T, -1)
        dx = merged @ w.T
        grads.append(x.reshape(-1, d_model).T @ merged.reshape(B * T, -1))
    return dx, grads[0], grads[1], grads[2]
""")

# ---------------------------------------------------------------- 08_residual_layer_norm

wrong("residual_backward", "The path around the layer is missing in dx.",
      ["path around", "residual", "direct path", "identity", "dy itself", "around the layer"], """
def residual_backward(dy, x, W):
    return dy @ W.T, x.T @ dy
""")

wrong("residual_backward", "dW also gets a term for the path around, which does not use W.",
      ["does not use W", "y instead of x", "belongs to x", "around has no", "extra term",
      "too much in dW", "x.T @ dy"], """
def residual_backward(dy, x, W):
    y = x + x @ W
    dx = dy + dy @ W.T
    dW = y.T @ dy
    return dx, dW
""")

wrong("layer_norm", "The variance divides by D - 1.",
      ["D - 1", "ddof", "sample variance", "unbiased"], """
def layer_norm(x, gamma, beta, epsilon):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True, ddof=1)
    s = 1 / np.sqrt(variance + epsilon)
    n = (x - mean) * s
    return gamma * n + beta, n, s
""")

wrong("layer_norm", "Epsilon is added to the standard deviation and not to the variance.",
      ["epsilon"], """
def layer_norm(x, gamma, beta, epsilon):
    mean = x.mean(axis=-1, keepdims=True)
    s = 1 / (x.std(axis=-1, keepdims=True) + epsilon)
    n = (x - mean) * s
    return gamma * n + beta, n, s
""")

wrong("layer_norm", "s is the standard deviation, not the factor 1 / standard deviation.",
      ["1 / s", "inverse", "reciprocal", "standard deviation itself", "1 / standard"], """
def layer_norm(x, gamma, beta, epsilon):
    centred = x - x.mean(axis=-1, keepdims=True)
    s = np.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + epsilon)
    n = centred / s
    return gamma * n + beta, n, s
""")

wrong("layer_norm", "Mean and variance are taken over the rows, for each column, as in batch norm.",
      ["each row", "each column", "batch norm", "row by row", "over the rows", "wrong axis",
      "axis=0", "axis 0"], """
def layer_norm(x, gamma, beta, epsilon):
    D = x.shape[-1]
    rows = x.reshape(-1, D)
    centred = rows - rows.mean(axis=0)
    s = 1 / np.sqrt((centred ** 2).mean(axis=0) + epsilon)
    n = (centred * s).reshape(x.shape)
    return gamma * n + beta, n, 1 / np.sqrt(x.var(axis=-1, keepdims=True) + epsilon)
""")

wrong("layer_norm", "gamma multiplies beta as well.",
      ["beta"], """
def layer_norm(x, gamma, beta, epsilon):
    mu = x.mean(-1, keepdims=True)
    s = (x.var(-1, keepdims=True) + epsilon) ** -0.5
    n = (x - mu) * s
    return gamma * (n + beta), n, s
""")

wrong("layer_norm_backward", "The path through the mean is missing: rows of dx do not sum to 0.",
      ["through the mean", "mean of dn", "sum to 0", "sums to 0", "term with the mean",
      "mean is missing"], """
def layer_norm_backward(dy, n, s, gamma):
    dn = dy * gamma
    along = (dn * n).mean(axis=-1, keepdims=True)
    dx = s * (dn - n * along)
    rows = tuple(range(dy.ndim - 1))
    return dx, (dy * n).sum(axis=rows), dy.sum(axis=rows)
""")

wrong("layer_norm_backward",
      "The path through the standard deviation is missing: dx is not orthogonal to n.",
      ["standard deviation", "variance", "orthogonal", "along", "third term"], """
def layer_norm_backward(dy, n, s, gamma):
    dn = dy * gamma
    dx = s * (dn - dn.mean(axis=-1, keepdims=True))
    rows = tuple(range(dy.ndim - 1))
    return dx, (dy * n).sum(axis=rows), dy.sum(axis=rows)
""")

wrong("layer_norm_backward", "Both means are sums over the row; a division by D is missing.",
      ["instead of the mean", "sum instead", "divided by D", "division by D", "factor D",
      "/ D", "D times", "not the sum"], """
def layer_norm_backward(dy, n, s, gamma):
    D = dy.shape[-1]
    dn = dy * gamma
    dx = s * (dn - dn.sum(axis=-1, keepdims=True) - n * (dn * n).sum(axis=-1, keepdims=True))
    dgamma = (dy * n).reshape(-1, D).sum(axis=0)
    dbeta = dy.reshape(-1, D).sum(axis=0)
    return dx, dgamma, dbeta
""")

wrong("layer_norm_backward", "gamma is forgotten in dx: dy is used where dn = dy gamma belongs.",
      ["gamma"], """
def layer_norm_backward(dy, n, s, gamma):
    mean = dy.mean(axis=-1, keepdims=True)
    along = (dy * n).mean(axis=-1, keepdims=True)
    dx = s * (dy - mean - n * along)
    rows = tuple(range(dy.ndim - 1))
    return dx, (dy * n).sum(axis=rows), dy.sum(axis=rows)
""")

wrong("rms_norm_backward", "LayerNorm's term for the mean is left in, but RMSNorm has no mean.",
      ["no mean", "mean", "centre", "as in LayerNorm"], """
def rms_norm_backward(dy, n, s, gamma):
    dn = dy * gamma
    dx = s * (dn - dn.mean(axis=-1, keepdims=True) - n * (dn * n).mean(axis=-1, keepdims=True))
    rows = tuple(range(dy.ndim - 1))
    return dx, (dy * n).sum(axis=rows)
""")

wrong("rms_norm_backward",
      "dgamma is summed over the first axis only, and keeps a row for each position.",
      ["all rows", "first axis", "shape", "every row", "sum over", "axes"], """
def rms_norm_backward(dy, n, s, gamma):
    dn = dy * gamma
    along = (dn * n).mean(axis=-1, keepdims=True)
    dx = s * (dn - n * along)
    dgamma = (dy * n).sum(axis=0)
    return dx, dgamma
""")

# ---------------------------------------------------------------- 08b_block

wrong("feed_forward_backward", "ReLU's gate looks at the gradient and not at a.",
      ["a > 0", "sign of the gradient", "dh > 0", "of the forward", "gradient instead",
      "own sign"], """
def feed_forward_backward(dy, x, W1, b1, W2):
    a = x @ W1 + b1
    h = np.maximum(a, 0)
    dh = dy @ W2.T
    da = np.maximum(dh, 0)
    return da @ W1.T, x.T @ da, da.sum(axis=0), h.T @ dy, dy.sum(axis=0)
""")

wrong("feed_forward_backward", "The bias b1 is forgotten when a is computed again.",
      ["b1"], """
def feed_forward_backward(dy, x, W1, b1, W2):
    a = x @ W1
    h = a * (a > 0)
    dW2 = h.T @ dy
    db2 = dy.sum(0)
    da = (dy @ W2.T) * (a > 0)
    dW1 = x.T @ da
    db1 = da.sum(0)
    dx = da @ W1.T
    return dx, dW1, db1, dW2, db2
""")

wrong("dropouts_backward", "dW is made from x; W has seen h, what the first dropout left.",
      ["x instead of h", "h instead", "first dropout", "first mask", "h.T",
      "after the dropout", "without its dropout"], """
def dropouts_backward(dy, x, W, keep1, keep2, rate):
    D = W.shape[0]
    dz = dy * keep2 / (1 - rate)
    dx = (dz @ W.T) * keep1 / (1 - rate)
    dW = x.reshape(-1, D).T @ dz.reshape(-1, D)
    return dx, dW
""")

wrong("dropouts_backward", "What is kept is multiplied by 1 - rate and not divided by it.",
      ["multipl", "divided by 1 - rate", "1 - rate"], """
def dropouts_backward(dy, x, W, keep1, keep2, rate):
    D = len(W)
    kept = 1 - rate
    h = x * keep1 * kept
    dz = dy * keep2 * kept
    dx = dz @ W.T * keep1 * kept
    return dx, h.reshape(-1, D).T @ dz.reshape(-1, D)
""")

wrong("post_norm_backward",
      "The path around bypasses LayerNorm: dx gets dy where it has to get dz.",
      ["dz", "LayerNorm", "bypass", "through the norm", "pre-norm"], """
def post_norm_backward(dy, x, W, n, s):
    along = (dy * n).mean(axis=-1, keepdims=True)
    dz = s * (dy - dy.mean(axis=-1, keepdims=True) - n * along)
    D = W.shape[0]
    dW = x.reshape(-1, D).T @ dz.reshape(-1, D)
    dx = dy + dz @ W.T
    return dx, dW
""")

wrong("post_norm_backward", "dW is made from n, the output of the norm; W has read x.",
      ["n instead of x", "n instead", "input of the", "read x", "saw x", "x.T", "made from n"], """
def post_norm_backward(dy, x, W, n, s):
    D = W.shape[0]
    centred = dy - dy.mean(axis=-1, keepdims=True)
    dz = s * (centred - n * (dy * n).mean(axis=-1, keepdims=True))
    dx = dz + dz @ W.T
    dW = n.reshape(-1, D).T @ dz.reshape(-1, D)
    return dx, dW
""")

# ---------------------------------------------------------------- 09_transformer

wrong("count_parameters",
      "The decoder has only one attention per layer; the cross-attention is missing.",
      ["cross", "two attentions", "second attention", "attention to the memory"], """
def count_parameters(V, d_model, d_ff, N):
    attention = 4 * (d_model ** 2 + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder = N * (attention + feed_forward + 2 * norm)
    decoder = N * (attention + feed_forward + 3 * norm)
    return V * d_model, encoder, decoder
""")

wrong("count_parameters",
      "A final LayerNorm is counted at the end of each stack; the paper has none.",
      ["final norm", "final LayerNorm", "end of each", "end of the stack", "norm too many",
      "norms", "per stack"], """
def count_parameters(V, d_model, d_ff, N):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = N * (attention + feed_forward + 2 * norm) + norm
    decoder = N * (2 * attention + feed_forward + 3 * norm) + norm
    return V * d_model, encoder, decoder
""")

wrong("decoder_layer",
      "LayerNorm comes before each sub-layer, and the paper puts it after the sum.",
      ["pre-norm", "after the residual", "after the sum", "post-norm", "before each",
      "before the sub-layer"], """
def decoder_layer(x, memory, causal, memory_mask, W1, W2):
    def norm(z):
        z = z - z.mean(axis=-1, keepdims=True)
        return z / np.sqrt((z ** 2).mean(axis=-1, keepdims=True) + 1e-5)

    def attend(q, kv, mask):
        scores = np.where(mask, q @ kv.swapaxes(-1, -2) / math.sqrt(q.shape[-1]), -np.inf)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) @ kv

    n = norm(x)
    x = x + attend(n, n, causal)
    x = x + attend(norm(x), memory, memory_mask)
    return x + np.maximum(norm(x) @ W1, 0) @ W2
""")

wrong("decoder_layer", "The cross-attention ignores memory_mask and looks at the source's padding.",
      ["memory_mask", "padding of the source", "source's padding", "mask of the memory",
      "cross"], """
def decoder_layer(x, memory, causal, memory_mask, W1, W2):
    def norm(z):
        z = z - z.mean(axis=-1, keepdims=True)
        return z / np.sqrt((z ** 2).mean(axis=-1, keepdims=True) + 1e-5)

    def softmax(z):
        e = np.exp(z - z.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    scale = math.sqrt(x.shape[-1])
    scores = np.where(causal, x @ x.swapaxes(1, 2) / scale, -np.inf)
    x = norm(x + softmax(scores) @ x)
    x = norm(x + softmax(x @ memory.swapaxes(1, 2) / scale) @ memory)
    return norm(x + np.maximum(x @ W1, 0) @ W2)
""")

wrong("decoder_layer", "There is no residual around the cross-attention.",
      ["residual", "path around", "cross-attention"], """
def decoder_layer(x, memory, causal, memory_mask, W1, W2):
    def norm(z):
        z = z - z.mean(axis=-1, keepdims=True)
        return z / np.sqrt((z ** 2).mean(axis=-1, keepdims=True) + 1e-5)

    def attend(q, kv, mask):
        scores = np.where(mask, q @ kv.swapaxes(-1, -2) / math.sqrt(q.shape[-1]), -np.inf)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) @ kv

    x = norm(x + attend(x, x, causal))
    x = norm(attend(x, memory, memory_mask))
    return norm(x + np.maximum(x @ W1, 0) @ W2)
""")

wrong("memory_backward", "Only the last layer's gradient of the memory is returned.",
      ["both layers", "first layer", "layer 0", "of the last layer", "of_first", "each layer"], """
def memory_backward(dy, p, V, U):
    middle = dy + dy @ U[1].T
    dmemory = p[1].swapaxes(-1, -2) @ middle @ V[1].T
    dx = middle + middle @ U[0].T
    return dx, dmemory
""")

wrong("memory_backward", "The layers are gone through forward, from 0 to 1.",
      ["order", "last layer first", "reverse", "forward", "layer 1 first"], """
def memory_backward(dy, p, V, U):
    dx, dmemory = dy, 0
    for n in range(2):
        dx = dx + dx @ U[n].T
        dmemory = dmemory + p[n].swapaxes(-1, -2) @ dx @ V[n].T
    return dx, dmemory
""")

wrong("shared_backward", "dE[target] += ... counts a target token that occurs twice only once.",
      ["twice", "repeated", "several times", "more than once", "only once", "add.at"], """
def shared_backward(dsource, dtarget, dlogits, h, source, target, E):
    V, D = E.shape
    dE = np.einsum("btv,btd->vd", dlogits, h)
    np.add.at(dE, source, math.sqrt(D) * dsource)
    dE[target] += math.sqrt(D) * dtarget
    return dlogits @ E, dE
""")

wrong("shared_backward", "The sqrt(D) of the two embeddings is missing.",
      ["sqrt(D)", "root of D", "scale of the embed", "the scale"], """
def shared_backward(dsource, dtarget, dlogits, h, source, target, E):
    V, D = E.shape
    dh = dlogits @ E
    dE = dlogits.reshape(-1, V).T @ h.reshape(-1, D)
    np.add.at(dE, source, dsource)
    np.add.at(dE, target, dtarget)
    return dh, dE
""")

wrong("figure_1_shapes", "merged is d_model wide, which holds only where H d_v is d_model.",
      ["merged"], """
def figure_1_shapes(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    memory = np.array([B, T_k, d_model])
    query = np.array([B, H, T_q, d_k])
    key = np.array([B, H, T_k, d_k])
    scores = np.array([B, H, T_q, T_k])
    answers = np.array([B, H, T_q, d_v])
    merged = np.array([B, T_q, d_model])
    logits = np.array([B, T_q, V])
    masked = np.array([B, H, T_q, T_q])
    inner = np.array([B, T_q, d_ff])
    return memory, query, key, scores, answers, merged, logits, masked, inner
""")

wrong("figure_1_shapes", "The masked self-attention is given the source's keys: (T_q, T_k).",
      ["masked"], """
def figure_1_shapes(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    shapes = [[B, T_k, d_model], [B, H, T_q, d_k], [B, H, T_k, d_k], [B, H, T_q, T_k],
              [B, H, T_q, d_v], [B, T_q, H * d_v], [B, T_q, V], [B, H, T_q, T_k], [B, T_q, d_ff]]
    return tuple(np.array(shape) for shape in shapes)
""")

# ---------------------------------------------------------------- 10_loss

wrong("cross_entropy_backward", "Padding gets a gradient too.",
      ["padding"], """
def cross_entropy_backward(dloss, p, ids):
    q = np.eye(p.shape[-1])[ids]
    return dloss * (p - q)
""")

wrong("cross_entropy_backward",
      "It is divided by the number of tokens, as for a mean; the loss is a sum.",
      ["the mean", "a mean", "divided by", "number of tokens", "averag"], """
def cross_entropy_backward(dloss, p, ids):
    real = ids != 0
    dlogits = p.copy()
    B, T = ids.shape
    dlogits[np.arange(B)[:, None], np.arange(T), ids] -= 1
    return dloss * dlogits * real[..., None] / real.sum()
""")

wrong("cross_entropy_backward", "This is the gradient with respect to p, not to the logits.",
      ["respect to p", "to the logits", "through the softmax", "-1 / p", "not the logits"], """
def cross_entropy_backward(dloss, p, ids):
    q = np.eye(p.shape[-1])[ids]
    real = (ids != 0)[..., None]
    return -q / p * real * dloss
""")

wrong("smoothed_targets", "eps is divided among K - 1 ids; the target has its share of it as well.",
      ["K - 1", "K ids", "including the target", "all ids", "the others only"], """
def smoothed_targets(ids, K, eps):
    other = eps / (K - 1)
    q = np.full(ids.shape + (K,), other)
    np.put_along_axis(q, ids[..., None], 1 - eps, axis=-1)
    q[ids == 0] = 0
    floor = 0.0
    for share in [1 - eps] + [other] * (K - 1):
        if share > 0:
            floor -= share * math.log(share)
    return q, floor
""")

wrong("smoothed_targets", "The floor is read from the first token's row, which may be padding.",
      ["padding", "first row", "first token", "q[0"], """
def smoothed_targets(ids, K, eps):
    q = (1 - eps) * np.eye(K)[ids] + eps / K
    q = q * (ids != 0)[..., None]
    row = q[0, 0]
    row = row[row > 0]
    return q, -(row * np.log(row)).sum()
""")

wrong("smoothed_targets", "The floor is averaged over all positions, padding included.",
      ["padding", "all positions", "over the real", "real tokens"], """
def smoothed_targets(ids, K, eps):
    q = ((1 - eps) * np.eye(K)[ids] + eps / K) * (ids != 0)[..., None]
    logs = np.log(np.where(q > 0, q, 1))
    return q, -(q * logs).sum(axis=-1).mean()
""")

wrong("test_smoothing",
      "Only the sums are tested, so a version that does not smooth at all passes.",
      ["not smooth", "one-hot", "takes nothing", "does not take", "takes something",
      "no smoothing"], """
def test_smoothing(smoothed):
    q = smoothed(np.array([1, 2, 3]), 6, 0.1)
    return bool(np.allclose(q.sum(axis=1), 1))
""")

wrong("test_smoothing", "It insists on eps / K, but how the ids share eps is up to the author.",
      ["up to its author", "up to the author", "other correct", "exact numbers",
      "numbers of one", "correct version", "right version"], """
def test_smoothing(smoothed):
    ids, K, eps = np.array([3, 1]), 4, 0.2
    expected = (1 - eps) * np.eye(K)[ids] + eps / K
    return bool(np.allclose(smoothed(ids, K, eps), expected))
""")

wrong("perplexity", "The product of all probabilities underflows in a large batch.",
      ["underflow", "product", "logarithm"], """
def perplexity(p, ids):
    real = p[ids != 0]
    return np.prod(real) ** (-1 / len(real))
""")

wrong("perplexity", "Probabilities below 1e-3 are raised to 1e-3, so a bad model looks better.",
      ["floor", "clip", "small probabilit", "1e-3", "0.001", "unlikely", "raised to"], """
def perplexity(p, ids):
    real = ids != 0
    p = np.maximum(p[real], 1e-3)
    return np.exp(-np.log(p).mean())
""")

wrong("perplexity", "2 is raised to a mean of natural logarithms.",
      ["base 2", "base", "natural", "e^", "2 **"], """
def perplexity(p, ids):
    mean = -np.log(p[ids != 0]).mean()
    return 2 ** mean
""")

wrong("perplexity",
      "The mean of each sentence's perplexity is taken, so short sentences count more.",
      ["of each sentence", "each row", "per row", "per sentence", "mean of means", "short",
      "sentences"], """
def perplexity(p, ids):
    rows = []
    for probabilities, row in zip(p, ids):
        real = row != 0
        if real.any():
            rows.append(np.exp(-np.log(probabilities[real]).mean()))
    return np.mean(rows)
""")

wrong("test_accumulation", "All parts of the test are equally long, so the plain mean passes.",
      ["equal size", "equally", "same length", "plain mean", "different lengths",
      "same size", "mean of means", "equal parts"], """
def test_accumulation(accumulated):
    tokens = np.random.default_rng(1).standard_normal((6, 2))
    parts = [tokens[:3], tokens[3:]]
    g = accumulated(np.array([part.mean(axis=0) for part in parts]), np.array([3.0, 3.0]))
    return bool(np.allclose(g, tokens.mean(axis=0)))
""")

wrong("test_accumulation",
      "It only compares a version with itself on reordered parts, so a plain mean passes.",
      ["plain mean", "mean of means", "unweighted", "cut in", "in two ways", "different cut",
      "order of"], """
def test_accumulation(accumulated):
    gradients = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 0.0]])
    counts = np.array([1.0, 4.0, 2.0])
    there = accumulated(gradients, counts)
    back = accumulated(gradients[::-1], counts[::-1])
    return bool(np.allclose(there, back))
""")

# ---------------------------------------------------------------- 11_learning

wrong("adam_step", "The two means are not corrected for their start at 0.",
      ["correct", "bias", "start at 0", "1 - beta"], """
def adam_step(w, g, m, v, t, learning_rate, beta1, beta2, epsilon):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g ** 2
    return w - learning_rate * m / (np.sqrt(v) + epsilon), m, v
""")

wrong("adam_step", "Epsilon is added under the root.",
      ["epsilon"], """
def adam_step(w, g, m, v, t, learning_rate, beta1, beta2, epsilon):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g ** 2
    m_hat = m / (1 - beta1 ** t)
    v_hat = v / (1 - beta2 ** t)
    w = w - learning_rate * m_hat / np.sqrt(v_hat + epsilon)
    return w, m, v
""")

wrong("adam_step", "The corrected means are returned as the new m and v.",
      ["corrected", "next step", "running mean"], """
def adam_step(w, g, m, v, t, learning_rate, beta1, beta2, epsilon):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    m = m / (1 - beta1 ** t)
    v = v / (1 - beta2 ** t)
    w = w - learning_rate * m / (np.sqrt(v) + epsilon)
    return w, m, v
""")

wrong("adam_step", "The correction uses t + 1 where t is already 1 at the first step.",
      ["t + 1", "off by one", "one step", "first step"], """
def adam_step(w, g, m, v, t, learning_rate, beta1, beta2, epsilon):
    m_new = beta1 * m + (1 - beta1) * g
    v_new = beta2 * v + (1 - beta2) * g * g
    rate = learning_rate * np.sqrt(1 - beta2 ** (t + 1)) / (1 - beta1 ** (t + 1))
    correction = np.sqrt(1 - beta2 ** (t + 1))
    return w - rate * m_new / (np.sqrt(v_new) + epsilon * correction), m_new, v_new
""")

wrong("adam_step", "v is the running mean of |g| and not of its square.",
      ["square of", "its square", "squared", "absolute", "g * g", "|g|"], """
def adam_step(w, g, m, v, t, learning_rate, beta1, beta2, epsilon):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * np.abs(g)
    mean = m / (1 - beta1 ** t)
    square = v / (1 - beta2 ** t)
    w = w - learning_rate * mean / (np.sqrt(square) + epsilon)
    return w, m, v
""")

wrong("clip", "The norm is compared with the square of the limit.",
      ["limit ** 2", "limit^2", "square of the limit", "limit's square", "squared"], """
def clip(dW, db, limit):
    norm = np.sqrt(np.sum(dW ** 2) + np.sum(db ** 2))
    if norm > limit ** 2:
        return dW * limit / norm, db * limit / norm
    return dW, db
""")

wrong("clip", "Weight and bias are clipped separately, each by its own norm.",
      ["separate", "together", "own norm", "one vector", "one norm"], """
def clip(dW, db, limit):
    def clipped(g):
        norm = np.linalg.norm(g)
        return g * min(1, limit / norm) if norm > 0 else g
    return clipped(dW), clipped(db)
""")

wrong("clip", "A gradient that is short enough is stretched to the limit.",
      ["shorter", "is short", "stretch", "leave it", "as it is", "below the limit",
      "lengthen"], """
def clip(dW, db, limit):
    norm = np.sqrt((dW * dW).sum() + (db * db).sum())
    factor = limit / norm
    return dW * factor, db * factor
""")

wrong("schedule", "After the warm-up the rate falls with 1 / step and not with its root.",
      ["square root", "the root", "sqrt", "1 / step", "falls too"], """
def schedule(steps, d_model, warmup):
    peak = (d_model * warmup) ** -0.5
    return peak * np.where(steps < warmup, steps / warmup, warmup / steps)
""")

wrong("schedule", "warmup is the paper's 4,000, whatever is asked for.",
      ["4000", "4,000", "hard-coded", "ignores warmup", "warmup is"], """
def schedule(steps, d_model, warmup):
    return d_model ** -0.5 * np.minimum(steps ** -0.5, steps * 4000.0 ** -1.5)
""")

wrong("schedule", "steps // warmup is a whole number: the rate is 0 during the whole warm-up.",
      ["whole number", "integer", "//", "rounded down", "is 0", "division"], """
def schedule(steps, d_model, warmup):
    peak = 1 / math.sqrt(d_model * warmup)
    rise = steps // warmup
    fall = np.sqrt(warmup / steps)
    return peak * np.minimum(rise, fall)
""")

wrong("find_fault", "Line 14 is named: it reads x, but line 4 has overwritten it.",
      ["line"], """
def find_fault(step):
    rng = np.random.default_rng(3)
    E, W, b = rng.standard_normal((6, 4)), rng.standard_normal((4, 4)), rng.standard_normal(4)
    ids, targets = np.array([0, 2, 2, 5]), np.array([1, 1, 3, 2])
    before = [E.copy(), W.copy(), b.copy()]
    after = step(E, W, b, ids, targets, 1.0)[:3]
    for w, old, new in zip((E, W, b), before, after):
        gradient = old - new
        for place in np.ndindex(w.shape):
            losses = []
            for h in (1e-5, -1e-5):
                w[place] += h
                losses.append(step(E, W, b, ids, targets, 1.0)[3])
                w[place] -= h
            if abs((losses[0] - losses[1]) / 2e-5 - gradient[place]) > 1e-5:
                return False, 14
    return True, 14
""")

wrong("find_fault", "Only b is tested, so a step that moves E or W wrongly passes.",
      ["passes a wrong", "wrong step", "E and W", "only b", "lets a wrong",
      "every parameter", "all parameters", "wrong version"], """
def find_fault(step):
    rng = np.random.default_rng(0)
    E, W, b = rng.standard_normal((5, 3)), rng.standard_normal((3, 3)), rng.standard_normal(3)
    ids, targets = np.array([0, 1, 1, 4]), np.array([2, 3, 0, 1])
    gradient = b - step(E, W, b, ids, targets, 1.0)[2]
    for i in range(3):
        nudge = np.zeros(3)
        nudge[i] = 1e-5
        right = step(E, W, b + nudge, ids, targets, 1.0)[3]
        left = step(E, W, b - nudge, ids, targets, 1.0)[3]
        if abs((right - left) / 2e-5 - gradient[i]) > 1e-6:
            return False, 4
    return True, 4
""")

wrong("find_fault",
      "No token occurs twice in the test, so a step that loses repeated tokens passes.",
      ["twice", "repeat", "several times", "wrong step", "lets a wrong", "passes a wrong",
      "wrong version"], """
def find_fault(step):
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(shape) for shape in ((5, 3), (3, 3), 3)]
    given = np.array([0, 1, 3]), np.array([2, 3, 1]), 1.0
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
""")

# ---------------------------------------------------------------- 12_writing

wrong("nucleus", "The token that reaches top_p is left out; the nucleus stops before it.",
      ["reach", "one token too few", "too few", "too small", "crosses", "stops before"], """
def nucleus(logits, temperature, top_p):
    z = logits / temperature
    p = np.exp(z - z.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    order = np.argsort(-p, axis=-1)
    total = np.cumsum(np.take_along_axis(p, order, axis=-1), axis=-1)
    keep = total <= top_p
    keep[..., 0] = True
    mask = np.zeros(p.shape, dtype=bool)
    np.put_along_axis(mask, order, keep, axis=-1)
    p = np.where(mask, p, 0)
    return p / p.sum(axis=-1, keepdims=True)
""")

wrong("nucleus", "The result is sorted, most likely first, and not in the vocabulary's order.",
      ["order of the vocabulary", "sorted", "vocabulary's order"], """
def nucleus(logits, temperature, top_p):
    z = -np.sort(-logits / temperature, axis=-1)
    e = np.exp(z - z[..., :1])
    p = e / e.sum(axis=-1, keepdims=True)
    before = np.cumsum(p, axis=-1) - p
    p = p * (before < top_p)
    return p / p.sum(axis=-1, keepdims=True)
""")

wrong("nucleus", "The nucleus is chosen at temperature 1; the temperature enters afterwards only.",
      ["temperature"], """
def nucleus(logits, temperature, top_p):
    def softmax(z):
        e = np.exp(z - z.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    plain = softmax(logits)
    order = np.argsort(-logits, axis=-1)
    falling = np.take_along_axis(plain, order, axis=-1)
    keep = np.cumsum(falling, axis=-1) - falling < top_p
    mask = np.zeros(logits.shape, dtype=bool)
    np.put_along_axis(mask, order, keep, axis=-1)
    p = softmax(logits / temperature) * mask
    return p / p.sum(axis=-1, keepdims=True)
""")

wrong("beam_step",
      "The place in the list is taken apart with L, the number of hypotheses, not with V.",
      ["L instead of V", "by L", "divided by V", "// V", "row of the list",
      "number of hypotheses", "number of tokens"], """
def beam_step(sums, log_p, width):
    L, V = log_p.shape
    totals = (sums[:, None] + log_p).ravel()
    best = np.argsort(totals)[::-1][:width]
    return totals[best], best // L, best % L
""")

wrong("beam_step",
      "Parent and token are taken apart with 10, which fails for every other vocabulary.",
      ["by 10", "hard-coded", "// V", "divided by V", "fixed size", "size of the vocabulary",
      "only for"], """
def beam_step(sums, log_p, width):
    totals = sums[:, None] + log_p
    best = np.argsort(-totals.reshape(-1))[:width]
    parents, tokens = best // 10, best % 10
    return totals.reshape(-1)[best], parents, tokens
""")

wrong("beam_step", "The winners are chosen by the new token alone, without the sums.",
      ["without the sums", "sums are", "ignores", "so far", "new token alone",
      "last token alone", "history"], """
def beam_step(sums, log_p, width):
    L, V = log_p.shape
    best = np.argsort(-log_p, axis=None)[:width]
    parents, tokens = np.divmod(best, V)
    totals = sums[parents] + log_p[parents, tokens]
    return totals, parents, tokens
""")

wrong("beam_step", "The winners come worst first.",
      ["worst first", "best first", "ascending", "reverse"], """
def beam_step(sums, log_p, width):
    L, V = log_p.shape
    totals = (sums[:, None] + log_p).flatten()
    best = np.argsort(totals)[-width:]
    return totals[best], best // V, best % V
""")

wrong("ranked", "The end of the text is not counted in n.",
      ["the end", "+ 1", "one more", "end of the text"], """
def ranked(sums, lengths, alpha):
    penalties = ((5 + lengths) / 6) ** alpha
    scores = sums / penalties
    return scores, np.argsort(-scores)
""")

wrong("ranked", "order holds each hypothesis's rank and not the indices, best first.",
      ["ranks", "rank of", "indices", "inverse permutation", "argsort of argsort"], """
def ranked(sums, lengths, alpha):
    penalties = ((5 + lengths + 1) / 6) ** alpha
    scores = sums / penalties
    order = np.argsort(np.argsort(-scores))
    return scores, order
""")

wrong("ranked", "The 6 is not raised to alpha, so the penalty is not 1 for n = 1.",
      ["not raised", "n = 1", "is 1 for", "6 to the", "(5 + 1)", "power", "penalty of"], """
def ranked(sums, lengths, alpha):
    n = lengths + 1
    scores = sums / ((5 + n) ** alpha / 6)
    return scores, np.argsort(-scores)
""")

wrong("cached_step", "Hypothesis i takes its own past and not that of parents[i].",
      ["parent"], """
def cached_step(query, key, value, keys, values, parents):
    W = len(query)
    keys = np.concatenate([keys[:W], key[:, None]], axis=1)
    values = np.concatenate([values[:W], value[:, None]], axis=1)
    scores = np.einsum("wtd,wd->wt", keys, query) / math.sqrt(query.shape[-1])
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return np.einsum("wt,wtv->wv", p, values), keys, values
""")

wrong("cached_step", "The newest position does not attend to itself.",
      ["newest", "itself", "own key", "own position", "new key"], """
def cached_step(query, key, value, keys, values, parents):
    old_keys, old_values = keys[parents], values[parents]
    scores = np.einsum("wtd,wd->wt", old_keys, query) / math.sqrt(query.shape[-1])
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    y = np.einsum("wt,wtv->wv", p, old_values)
    keys = np.concatenate([old_keys, key[:, None]], axis=1)
    values = np.concatenate([old_values, value[:, None]], axis=1)
    return y, keys, values
""")

# ---------------------------------------------------------------- 12b_text

wrong("bits_per_character", "The cost is in nats: the natural logarithm is not divided by log 2.",
      ["base 2", "natural", "nats", "log(2)", "log 2"], """
def bits_per_character(logits, ids):
    z = logits[:, :-1] - logits[:, :-1].max(axis=-1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, ids[:, 1:, None], axis=-1)
    return -right.mean()
""")

wrong("bits_per_character",
      "Each row is compared with the character just read, not with the next one.",
      ["next character", "shift", "same position", "after each", "one position",
      "already read", "itself"], """
def bits_per_character(logits, ids):
    z = logits - logits.max(axis=-1, keepdims=True)
    p = np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)
    B, T = ids.shape
    right = p[np.arange(B)[:, None], np.arange(T), ids]
    return -np.log2(right[:, 1:]).mean()
""")

# ---------------------------------------------------------------- 14_evaluation

wrong("accuracies", "A text counts as right only if its padding was predicted as well.",
      ["padding"], """
def accuracies(predicted, ids):
    real = ids != 0
    tokens = (predicted == ids)[real].mean()
    texts = (predicted == ids).all(axis=1).mean()
    return tokens, texts
""")

wrong("accuracies", "tokens is the mean of the texts' shares, so a short text's tokens weigh more.",
      ["mean of", "over the texts", "short text", "per text", "of each text",
      "all tokens together"], """
def accuracies(predicted, ids):
    shares = []
    for guess, text in zip(predicted, ids):
        real = text != 0
        shares.append((guess[real] == text[real]).mean())
    shares = np.array(shares)
    return shares.mean(), (shares == 1).mean()
""")

wrong("clipped_matches", "Nothing is clipped: an n-gram counts as often as the hypothesis has it.",
      ["clip", "at most", "as often", "repeated"], """
def clipped_matches(hypothesis, reference, n):
    found = [tuple(hypothesis[i:i + n]) for i in range(len(hypothesis) - n + 1)]
    right = {tuple(reference[i:i + n]) for i in range(len(reference) - n + 1)}
    return sum(gram in right for gram in found), len(found)
""")

wrong("clipped_matches", "Each n-gram is coded as a decimal number, so ids of 10 and more collide.",
      ["collid", "collision", "same number", "same code", "different n-grams"], """
def clipped_matches(hypothesis, reference, n):
    def grams(text):
        count = {}
        for i in range(len(text) - n + 1):
            code = 0
            for token in text[i:i + n]:
                code = 10 * code + int(token)
            count[code] = count.get(code, 0) + 1
        return count

    ours, theirs = grams(hypothesis), grams(reference)
    matches = sum(min(ours[c], theirs.get(c, 0)) for c in ours)
    return matches, max(0, len(hypothesis) - n + 1)
""")

wrong("clipped_matches", "total counts tokens and not n-grams.",
      ["tokens instead", "counts tokens", "n - 1", "total", "number of tokens"], """
def clipped_matches(hypothesis, reference, n):
    from collections import Counter
    ours = Counter(tuple(hypothesis[i:i + n]) for i in range(len(hypothesis) - n + 1))
    theirs = Counter(tuple(reference[i:i + n]) for i in range(len(reference) - n + 1))
    return (ours & theirs).total(), len(hypothesis)
""")

wrong("corpus_bleu", "Hypotheses longer than their references are rewarded: the penalty exceeds 1.",
      ["longer", "above 1", "penalty", "at least as long", "reward", "exceeds 1"], """
def corpus_bleu(matches, totals, lengths, references):
    precisions = matches.sum(axis=0) / totals.sum(axis=0)
    penalty = math.exp(1 - references.sum() / lengths.sum())
    return penalty * np.prod(precisions) ** (1 / len(precisions))
""")

wrong("corpus_bleu", "The root is always the fourth, though N need not be 4.",
      ["fourth", "1 / 4", "0.25", "1 / N", "N-th", "number of precisions"], """
def corpus_bleu(matches, totals, lengths, references):
    c, r = lengths.sum(), references.sum()
    penalty = 1 if c >= r else math.exp(1 - r / c)
    precisions = matches.sum(axis=0) / totals.sum(axis=0)
    return penalty * precisions.prod() ** 0.25
""")

wrong("corpus_bleu",
      "Precisions are averaged over the sentences; the corpus's counts are to be added first.",
      ["sentence", "of the corpus", "summed first", "sum first", "add up first"], """
def corpus_bleu(matches, totals, lengths, references):
    precisions = (matches / totals).mean(axis=0)
    ratio = references.sum() / lengths.sum()
    penalty = np.exp(min(0, 1 - ratio))
    return penalty * precisions.prod() ** (1 / matches.shape[1])
""")

# ---------------------------------------------------------------- 14b_translation

wrong("merged", "Pairs are coded as 10 a + b, so different pairs collide once an id is 10 or more.",
      ["collid", "collision", "same code", "same number", "different pairs", "10 * a", "10 a"], """
def merged(ids, new):
    codes = 10 * ids[:-1] + ids[1:]
    codes = codes[(ids[:-1] != 0) & (ids[1:] != 0)]
    code = np.bincount(codes).argmax()
    pair = np.array([code // 10, code % 10])
    text, t = [], 0
    while t < len(ids):
        if t + 1 < len(ids) and ids[t] == pair[0] and ids[t + 1] == pair[1]:
            text.append(new)
            t += 2
        else:
            text.append(ids[t])
            t += 1
    return pair, np.array(text)
""")

wrong("merged", "Pairs with a space are counted too.",
      ["space", "within words", "id 0", "word"], """
def merged(ids, new):
    pairs = np.stack([ids[:-1], ids[1:]], axis=1)
    counts = (pairs[:, None] == pairs).all(axis=-1).sum(axis=1)
    pair = pairs[counts.argmax()]
    found = (pairs == pair).all(axis=1)
    replaced = np.where(np.append(found, False), new, ids)
    return pair, replaced[~np.append(False, found)]
""")

wrong("merged", "Only the first occurrence of the pair is replaced.",
      ["first occurrence", "every occurrence", "all occurrences", "each occurrence",
      "only one", "only the first"], """
def merged(ids, new):
    counts = {}
    for a, b in zip(ids[:-1], ids[1:]):
        if a and b:
            counts[a, b] = counts.get((a, b), 0) + 1
    pair = max(counts, key=counts.get)
    text = list(ids)
    for t in range(len(text) - 1):
        if (text[t], text[t + 1]) == pair:
            text[t:t + 2] = [new]
            break
    return np.array(pair), np.array(text)
""")

wrong("may_follow",
      "With n = 1, the last 0 tokens are written[-0:], the whole text, so nothing is ruled out.",
      ["n = 1", "n=1", "-0", "unigram", "no token before"], """
def may_follow(written, n, V):
    allowed = np.ones(V, dtype=bool)
    last = list(written[-(n - 1):])
    for t in range(len(written) - n + 1):
        if list(written[t:t + n - 1]) == last:
            allowed[written[t + n - 1]] = False
    return allowed
""")

wrong("may_follow", "The last n tokens are compared, so n + 1-grams are ruled out and not n-grams.",
      ["n - 1", "n + 1", "one token too", "too long", "last n tokens"], """
def may_follow(written, n, V):
    text = written.tolist()
    last = text[len(text) - n:]
    banned = [text[t + n] for t in range(len(text) - n) if text[t:t + n] == last]
    return np.array([token not in banned for token in range(V)])
""")

# ---------------------------------------------------------------- 15_before_attention

wrong("test_context", "A context that does not depend on the sentence passes, such as zeros.",
      ["constant", "zeros", "depends on", "ignores", "first word", "wrong version"], """
def test_context(encode):
    x = np.random.default_rng(0).standard_normal((3, 5, 3))
    lengths = np.array([5, 5, 5])
    padded = np.concatenate([x, np.zeros((3, 2, 3))], axis=1)
    return bool(np.allclose(encode(x, lengths), encode(padded, lengths)))
""")

wrong("test_context",
      "The padding differs by none: both calls have the same T, so every version passes.",
      ["more padding", "same padding", "no padding", "wrong version", "without padding"], """
def test_context(encode):
    x = np.random.default_rng(0).standard_normal((2, 4, 3))
    lengths = np.array([4, 4])
    together = encode(x, lengths)
    alone = np.concatenate([encode(x[:1], lengths[:1]), encode(x[1:], lengths[1:])])
    other = x.copy()
    other[:, 0] += 1
    moved = encode(other, lengths)
    reads = (np.abs(moved - together).max(axis=1) > 1e-6).all()
    return bool(np.allclose(together, alone) and reads)
""")

wrong("rnn_backward", "What the next step sent back to h is forgotten.",
      ["carried", "next step", "sent back", "both uses"], """
def rnn_backward(dy, carried, dU, h, before, U):
    dz = dy * (1 - h ** 2)
    return dz, dz @ U.T, dU + before.T @ dz
""")

wrong("rnn_backward", "dU holds this step only; the later steps' gradient is lost.",
      ["later steps", "added to", "accumul", "of this step", "dU that", "own step"], """
def rnn_backward(dy, carried, dU, h, before, U):
    dz = (dy + carried) * (1 - h * h)
    dbefore = dz @ U.T
    dU = before.T @ dz
    return dz, dbefore, dU
""")

wrong("rnn_backward", "dU += changes the array that was passed in.",
      ["argument", "in place", "unchanged", "mutat", "passed in"], """
def rnn_backward(dy, carried, dU, h, before, U):
    dz = (dy + carried) * (1 - h * h)
    dU += before.T @ dz
    return dz, dz @ U.T, dU
""")

wrong("cell_backward", "The path from h_new to the cell lacks the slope of tanh.",
      ["slope of tanh", "1 - tanh", "tanh's slope", "slope of the tanh", "through tanh"], """
def cell_backward(dh, dc, c, i, f, g, o):
    tanh = np.tanh(f * c + i * g)
    dcell = dc + dh * o
    da_i = dcell * g * i * (1 - i)
    da_f = dcell * c * f * (1 - f)
    da_g = dcell * i * (1 - g ** 2)
    da_o = dh * tanh * o * (1 - o)
    return da_i, da_f, da_g, da_o, dcell * f
""")

wrong("cell_backward", "g is treated as a sigmoid: its slope is 1 - g^2, not g (1 - g).",
      ["da_g", "candidate", "1 - g", "g is a tanh", "slope of g"], """
def cell_backward(dh, dc, c, i, f, g, o):
    def sigmoid_slope(s):
        return s * (1 - s)

    t = np.tanh(f * c + i * g)
    dcell = dc + dh * o * (1 - t * t)
    return (dcell * g * sigmoid_slope(i), dcell * c * sigmoid_slope(f),
            dcell * i * sigmoid_slope(g), dh * t * sigmoid_slope(o), dcell * f)
""")

wrong("additive_attention", "tanh is applied to the weighted sum and not to query plus key.",
      ["tanh"], """
def additive_attention(query, key, value, w):
    scores = np.tanh((query[:, :, None] + key[:, None]) @ w)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p
""")

wrong("additive_attention", "The scores are divided by sqrt(A), as in dot-product attention.",
      ["sqrt", "root of", "scale"], """
def additive_attention(query, key, value, w):
    hidden = np.tanh(query[:, :, None, :] + key[:, None, :, :])
    scores = hidden @ w / math.sqrt(len(w))
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p
""")

wrong("additive_backward", "The slope of tanh, 1 - hidden^2, is missing.",
      ["slope", "1 - hidden", "through tanh", "1 - tanh"], """
def additive_backward(dy, query, key, value, w, p):
    hidden = np.tanh(query[:, :, None] + key[:, None])
    dvalue = p.swapaxes(1, 2) @ dy
    dp = dy @ value.swapaxes(1, 2)
    dscores = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
    dw = np.einsum("bqk,bqka->a", dscores, hidden)
    dpairs = dscores[..., None] * w
    return dpairs.sum(axis=2), dpairs.sum(axis=1), dvalue, dw
""")

wrong("additive_backward", "dw is made from query plus key without the tanh.",
      ["dw"], """
def additive_backward(dy, query, key, value, w, p):
    pairs = query[:, :, None] + key[:, None]
    dvalue = p.swapaxes(1, 2) @ dy
    dp = dy @ value.swapaxes(1, 2)
    dscores = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
    dw = np.einsum("bqk,bqka->a", dscores, pairs)
    dpairs = dscores[..., None] * w * (1 - np.tanh(pairs) ** 2)
    return dpairs.sum(axis=2), dpairs.sum(axis=1), dvalue, dw
""")

# ---------------------------------------------------------------- 16_why_self_attention

wrong("multiplications",
      "Attention's weighted sum of the values is not counted: n^2 d comes twice.",
      ["weighted sum", "values", "2 n", "two products", "second product", "both products"], """
def multiplications(n, d, k, r):
    linear = n * d ** 2
    attention = 4 * linear + n ** 2 * d
    restricted = 4 * linear + n * r * d
    return attention, 2 * linear, k * linear, k * n * d + linear, restricted
""")

wrong("multiplications", "The separable convolution lacks its linear layer.",
      ["separable", "linear layer"], """
def multiplications(n, d, k, r):
    linear = n * d * d
    return (4 * linear + 2 * n * n * d, 2 * linear, k * linear, k * n * d,
            4 * linear + 2 * n * r * d)
""")

wrong("window_masks", "The dilated kernel has k + 1 positions.",
      ["k + 1", "one position", "too many", "off by one", "too far", "k positions"], """
def window_masks(T, radius, k, dilation):
    t = np.arange(T)
    before = t[:, None] - t
    restricted = abs(before) <= radius
    dilated = (before >= 0) & (before <= k * dilation) & (before % dilation == 0)
    return restricted, dilated
""")

wrong("window_masks", "The dilated mask is transposed and looks into the future.",
      ["future", "transpos", "later", "causal", "after it", "to the right"], """
def window_masks(T, radius, k, dilation):
    restricted = np.zeros((T, T), dtype=bool)
    dilated = np.zeros((T, T), dtype=bool)
    for t in range(T):
        restricted[t, max(0, t - radius):t + radius + 1] = True
        for j in range(k):
            if t + j * dilation < T:
                dilated[t, t + j * dilation] = True
    return restricted, dilated
""")

wrong("layers_needed",
      "The logarithm is rounded wrongly, so an exact power such as 125 = 5^3 gets a layer too "
      "many.",
      ["exact power", "power of k", "round", "float", "logarithm"], """
def layers_needed(n, k):
    plain = math.ceil((n - 1) / (k - 1))
    dilated = math.ceil(math.log(n) / math.log(k))
    return plain, dilated
""")

wrong("layers_needed", "A plain layer is said to add k positions; it adds k - 1.",
      ["k - 1", "adds k", "overlap", "new positions"], """
def layers_needed(n, k):
    plain, seen = 0, 1
    while seen < n:
        seen += k
        plain += 1
    dilated, seen = 0, 1
    while seen < n:
        seen *= k
        dilated += 1
    return plain, dilated
""")

wrong("follows", "Tokens without a partner count as misses.",
      ["without a partner", "do not count", "no partner", "-1"], """
def follows(weights, partner):
    hits = weights.argmax(axis=-1) == partner[:, None]
    share = hits.mean(axis=(0, 2))
    b, t = np.nonzero(partner >= 0)
    distances = partner[b, t] - t
    counts = [np.sum(distances == d) for d in set(distances.tolist())]
    return share, max(counts) / len(t)
""")

wrong("follows", "Distances are compared without their sign, so left and right count as one.",
      ["sign", "abs", "left and right", "both sides", "direction"], """
def follows(weights, partner):
    b, t = np.nonzero(partner >= 0)
    goal = partner[b, t]
    share = (weights.argmax(axis=-1)[b, :, t] == goal[:, None]).mean(axis=0)
    counts = np.bincount(np.abs(goal - t))
    return share, counts.max() / len(t)
""")

# ---------------------------------------------------------------- 13_after_2017

wrong("rms_norm", "The mean is subtracted first, which makes it a LayerNorm.",
      ["mean is subtracted", "subtracts the mean", "centre", "LayerNorm", "leaves the mean",
      "no mean"], """
def rms_norm(x, gamma, epsilon):
    s = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + epsilon)
    n = (x - x.mean(axis=-1, keepdims=True)) * s
    return gamma * n, n, s
""")

wrong("rms_norm", "Epsilon is added outside the root.",
      ["epsilon"], """
def rms_norm(x, gamma, epsilon):
    rms = np.sqrt((x ** 2).mean(axis=-1, keepdims=True))
    s = 1 / (rms + epsilon)
    n = x * s
    return gamma * n, n, s
""")

wrong("rotary", "Each pair turns clockwise.",
      ["clockwise", "direction", "wrong way", "turns back"], """
def rotary(x, positions, base):
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-np.arange(0, d, 2) / d)
    cos, sin = np.cos(angles), np.sin(angles)
    y = np.empty_like(x)
    y[..., 0::2] = x[..., 0::2] * cos + x[..., 1::2] * sin
    y[..., 1::2] = x[..., 1::2] * cos - x[..., 0::2] * sin
    return y
""")

wrong("rotary", "Numbers i and i + d/2 form a pair, not 2i and 2i + 1.",
      ["neighbour", "halves", "half", "2i + 1", "form a pair", "i + d/2"], """
def rotary(x, positions, base):
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)
""")

wrong("test_pairs", "Only lengths are compared, so a turn by the square of the position passes.",
      ["distance", "wrong version", "lengths", "norms"], """
def test_pairs(turned):
    x = np.random.default_rng(0).standard_normal((5, 6))
    y = turned(x, np.array([0, 1, 4, 9, 20]))
    return bool(np.allclose((x * x).sum(axis=1), (y * y).sum(axis=1)) and not np.allclose(x, y))
""")

wrong("test_pairs",
      "The pairs 2i and 2i + 1 are demanded, but which numbers form a pair is up to the author.",
      ["up to the author", "right version", "correct version", "other correct", "other pairs"], """
def test_pairs(turned):
    rng = np.random.default_rng(0)
    x, positions = rng.standard_normal((3, 4)), np.array([1, 5, 7])
    y = turned(x, positions)
    before = x[:, 0::2] ** 2 + x[:, 1::2] ** 2
    after = y[:, 0::2] ** 2 + y[:, 1::2] ** 2
    return bool(np.allclose(before, after) and not np.allclose(x, y))
""")

wrong("swiglu", "e^a / (1 + e^a) is inf / inf for a = 1,000.",
      ["overflow", "nan", "inf /", "1,000", "large"], """
def swiglu(a, u):
    s = np.exp(a) / (1 + np.exp(a))
    gate = a * s
    return gate * u, (s + gate * (1 - s)) * u, gate
""")

wrong("swiglu",
      "slope_a is the slope of the sigmoid alone; the product rule for a sigmoid(a) is missing.",
      ["product rule", "slope_a", "slope of silu", "slope of the gate"], """
def swiglu(a, u):
    s = 0.5 * (1 + np.tanh(a / 2))
    silu = a * s
    return silu * u, s * (1 - s) * u, silu
""")

wrong("grouped_attention",
      "Head h reads group h mod G, so neighbouring heads read different groups.",
      ["neighbour", "modulo", "mod G", "tile", "repeat", "wrong group", "group"], """
def grouped_attention(query, key, value, mask):
    R = query.shape[1] // key.shape[1]
    key, value = np.tile(key, (1, R, 1, 1)), np.tile(value, (1, R, 1, 1))
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    scores = np.where(mask[:, None], scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p
""")

wrong("grouped_attention",
      "The largest score of all queries is subtracted, so other rows underflow.",
      ["each row", "own maximum", "all rows", "underflow", "row's maximum", "own largest",
      "nan", "1,000"], """
def grouped_attention(query, key, value, mask):
    R = query.shape[1] // key.shape[1]
    key, value = key.repeat(R, axis=1), value.repeat(R, axis=1)
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    e = np.exp(scores - scores.max()) * mask[:, None]
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ value, p
""")

# ---------------------------------------------------------------- 17_reading_again

wrong("beaten", "A missing cost is taken for 0, so a model without a cost beats others.",
      ["nan", "missing", "lacks", "no number"], """
def beaten(bleu, cost):
    bleu, cost = np.nan_to_num(bleu), np.nan_to_num(cost)
    as_good = (bleu >= bleu[:, None]) & (cost <= cost[:, None])
    better = (bleu > bleu[:, None]) | (cost < cost[:, None])
    return (as_good & better).any(axis=1)
""")

wrong("beaten", "The answer says which models beat another one, not which are beaten.",
      ["beats another", "wins", "axis", "transpos", "exchang", "swapped", "other way",
      "beats instead"], """
def beaten(bleu, cost):
    as_good = (bleu >= bleu[:, None]) & (cost <= cost[:, None])
    better = (bleu > bleu[:, None]) | (cost < cost[:, None])
    return (as_good & better).any(axis=0)
""")

wrong("beaten", "A model has to be better in both to beat another one; one of the two is enough.",
      ["in both", "equal", "one of the two", "strict", "ties", "same score", "same cost"], """
def beaten(bleu, cost):
    R = len(bleu)
    lost = np.zeros(R, dtype=bool)
    for i in range(R):
        for j in range(R):
            if bleu[j] > bleu[i] and cost[j] < cost[i]:
                lost[i] = True
    return lost
""")

wrong("training_operations", "An operation is counted as a multiply-add: a factor 2 is missing.",
      ["factor 2", "addition", "one half", "a half", "multiply-add", "half of"], """
def training_operations(hours, processors, rate, steps, tokens, encoder, decoder, table):
    printed = hours * 3600 * processors * rate * 1e12
    needed = 3 * tokens * steps * (encoder + decoder + table)
    return printed, needed
""")

wrong("training_operations",
      "The backward pass is counted as one product for each weight, but it needs two.",
      ["backward", "two products"], """
def training_operations(hours, processors, rate, steps, tokens, encoder, decoder, table):
    seconds = hours * 60 * 60
    forward = 2 * tokens * (encoder + decoder + table)
    return seconds * processors * rate * 1e12, (forward + forward) * steps
""")

wrong("implied_vocabulary",
      "The values are d_k wide, so rows that change d_k alone come out wrong.",
      ["d_v"], """
def implied_vocabulary(printed, N, d_model, d_ff, H, d_k, d_v):
    attention = 3 * H * d_k * (d_model + 1) + (H * d_k + 1) * d_model
    feed_forward = (d_model + 1) * d_ff + (d_ff + 1) * d_model
    layers = N * (3 * attention + 2 * feed_forward + 10 * d_model)
    return (1e6 * (printed - 0.5) - layers) / d_model, (1e6 * (printed + 0.5) - layers) / d_model
""")

wrong("implied_vocabulary", "The norms' gamma and beta are not counted.",
      ["norm", "gamma"], """
def implied_vocabulary(printed, N, d_model, d_ff, H, d_k, d_v):
    attention = H * (2 * d_k + d_v) * (d_model + 1) + (H * d_v + 1) * d_model
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    layers = N * (3 * attention + 2 * feed_forward)
    low, high = [(1e6 * (printed + half) - layers) / d_model for half in (-0.5, 0.5)]
    return low, high
""")

wrong("differences",
      "The squares are divided by the number of runs; each row's mean costs one of them.",
      ["degrees of freedom", "ddof", "minus the number", "own mean", "number of runs",
      "one less", "means cost"], """
def differences(base, rows):
    mean = rows.mean(axis=1)
    squares = ((base - base.mean()) ** 2).sum() + ((rows - mean[:, None]) ** 2).sum()
    variance = squares / (base.size + rows.size)
    error = np.sqrt(variance * (1 / base.size + 1 / rows.shape[1]))
    return mean - base.mean(), error
""")

wrong("differences", "The base's mean is taken as exact, and its own error is left out.",
      ["of the base", "base's", "1 / S_0", "both means", "1 / base.size"], """
def differences(base, rows):
    R, S = rows.shape
    mean = rows.mean(axis=1)
    squares = base.var() * len(base) + (rows.var(axis=1) * S).sum()
    variance = squares / (len(base) - 1 + R * (S - 1))
    return mean - base.mean(), np.sqrt(variance / S)
""")

wrong("differences", "Scores scatter around the mean of all runs, not around that of their row.",
      ["own mean", "own row", "grand mean", "of all runs", "of their row", "mean of its row",
      "overall"], """
def differences(base, rows):
    everything = np.concatenate([base, rows.ravel()])
    variance = everything.var(ddof=1)
    error = np.sqrt(variance * (1 / base.size + 1 / rows.shape[1]))
    return rows.mean(axis=1) - base.mean(), error
""")

# ================================================================ right answers, in odd styles

right("linear_backward", """
def linear_backward(dy, x, W):
    dW, db = np.zeros_like(W), np.zeros_like(W[0])
    for row, out in zip(x, dy):
        dW += np.outer(row, out)
        db += out
    return np.stack([(W * out).sum(axis=1) for out in dy]), dW, db
""")

right("query_key_backward", """
def query_key_backward(ds, x, w_q, w_k):
    # s = x M x^T with M = W_q W_k^T, so begin with M
    M = w_q @ w_k.T
    dM = np.einsum("bti,btu,buj->ij", x, ds, x, optimize=True)
    dx = np.einsum("btu,buj,ij->bti", ds, x, M) + np.einsum("btu,bti,ij->buj", ds, x, M)
    return dx, dM @ w_k, dM.T @ w_q
""")

right("numeric_gradient", """
def numeric_gradient(f, dy, x, h):
    def loss(flat):
        return np.vdot(dy, f(flat.reshape(x.shape)))

    flat = x.ravel()
    unit = np.eye(flat.size)
    return np.array([(loss(flat + h * e) - loss(flat - h * e)) / 2 / h
                     for e in unit]).reshape(x.shape)
""")

right("slope_along", """
def slope_along(f, dy, x, v, h):
    return float(np.tensordot(dy, np.imag(f(x + 1j * (h * v))) / h, axes=dy.ndim))
""")

right("shares_backward", """
def shares_backward(dy, x):
    rows = []
    for d, row in zip(dy, x):
        s = row.sum()
        jacobian = np.eye(len(row)) / s - np.outer(row, np.ones(len(row))) / s ** 2
        rows.append(jacobian.T @ d)
    return np.stack(rows).astype(x.dtype)
""")

right("twice_backward", """
def twice_backward(dy, x, W):
    def layer(dy, x):
        return dy @ W.T, x.T @ dy

    dh, second = layer(dy, x @ W)
    dx, first = layer(dh, x)
    return dx, first + second
""")

right("embedding", """
def embedding(ids, W):
    V, d = W.shape
    one_hot = (ids[..., None] == np.arange(V)).astype(W.dtype)
    return (one_hot @ W) * d ** 0.5
""")

right("embedding_backward", """
def embedding_backward(dy, ids, W):
    one_hot = np.equal.outer(np.arange(len(W)), ids.ravel())
    return one_hot @ dy.reshape(-1, W.shape[1]) * math.sqrt(W.shape[1])
""")

right("tied_backward", """
def tied_backward(dlogits, h, W):
    dh = sum(dlogits[:, v, None] * W[v] for v in range(len(W)))
    dW = sum(np.multiply.outer(d, row) for d, row in zip(dlogits, h))
    return dh, dW
""")

right("sinusoids", """
def sinusoids(positions, d_model):
    # a hand is a point on the unit circle of the complex plane: e^(i angle) = cos + i sin
    clock = np.arange(d_model // 2)
    hands = np.exp(1j * np.outer(positions, np.exp(-2 * clock / d_model * math.log(10000))))
    return np.stack([hands.imag, hands.real], axis=-1).reshape(len(positions), d_model)
""")

right("rotate_positions", """
def rotate_positions(PE, k):
    T, d_model = PE.shape
    turn = k / 10000 ** (np.arange(0, d_model, 2) / d_model)
    hand = PE[:, 1::2] + 1j * PE[:, ::2]
    return np.ascontiguousarray((hand * np.exp(1j * turn)).conj() * 1j).view(float)
""")

right("learned_positions_backward", """
def learned_positions_backward(dy, W):
    L, (B, T, D) = len(W), dy.shape
    return +dy, np.pad(np.einsum("btd->td", dy), [(0, L - T), (0, 0)])
""")

right("softmax", """
def softmax(x):
    # 1 / sum over j of exp(x_j - x_i) overflows to inf, and 1 / inf is the right 0
    with np.errstate(over="ignore"):
        return 1 / np.exp(x[..., None, :] - x[..., :, None]).sum(axis=-1)
""")

right("softmax_backward", """
def softmax_backward(dp, p):
    return np.einsum("...k,...kj->...j", dp, p[..., None] * (np.eye(p.shape[-1], dtype=p.dtype)
                                                             - p[..., None, :]))
""")

right("softmax_backward", """
def softmax_backward(dp, p):
    flat_dp, flat_p = dp.reshape(-1, dp.shape[-1]), p.reshape(-1, p.shape[-1])
    dx = np.empty_like(flat_p)
    for r in range(len(flat_p)):
        mean = flat_dp[r] @ flat_p[r]
        dx[r] = [(d - mean) * q for d, q in zip(flat_dp[r], flat_p[r])]
    return dx.reshape(p.shape)
""")

right("masked_softmax", """
def masked_softmax(x, mask):
    mask = np.broadcast_to(mask, x.shape)
    p = np.zeros_like(x)
    for place in np.ndindex(x.shape[:-1]):
        allowed = mask[place]
        if allowed.any():
            z = x[place][allowed]
            e = np.exp(z - z.max())
            p[place][allowed] = e / e.sum()
    return p
""")

right("temperature_backward", """
def temperature_backward(ds, x, t):
    return (dx := ds / t), -np.vdot(dx, x) / t
""")

right("log_softmax_backward", """
def log_softmax_backward(dy, y):
    return dy - np.einsum("...k,...j->...k", np.exp(y), dy)
""")

right("attention", """
def attention(query, key, value, mask):
    scores = np.einsum("...qd,...kd->...qk", query * query.shape[-1] ** -0.5, key)
    top = np.max(scores, axis=-1, keepdims=True, where=mask, initial=-np.inf)
    e = np.where(mask, np.exp(np.minimum(scores - top, 0)), 0)
    p = e / np.einsum("...k->...", e)[..., None]
    return np.einsum("...qk,...kv->...qv", p, value), p
""")

right("attention", """
def attention(query, key, value, mask):
    outer, T_q, T_k = query.shape[:-2], query.shape[-2], key.shape[-2]
    y = np.zeros(outer + (T_q, value.shape[-1]), dtype=value.dtype)
    p = np.zeros(outer + (T_q, T_k), dtype=query.dtype)
    for place in np.ndindex(outer):
        for t in range(T_q):
            allowed = np.flatnonzero(mask[place][t])
            z = key[place][allowed] @ query[place][t] / math.sqrt(query.shape[-1])
            z = np.exp(z - max(z))
            p[place][t, allowed] = z / sum(z)
            y[place][t] = p[place][t] @ value[place]
    return y, p
""")

right("mirror_matrix", """
def mirror_matrix(frequencies, n):
    cos, sin = np.cos((n - 1) * frequencies), np.sin((n - 1) * frequencies)
    return (np.kron(np.diag(cos), np.array([[-1, 0], [0, 1]]))
            + np.kron(np.diag(sin), np.array([[0, 1], [1, 0]])))
""")

right("attention_backward", """
def attention_backward(dy, query, key, value, p):
    y = p @ value                                      # sum(dp p) over the keys is dy . y
    scale = query.shape[-1] ** -0.5
    dp = np.einsum("...qv,...kv->...qk", dy, value)
    ds = scale * p * (dp - (dy * y).sum(axis=-1)[..., None])
    return (np.einsum("...qk,...kd->...qd", ds, key), np.einsum("...qk,...qd->...kd", ds, query),
            np.einsum("...qk,...qv->...kv", p, dy))
""")

right("shifted", """
def shifted(target):
    reads, predicts = [], []
    for row in target.tolist():
        letters = [token for token in row if token]
        padding = [0] * (len(row) - len(letters))
        reads.append([1, *letters, *padding])
        predicts.append([*letters, 2, *padding])
    return np.array(reads, dtype=target.dtype), np.array(predicts, dtype=target.dtype)
""")

right("causal_mask", """
def causal_mask(ids):
    T = np.shape(ids)[-1]
    return np.logical_not(np.triu(np.full((T, T), True), 1))
""")

right("three_masks", """
def three_masks(source, target):
    (B, T_k), (_, T_q) = source.shape, target.shape
    encoder = source.astype(bool).reshape(B, 1, 1, T_k)
    decoder = np.zeros((B, 1, T_q, T_q), dtype=bool)
    for t in range(T_q):
        decoder[:, 0, t, :t + 1] = target[:, :t + 1] > 0
    return encoder, decoder, encoder.copy()
""")

right("masked_loss", """
def masked_loss(losses, ids):
    return np.where(ids, losses, 0).sum(), int(np.count_nonzero(ids))
""")

right("find_leaks", """
def find_leaks(model, ids):
    y = model(ids)

    def moved_by(u):
        other = ids.copy()
        other[u] = 28 if ids[u] == 3 else ids[u] - 1
        return np.abs(model(other) - y).max(axis=1) > 1e-3

    return np.triu(np.stack([moved_by(u) for u in range(len(ids))], axis=1), k=1)
""")

right("split_heads", """
def split_heads(x, num_heads):
    return np.stack(np.split(x, num_heads, axis=-1), axis=1)
""")

right("merge_heads", """
def merge_heads(heads):
    return np.concatenate(list(np.moveaxis(heads, 1, 0)), axis=-1)
""")

right("multi_head_attention", """
def multi_head_attention(attend, x, w_q, w_k, w_v, w_o, num_heads):
    def project(w):
        return np.einsum("btm,mhd->bhtd", x, w.reshape(len(w), num_heads, -1))

    heads = attend(*map(project, (w_q, w_k, w_v)))
    return np.einsum("bhtd,hdm->btm", heads, w_o.reshape(num_heads, -1, w_o.shape[-1]))
""")

right("contributions", """
def contributions(heads, w_o):
    B, H, T, d_v = heads.shape
    terms = []
    for h in range(H):
        alone = np.zeros((B, T, H * d_v), dtype=heads.dtype)
        alone[..., h * d_v:(h + 1) * d_v] = heads[:, h]
        terms.append(alone @ w_o)
    return np.stack(terms, axis=1)
""")

right("projections_backward", """
def projections_backward(dq, dk, dv, x, w_q, w_k, w_v):
    dx, weights = np.zeros_like(x), []
    for d, w in zip((dq, dk, dv), (w_q, w_k, w_v)):
        H = d.shape[1]
        dx += np.einsum("bhtd,mhd->btm", d, w.reshape(len(w), H, -1))
        weights.append(np.einsum("btm,bhtd->mhd", x, d).reshape(w.shape))
    return (dx, *weights)
""")

right("residual_backward", """
def residual_backward(dy, x, W):
    return dy @ (W + np.eye(len(W), dtype=W.dtype)).T, np.einsum("ni,nj->ij", x, dy)
""")

right("layer_norm", """
def layer_norm(x, gamma, beta, epsilon):
    D = x.shape[-1]
    centring = np.eye(D, dtype=x.dtype) - np.full((D, D), 1 / D, dtype=x.dtype)
    centred = x @ centring
    s = (np.einsum("...d,...d->...", centred, centred) / D + epsilon)[..., None] ** -0.5
    n = s * centred
    return n * gamma + beta, n, s
""")

right("layer_norm", """
def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, epsilon: float):
    s: np.ndarray = 1 / np.hypot(x.std(axis=-1, keepdims=True), math.sqrt(epsilon))
    return (n := (x - np.average(x, axis=-1)[..., None]) * s) * gamma + beta, n, s
""")

right("layer_norm_backward", """
def layer_norm_backward(dy, n, s, gamma):
    D = n.shape[-1]
    dx = np.zeros_like(n)
    dgamma, dbeta = np.zeros_like(gamma), np.zeros_like(gamma)
    for place in np.ndindex(n.shape[:-1]):
        row = n[place]
        projection = np.eye(D) - np.ones((D, D)) / D - np.outer(row, row) / D
        dx[place] = projection @ (dy[place] * gamma) * s[place]
        dgamma += dy[place] * row
        dbeta += dy[place]
    return dx, dgamma, dbeta
""")

right("rms_norm_backward", """
def rms_norm_backward(dy, n, s, gamma):
    flat = lambda a: a.reshape(-1, a.shape[-1])
    along = np.einsum("...d,...d,d->...", dy, n, gamma) / n.shape[-1]
    return s * (dy * gamma - n * along[..., None]), np.einsum("rd,rd->d", flat(dy), flat(n))
""")

right("feed_forward_backward", """
def feed_forward_backward(dy, x, W1, b1, W2):
    h = (abs(a := x @ W1 + b1) + a) / 2
    da = np.where(h > 0, np.einsum("nd,fd->nf", dy, W2), 0)
    ones = np.ones(len(x), dtype=x.dtype)
    return da.dot(W1.T), x.T.dot(da), ones @ da, h.T.dot(dy), ones @ dy
""")

right("dropouts_backward", """
def dropouts_backward(dy, x, W, keep1, keep2, rate):
    first = np.where(keep1, 1 / (1 - rate), 0).astype(x.dtype)
    second = np.where(keep2, 1 / (1 - rate), 0).astype(x.dtype)
    letters = "abc"[:x.ndim - 1]
    dW = np.einsum(f"{letters}i,{letters}j->ij", x * first, dy * second)
    return np.einsum("...j,ij->...i", dy * second, W) * first, dW
""")

right("post_norm_backward", """
def post_norm_backward(dy, x, W, n, s):
    D = len(W)
    def norm_backward(d):
        d = d - np.sum(d, axis=-1, keepdims=True) / D
        return s * (d - np.sum(d * n, axis=-1, keepdims=True) / D * n)
    dz = norm_backward(dy)
    rows = tuple(range(x.ndim - 1))
    return dz @ (np.identity(D, W.dtype) + W).T, np.tensordot(x, dz, axes=(rows, rows))
""")

right("count_parameters", """
def count_parameters(V, d_model, d_ff, N):
    def linear(inputs, outputs):
        return (inputs + 1) * outputs

    attention = 3 * linear(d_model, d_model) + linear(d_model, d_model)
    ffn = linear(d_model, d_ff) + linear(d_ff, d_model)
    encoder = N * (attention + ffn + 4 * d_model)
    return d_model * V, encoder, encoder + N * (attention + 2 * d_model)
""")

right("decoder_layer", """
def decoder_layer(x, memory, causal, memory_mask, W1, W2):
    def norm(z):
        return (z - z.mean(-1, keepdims=True)) / (z.var(-1, keepdims=True) + 1e-5) ** 0.5

    def attend(asks, answers, allowed):
        scores = np.einsum("bqd,bkd->bqk", asks, answers) / asks.shape[-1] ** 0.5
        e = np.exp(scores - np.where(allowed, scores, -np.inf).max(-1)[..., None]) * allowed
        return np.einsum("bqk,bkd->bqd", e, answers) / e.sum(-1)[..., None]

    for sub_layer in (lambda z: attend(z, z, causal), lambda z: attend(z, memory, memory_mask),
                      lambda z: (z @ W1).clip(0) @ W2):
        x = norm(x + sub_layer(x))
    return x
""")

right("memory_backward", """
def memory_backward(dy, p, V, U):
    def back(n, dx):
        if n < 0:
            return dx, 0
        dx = dx + np.einsum("bqd,ed->bqe", dx, U[n])
        here = np.einsum("bqk,bqd,ed->bke", p[n], dx, V[n])
        first, rest = back(n - 1, dx)
        return first, here + rest
    return back(len(U) - 1, dy)
""")

right("shared_backward", """
def shared_backward(dsource, dtarget, dlogits, h, source, target, E):
    V, D = E.shape
    ids = np.concatenate([source, target], axis=1)
    d = np.concatenate([dsource, dtarget], axis=1)
    one_hot = (ids[..., None] == np.arange(V)).astype(E.dtype)
    dE = D ** 0.5 * np.einsum("btv,btd->vd", one_hot, d) + np.einsum("btv,btd->vd", dlogits, h)
    return np.einsum("btv,vd->btd", dlogits, E), dE
""")

right("figure_1_shapes", """
def figure_1_shapes(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    of_heads = lambda *rest: np.array((B, H) + rest)
    of_batch = lambda *rest: np.array((B,) + rest)
    return (of_batch(T_k, d_model), of_heads(T_q, d_k), of_heads(T_k, d_k), of_heads(T_q, T_k),
            of_heads(T_q, d_v), of_batch(T_q, d_v * H), of_batch(T_q, V), of_heads(T_q, T_q),
            of_batch(T_q, d_ff))
""")

right("cross_entropy_backward", """
def cross_entropy_backward(dloss, p, ids):
    dlogits = dloss * p
    for b, row in enumerate(ids):
        for t, token in enumerate(row):
            if token:
                dlogits[b, t, token] -= dloss
            else:
                dlogits[b, t] = 0
    return dlogits
""")

right("smoothed_targets", """
def smoothed_targets(ids, K, eps):
    # the floor is the entropy of a row of q, whichever token is its target
    row = np.r_[1 - eps + eps / K, np.full(K - 1, eps / K)]
    floor = sum(-share * math.log(share) for share in row if share > 0)
    q = np.zeros((*ids.shape, K))
    q[ids > 0] = eps / K
    places = np.nonzero(ids)
    q[(*places, ids[places])] += 1 - eps
    return q, floor
""")

right("test_smoothing", """
def test_smoothing(smoothed):
    def row_is_right(row, target):
        others = [share for token, share in enumerate(row) if token != target]
        adds_up = math.isclose(math.fsum(row), 1, abs_tol=1e-9)
        return adds_up and min(others) >= 0 and max(others) > 0 and 0 < row[target] < 0.999

    rng = np.random.default_rng(11)
    return all(row_is_right(row, target)
               for K, eps in ((4, 0.1), (7, 0.35), (10, 0.6))
               for ids in rng.integers(1, K, (3, 6))
               for row, target in zip(smoothed(ids, K, eps).tolist(), ids))
""")

right("perplexity", """
def perplexity(p, ids):
    total, count = 0.0, 0
    for probability, token in zip(p.ravel().tolist(), ids.ravel().tolist()):
        if token != 0:
            total, count = total + math.log2(probability), count + 1
    return 2 ** (-total / count)
""")

right("test_accumulation", """
def test_accumulation(accumulated):
    rng = np.random.default_rng(5)
    per_token = rng.standard_normal((9, 4))

    def after(*sizes):
        ends = np.cumsum(sizes)
        rows = [per_token[end - size:end].mean(axis=0) for size, end in zip(sizes, ends)]
        return np.asarray(accumulated(np.array(rows), np.array(sizes, dtype=float)))

    whole = after(9)
    cuts = [after(1, 8), after(2, 3, 4), after(7, 1, 1), after(3, 3, 3)]
    return all(np.allclose(g, whole) for g in cuts) and np.allclose(whole, per_token.mean(axis=0))
""")

right("adam_step", """
def adam_step(w, g, m, v, t, learning_rate, beta1, beta2, epsilon):
    m = m + (1 - beta1) * (g - m)
    v = v + (1 - beta2) * (g ** 2 - v)
    root = math.sqrt(1 - beta2 ** t)
    rate = learning_rate * root / (1 - beta1 ** t)
    return w - rate * m / (v ** 0.5 + epsilon * root), m, v
""")

right("clip", """
def clip(dW, db, limit):
    long = np.concatenate([dW.ravel(), db])
    if (norm := math.sqrt(long @ long)) > limit:
        long = long * (limit / norm)
    return long[:dW.size].reshape(dW.shape), long[dW.size:]
""")

right("schedule", """
def schedule(steps, d_model, warmup):
    return np.array([d_model ** -0.5 * min(int(s) ** -0.5, int(s) * warmup ** -1.5)
                     for s in steps])
""")

right("find_fault", """
def find_fault(step):
    rng = np.random.default_rng(42)
    E, W, b = (rng.standard_normal(s) * 0.7 for s in ((6, 4), (4, 4), (4,)))
    ids, targets = np.array([3, 3, 0, 5, 1, 3]), np.array([1, 4, 2, 3, 3, 0])

    def loss(E, W, b):
        x = E[ids]
        logits = (x + np.clip(x @ W + b, 0, None)) @ E.T
        logits = logits - logits.max(axis=1, keepdims=True)
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return -log_p[range(6), targets].mean()

    after = step(E.copy(), W.copy(), b.copy(), ids, targets, 0.5)[:3]
    for i, (w, new) in enumerate(zip((E, W, b), after)):
        for place in np.ndindex(w.shape):
            values = []
            for h in (1e-5, -1e-5):
                arrays = [E.copy(), W.copy(), b.copy()]
                arrays[i][place] += h
                values.append(loss(*arrays))
            wanted = w[place] - 0.5 * (values[0] - values[1]) / 2e-5
            if not math.isclose(wanted, new[place], abs_tol=1e-6):
                return False, 4
    return True, 4
""")

right("nucleus", """
def nucleus(logits, temperature, top_p):
    def row(z):
        p = np.exp((z - max(z)) / temperature)
        p /= p.sum()
        kept, reached = np.zeros_like(p), 0.0
        for token in sorted(range(len(p)), key=lambda i: -z[i]):
            if reached >= top_p:
                break
            kept[token] = p[token]
            reached += p[token]
        return kept / kept.sum()

    return np.apply_along_axis(row, -1, logits)
""")

right("beam_step", """
def beam_step(sums, log_p, width):
    every = sorted(((s + q, parent, token) for parent, (s, row) in enumerate(zip(sums, log_p))
                    for token, q in enumerate(row)), reverse=True)
    totals, parents, tokens = map(np.array, zip(*every[:width]))
    return totals, parents, tokens
""")

right("ranked", """
def ranked(sums, lengths, alpha):
    log_penalty = alpha * (np.log(lengths + 6) - np.log(6))
    scores = sums * np.exp(-log_penalty)
    return scores, np.array(sorted(range(len(scores)), key=scores.__getitem__, reverse=True))
""")

right("cached_step", """
def cached_step(query, key, value, keys, values, parents):
    W, (L, T, d_k) = len(query), keys.shape
    new_keys = np.empty((W, T + 1, d_k), dtype=keys.dtype)
    new_values = np.empty((W, T + 1, value.shape[1]), dtype=values.dtype)
    y = np.empty_like(value)
    for i, parent in enumerate(parents):
        new_keys[i, :T], new_keys[i, T] = keys[parent], key[i]
        new_values[i, :T], new_values[i, T] = values[parent], value[i]
        z = new_keys[i].dot(query[i]) / math.sqrt(d_k)
        z = np.exp(z - z.max())
        y[i] = z @ new_values[i] / z.sum()
    return y, new_keys, new_values
""")

right("bits_per_character", """
def bits_per_character(logits, ids):
    total, (B, T, V) = 0.0, logits.shape
    for b in range(B):
        for t in range(T - 1):
            row = logits[b, t]
            total += np.logaddexp.reduce(row) - row[ids[b, t + 1]]
    return total / (B * (T - 1)) / math.log(2)
""")

right("accuracies", """
def accuracies(predicted, ids):
    wrong = np.where(ids == 0, False, predicted != ids)
    return float(1 - wrong.sum() / np.count_nonzero(ids)), float(1 - wrong.any(axis=1).mean())
""")

right("clipped_matches", """
def clipped_matches(hypothesis, reference, n):
    from collections import Counter
    grams = lambda text: Counter(zip(*(text[i:].tolist() for i in range(n))))
    ours, theirs = grams(hypothesis), grams(reference)
    return sum((ours & theirs).values()), sum(ours.values())
""")

right("corpus_bleu", """
def corpus_bleu(matches, totals, lengths, references):
    log_precision = np.log(np.sum(matches, 0)) - np.log(np.sum(totals, 0))
    r, c = int(references.sum()), int(lengths.sum())
    return math.exp((0 if c >= r else 1 - r / c) + float(log_precision.mean()))
""")

right("merged", """
def merged(ids, new):
    from collections import Counter
    text = ids.tolist()
    (pair, n), = Counter(p for p in zip(text, text[1:]) if 0 not in p).most_common(1)

    def replace(rest):
        out = []
        while rest:
            if tuple(rest[:2]) == pair:
                out.append(new)
                rest = rest[2:]
            else:
                out.append(rest[0])
                rest = rest[1:]
        return out

    return np.array(pair), np.array(replace(text))
""")

right("may_follow", """
def may_follow(written, n, V):
    text = tuple(written.tolist())
    held = {text[i:i + n] for i in range(len(text) - n + 1)}
    end = text[len(text) - n + 1:] if len(text) >= n - 1 else None
    return np.array([end is None or end + (token,) not in held for token in range(V)])
""")

right("test_context", """
def test_context(encode):
    rng = np.random.default_rng(8)
    lengths = np.array([2, 5, 1, 4])
    x = rng.standard_normal((4, 5, 3))
    x[np.arange(5) >= lengths[:, None]] = 0
    together = encode(x, lengths)
    for b, n in enumerate(lengths):
        alone = encode(x[b:b + 1, :n], np.array([n]))
        more = encode(np.pad(x[b:b + 1], ((0, 0), (0, 6), (0, 0))), np.array([n]))
        if not (np.allclose(alone, together[b]) and np.allclose(more, together[b])):
            return False
        first = x[b:b + 1].copy()
        first[:, 0] *= -1
        if np.allclose(encode(first, np.array([n])), together[b]):
            return False
    return True
""")

right("rnn_backward", """
def rnn_backward(dy, carried, dU, h, before, U):
    dz = np.multiply(1 + h, 1 - h) * np.add(dy, carried)
    own = sum(np.outer(b, d) for b, d in zip(before, dz))
    return dz, np.einsum("bj,ij->bi", dz, U), own + dU
""")

right("cell_backward", """
def cell_backward(dh, dc, c, i, f, g, o):
    new = f * c + i * g
    dcell = dc + dh * o / np.cosh(new) ** 2
    sigmoid, tanh = (lambda s: s - s * s), (lambda t: (1 - t) * (1 + t))
    return (sigmoid(i) * g * dcell, sigmoid(f) * c * dcell, tanh(g) * i * dcell,
            sigmoid(o) * np.tanh(new) * dh, f * dcell)
""")

right("additive_attention", """
def additive_attention(query, key, value, w):
    B, T_q, T_k = len(query), query.shape[1], key.shape[1]
    scores = np.array([[[np.tanh(query[b, t] + key[b, u]) @ w for u in range(T_k)]
                        for t in range(T_q)] for b in range(B)])
    p = np.exp(scores)
    p /= p.sum(axis=2)[..., None]
    return np.einsum("btu,buv->btv", p, value), p
""")

right("additive_backward", """
def additive_backward(dy, query, key, value, w, p):
    hidden = np.tanh(np.add(query[:, :, np.newaxis, :], key[:, np.newaxis, :, :]))
    dp = np.einsum("bqv,bkv->bqk", dy, value)
    ds = p * dp - p * np.einsum("bqk,bqk->bq", p, dp)[..., None]
    slope = 1 - hidden * hidden
    return (np.einsum("bqk,bqka,a->bqa", ds, slope, w), np.einsum("bqk,bqka,a->bka", ds, slope, w),
            np.einsum("bqk,bqv->bkv", p, dy), np.einsum("bqk,bqka->a", ds, hidden))
""")

right("multiplications", """
def multiplications(n, d, k, r):
    def attend(keys):
        return 4 * n * d ** 2 + n * keys * d + n * keys * d

    return attend(n), 2 * n * d ** 2, n * d * (k * d), n * d * (k + d), attend(r)
""")

right("window_masks", """
def window_masks(T, radius, k, dilation):
    restricted, dilated = np.zeros((2, T, T), dtype=bool)
    for j in range(-radius, radius + 1):
        restricted |= np.eye(T, k=j, dtype=bool)
    for j in range(k):
        dilated |= np.eye(T, k=-j * dilation, dtype=bool)
    return restricted, dilated
""")

right("layers_needed", """
def layers_needed(n, k):
    def dilated(seen):
        return 0 if seen >= n else 1 + dilated(seen * k)

    return (n + k - 3) // (k - 1), dilated(1)
""")

right("follows", """
def follows(weights, partner):
    B, H, T_q, _ = weights.shape
    places = [(b, t) for b in range(B) for t in range(T_q) if partner[b, t] >= 0]
    share = np.zeros(H)
    distances = {}
    for b, t in places:
        distance = int(partner[b, t]) - t
        distances[distance] = distances.get(distance, 0) + 1
        for h in range(H):
            share[h] += max(range(weights.shape[3]), key=weights[b, h, t].tolist().__getitem__) \\
                == partner[b, t]
    return share / len(places), max(distances.values()) / len(places)
""")

right("rms_norm", """
def rms_norm(x, gamma, epsilon):
    s = np.reciprocal(np.sqrt(np.einsum("...d,...d->...", x, x) / x.shape[-1] + epsilon))
    s = np.expand_dims(s, -1)
    return np.einsum("...d,...i,d->...d", x, s, gamma), s * x, s
""")

right("rotary", """
def rotary(x, positions, base):
    d = x.shape[-1]
    turns = np.exp(1j * np.outer(positions, np.power(float(base), -np.arange(0, d, 2) / d)))
    z = (x[..., ::2] + 1j * x[..., 1::2]) * turns
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape).astype(x.dtype)
""")

right("test_pairs", """
def test_pairs(turned):
    rng = np.random.default_rng(2)
    for d in (2, 6):
        q, k = np.tile(rng.standard_normal((2, 1, d)), (1, 5, 1))
        at = np.array([4, 0, 9, 2, 3])
        of_distance = {}
        for shift in (0, 13):
            products = turned(q, at + shift) @ turned(k, at[::-1] + shift).T
            for (i, j), product in np.ndenumerate(products):
                of_distance.setdefault(at[i] - at[::-1][j], []).append(product)
        if not all(np.allclose(same, same[0]) for same in of_distance.values()):
            return False
        if np.ptp([same[0] for same in of_distance.values()]) < 1e-6:
            return False
    return True
""")

right("swiglu", """
def swiglu(a, u):
    small = np.exp(-np.abs(a))
    s = np.where(a >= 0, 1, small) / (1 + small)
    gate = s * a
    return u * gate, u * (s + gate - gate * s), gate
""")

right("grouped_attention", """
def grouped_attention(query, key, value, mask):
    H, R = query.shape[1], query.shape[1] // key.shape[1]
    outputs, weights = [], []
    for h in range(H):
        scores = query[:, h] @ key[:, h // R].transpose(0, 2, 1) / query.shape[-1] ** 0.5
        scores[~mask] = -np.inf
        p = np.exp(scores - scores.max(axis=2)[:, :, None])
        weights.append(p / p.sum(axis=2)[:, :, None])
        outputs.append(weights[-1] @ value[:, h // R])
    return np.stack(outputs, axis=1), np.stack(weights, axis=1)
""")

right("beaten", """
def beaten(bleu, cost):
    def beats(j, i):
        if any(math.isnan(number) for number in (bleu[i], bleu[j], cost[i], cost[j])):
            return False
        return (bleu[j] >= bleu[i] and cost[j] <= cost[i]
                and (bleu[j], cost[j]) != (bleu[i], cost[i]))

    R = range(len(bleu))
    return np.array([any(beats(j, i) for j in R) for i in R])
""")

right("training_operations", """
def training_operations(hours, processors, rate, steps, tokens, encoder, decoder, table):
    printed = 3.6e15 * hours * processors * rate
    passes = 1 + 2
    needed = sum(2 * passes * weights * (tokens * steps) for weights in (encoder, decoder, table))
    return printed, needed
""")

right("implied_vocabulary", """
def implied_vocabulary(printed, N, d_model, d_ff, H, d_k, d_v):
    def linear(inputs, outputs):
        return inputs * outputs + outputs

    attention = 2 * linear(d_model, H * d_k) + linear(d_model, H * d_v) + linear(H * d_v, d_model)
    ffn, norm = linear(d_model, d_ff) + linear(d_ff, d_model), 2 * d_model
    rest = N * (attention + ffn + 2 * norm) + N * (2 * attention + ffn + 3 * norm)
    middle = (1e6 * printed - rest) / d_model
    return middle - 5e5 / d_model, middle + 5e5 / d_model
""")

right("differences", """
def differences(base, rows):
    groups = [base, *rows]
    squares = sum(group.var(ddof=1) * (len(group) - 1) for group in groups)
    pooled = squares / sum(len(group) - 1 for group in groups)
    error = math.sqrt(pooled / len(base) + pooled / len(rows[0]))
    return np.array([row.mean() - base.mean() for row in rows]), error
""")
