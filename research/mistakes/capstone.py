"""Mistakes in my_model.py, the capstone as a reader writes it: (a right text, a wrong one, words of
the report).
"""

GRADS, FACTOR = "grads = backward(dlogits / tokens, cache, w)", "grads[name] * factor"
STEP = "schedule(np.array([step]), 32, warmup)[0]"

IN_THE_MODEL = [
    (
        "dmemory = dmemory + dpart",
        "dmemory = dpart",
        "the gradient of encoder.1.feed_forward_residual.beta is off by",
    ),
    (
        "dx = dx + dasks\n",
        "dx = dx + 0.999 * dasks\n",
        "decoder.1.cross_attention.query.weight, one step nearer to the loss, is right",
    ),
    (
        'grads[name + ".bias"] =',
        "_db =",
        "is missing, has another shape, or is not finite; decoder.1.",
    ),
    (
        "HEADS = 4",
        "HEADS = 2",
        "it is right; turned on one by one, decoder.0.self_attention is the first",
    ),
    (
        "embedding(ids, E) + sinusoids",
        "embedding(ids, E) - sinusoids",
        "adding 0 it is wrong too: look at the embedding",
    ),
    ("next_target != 0]).sum()", "next_target != 0]).mean()", "loss is off by"),
    ("cross_entropy_backward(1.0,", "cross_entropy_backward(2.0,", "dlogits is off by"),
    ("logits[:, -1:, 2:].argmax", "logits[:, -1:, 2:].argmin", "greedy writes other tokens"),
    ("adam_step, attention, ", "attention, ", "adam_step is off by"),
    (
        "shared_backward(dmemory, dx,",
        "shared_backward(0 * dmemory, dx,",
        "is right; the matrix is used in three places",
    ),
    ("    return grads", "    return list(grads)", "backward returns list, expected a dict"),
    ("p, next_target)\n", "p, next_target)[0]\n", "dlogits is missing, has another shape"),
    (
        "    return -np.log(right[next_target != 0]).sum(), ",
        "    return ",
        "loss returns ndarray, expected two things",
    ),
    (
        "    return grads",
        '    w["embedding.weight"] *= 2\n    return grads',
        "changes the weights that it is given: embedding",
    ),
    (
        'x @ w["embedding.weight"].T',
        'x @ w["embeding.weight"].T',
        "KeyError: 'embeding.weight'",
    ),
]

IN_THE_TRAINING = [
    (
        STEP,
        "32 ** -0.5 * step ** -0.5",
        "step 1: the learning rate is 0.1768, expected 0.0001768: there is no warm-up",
    ),
    (STEP, "0.001", "step 1: the learning rate is 0.001, expected 0.0001768"),
    (FACTOR, "grads[name]", "of at most 1: clip it before Adam gets it"),
    (
        FACTOR,
        "grads[name] / max(1, np.linalg.norm(grads[name]))",
        "each array is clipped by its own norm",
    ),
    (
        "source, target, dropout, rng)",
        "source, target)",
        "step 1: forward is called without dropout",
    ),
    (
        "return dx, dx * mask",
        "return dx, dx",
        "backward is wrong with dropout: along its gradient",
    ),
    (
        "noise = noise or (0.0, None)",
        "noise = (0.0, None)",
        "gives the logits that it gives without dropout",
    ),
    (
        "noise = noise or (0.0, None)",
        "noise = noise or (0.1, np.random)",
        "forward gives other logits when it is called again",
    ),
    (
        "logits, _cache = forward(w, source, target)",
        "logits, _cache = forward(w, source, target, 0.0, np.random)",
        "there is no dropout when a model writes",
    ),
    (
        GRADS,
        GRADS.replace("tokens", "32"),
        "it is divided by the number of words, not of tokens",
    ),
    (GRADS, GRADS.replace(" / tokens", ""), "it is that of the sum over the tokens"),
    (GRADS, GRADS.replace("tokens", "next_target.size"), "padding is counted as tokens"),
    (
        GRADS,
        "new = backward(dlogits / tokens, cache, w)\n        grads = {name: new[name] + (grads[name] if step > 1 else 0) "
        "for name in new}",
        "it contains that of the steps before",
    ),
    (
        GRADS,
        "grads = backward(np.sign(dlogits), cache, w)",
        "step 1: the gradient that Adam gets is ",
    ),
    (
        GRADS,
        "grads = backward(0.5 * dlogits / tokens, cache, w)",
        "is 0.5 times as long as that of the mean over",
    ),
    (
        "= np.ones(32)",
        "= np.zeros(32)",
        "gamma has mean 0.000 and standard deviation 0.000, expected 1 and 0.000",
    ),
    ("np.sqrt(2 / (rows + columns))", "0.01", "query.weight has mean"),
    (
        "rng.standard_normal((rows, columns))",
        "rng.random((rows, columns))",
        "query.weight has mean",
    ),
    (
        "np.zeros(columns)",
        "np.zeros(1)",
        "query.bias is missing or has another shape; expected (32,)",
    ),
    (
        "([[*one, 2] for one, _answer in drawn])",
        "([one for one, _answer in drawn])",
        "each with a 2 at its end",
    ),
    (
        "target, next_target = padded([[1, *one]",
        "target, next_target = padded([[*one, 2]",
        "step 1: target is [",
    ),
    (
        "target, next_target = padded([[1, *one]",
        "target, next_target = padded([[3, *one]",
        "step 1: target is [3, ",
    ),
    (
        "drawn = [pairs[i] for i in rng.integers(len(pairs), size=32)]",
        "drawn = pairs[:32]",
        "each step has the same batch",
    ),
    (
        "itertools.count(1)",
        "itertools.count(2)",
        "adam_step is given t = 2, 3, 4, expected 1, 2, 3",
    ),
    (
        "0.9, 0.98, 1e-9)",
        "0.9, 0.999, 1e-9)",
        "beta1, beta2 and epsilon are (0.9, 0.999, 1e-09), expected",
    ),
    (
        "m[name], v[name] = adam_step",
        "m[name], _v = adam_step",
        "step 2: adam_step is not given the v that it returned",
    ),
    (
        "w[name], m[name], v[name] = adam_step",
        "_w, m[name], v[name] = adam_step",
        "step 2: adam_step is not given the w",
    ),
    (
        "m, v = ({name: np.zeros_like",
        "m, v = ({name: np.ones_like",
        "m and v have to begin at 0",
    ),
    (
        "in rng.integers(",
        "in np.random.default_rng().integers(",
        "the same generator gives other weights",
    ),
    (
        "def train(pairs, rng, dropout, warmup):",
        "def train(pairs, rng, dropout, warmup):\n    rng = np.random.default_rng(0)",
        "another generator gives the same weights",
    ),
    ("yield total / tokens, w", "yield total, w", "step 1: it yields the loss "),
    (
        "yield total / tokens, w",
        "return total / tokens, w",
        "train returns tuple: `yield loss, weights`",
    ),
    ("total, dlogits = loss(", "_again, total, dlogits = 0, *loss(", ""),
    (
        "total, dlogits = loss(",
        "_logits = forward(w, source, target)\n        total, dlogits = loss(",
        "it calls forward 6 times in 3 steps",
    ),
]
