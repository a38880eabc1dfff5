"""Legal inputs for each exercise, made from the task texts alone.

CASES[name] is a list of (label, function of a random generator that returns the arguments).
For the exercises whose answer is a test, VERSIONS[name] lists (label, version, is it right?).
"""

import numpy as np

CASES, VERSIONS = {}, {}


def cases(name, **makers):
    CASES[name] = [(label.replace("_", " "), maker) for label, maker in makers.items()]


def normal(rng, *shapes):
    return [rng.standard_normal(shape) for shape in shapes]


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def padded(rng, B, T, V, first=1, shortest=1):
    """Token ids with padding (0) at the end of each row; one row is full, and the first is not."""
    ids = rng.integers(first, V, (B, T))
    lengths = rng.integers(shortest, T, B)
    lengths[-1] = T
    ids[np.arange(T) >= lengths[:, None]] = 0
    return ids


def normalised(rng, *shape):
    x = rng.standard_normal(shape)
    n = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    return n, 1 / x.std(-1, keepdims=True)


def some_mask(rng, *shape):
    mask = rng.random(shape) < 0.6
    mask[..., 0] = True
    return mask


# ---------------------------------------------------------------- 01, 01b

cases("linear_backward",
      usual=lambda r: normal(r, (5, 4), (5, 3), (3, 4)),
      square=lambda r: normal(r, (4, 4), (4, 4), (4, 4)),
      one_token=lambda r: normal(r, (1, 4), (1, 3), (3, 4)))
cases("query_key_backward",
      usual=lambda r: normal(r, (2, 4, 4), (2, 4, 5), (5, 3), (5, 3)),
      all_equal=lambda r: normal(r, (3, 3, 3), (3, 3, 3), (3, 3), (3, 3)))
cases("numeric_gradient",
      parabola=lambda r: [lambda x: x * x + 3 * x, *normal(r, (2, 3), (2, 3)), 0.5],
      square_of_a_mix=lambda r: [lambda x: (x @ np.ones((3, 2))) ** 2, *normal(r, (2, 2), (2, 3)),
                                 0.1])
cases("slope_along",
      tanh=lambda r: [np.tanh, *normal(r, (2, 3), (2, 3), (2, 3)), 1e-20],
      product=lambda r: [lambda x: x @ x.T, *normal(r, (3, 3), (3, 2), (3, 2)), 1e-20])
cases("shares_backward",
      usual=lambda r: [r.standard_normal((3, 4)), r.random((3, 4)) + 0.1],
      square=lambda r: [r.standard_normal((4, 4)), r.random((4, 4)) + 0.1])
cases("twice_backward", usual=lambda r: normal(r, (5, 3), (5, 3), (3, 3)),
      square=lambda r: normal(r, (3, 3), (3, 3), (3, 3)))

# ---------------------------------------------------------------- 02, 03

cases("embedding",
      usual=lambda r: [r.integers(0, 7, (2, 5)), r.standard_normal((7, 6))],
      width_of_the_paper=lambda r: [r.integers(0, 7, (2, 5)), r.standard_normal((7, 512))])
cases("embedding_backward",
      usual=lambda r: [r.standard_normal((3, 5, 6)), r.integers(0, 4, (3, 5)),
                       r.standard_normal((4, 6))],
      each_token_once=lambda r: [r.standard_normal((2, 3, 6)), r.permutation(6).reshape(2, 3),
                                 r.standard_normal((6, 6))])
cases("tied_backward", usual=lambda r: normal(r, (5, 7), (5, 4), (7, 4)),
      square=lambda r: normal(r, (4, 4), (4, 4), (4, 4)))


def rows_of_positions(t, d_model):
    angles = t[:, None] * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(t), d_model)


cases("sinusoids",
      in_any_order=lambda r: [r.permutation(20)[:5], 8],
      first_rows=lambda r: [np.arange(6), 6],
      two_columns=lambda r: [r.integers(0, 30, 4), 2])
cases("rotate_positions",
      far_rows=lambda r: [rows_of_positions(r.integers(10, 60, 4), 8), 3],
      rows_0_to_2=lambda r: [rows_of_positions(np.arange(3), 8), 5],
      backwards=lambda r: [rows_of_positions(r.integers(10, 60, 4), 6), -4])
cases("learned_positions_backward",
      usual=lambda r: normal(r, (3, 4, 5), (7, 5)),
      full_length=lambda r: normal(r, (3, 4, 5), (4, 5)),
      one_sentence=lambda r: normal(r, (1, 4, 5), (6, 5)))

# ---------------------------------------------------------------- 04, 05

cases("softmax",
      usual=lambda r: [r.standard_normal((3, 4))],
      three_axes=lambda r: [r.standard_normal((2, 3, 4))],
      large_scores=lambda r: [1000 * r.standard_normal((3, 4))],
      a_low_row=lambda r: [np.stack([r.standard_normal(4) + 1000, r.standard_normal(4) - 1000])],
      close_and_large=lambda r: [r.standard_normal((3, 4)) + 1000],
      one_row=lambda r: [r.standard_normal(5)])
cases("softmax_backward",
      usual=lambda r: [r.standard_normal((3, 4)), softmax(r.standard_normal((3, 4)))],
      three_axes=lambda r: [r.standard_normal((2, 3, 4)), softmax(r.standard_normal((2, 3, 4)))],
      one_row=lambda r: [r.standard_normal(4), softmax(r.standard_normal(4))])


def with_empty_row(rng):
    mask = some_mask(rng, 3, 4)
    mask[1] = False
    return [rng.standard_normal((3, 4)), mask]


def large_masked(rng):
    x, mask = rng.standard_normal((3, 4)), some_mask(rng, 3, 4)
    mask[:, -1] = False
    x[:, -1] = 1000
    return [x, mask]


cases("masked_softmax",
      usual=lambda r: [r.standard_normal((3, 4)), some_mask(r, 3, 4)],
      an_empty_row=with_empty_row,
      a_large_masked_score=large_masked,
      broadcast=lambda r: [r.standard_normal((2, 3, 4)), some_mask(r, 4)],
      negative=lambda r: [r.standard_normal((3, 4)) - 1000, some_mask(r, 3, 4)])
cases("temperature_backward",
      usual=lambda r: [*normal(r, (3, 4), (3, 4)), 0.7],
      three_axes=lambda r: [*normal(r, (2, 3, 4), (2, 3, 4)), np.array(1.9)])
cases("log_softmax_backward",
      usual=lambda r: [r.standard_normal((3, 4)), np.log(softmax(r.standard_normal((3, 4))))],
      three_axes=lambda r: [r.standard_normal((2, 3, 4)),
                            np.log(softmax(r.standard_normal((2, 3, 4))))])


def queries(rng, shape, T_q, T_k, d_k, d_v, scale=1.0):
    mask = some_mask(rng, *shape, T_q, T_k)
    query, key, value = normal(rng, (*shape, T_q, d_k), (*shape, T_k, d_k), (*shape, T_k, d_v))
    return [scale * query, key, value, mask]


def low_scores(rng):
    query, key, value, mask = queries(rng, (2,), 3, 4, 5, 5)
    key[..., 0], query[..., 0] = -20, 40
    mask[..., 1] = False
    return [query, key, value, mask]


cases("attention",
      usual=lambda r: queries(r, (2,), 3, 4, 5, 6),
      heads=lambda r: queries(r, (2, 3), 4, 4, 4, 4),
      large_scores=lambda r: queries(r, (2,), 3, 4, 5, 6, 300),
      low_scores=low_scores,
      d_k_64=lambda r: queries(r, (2,), 3, 4, 64, 6))
cases("mirror_matrix",
      usual=lambda r: [r.random(3), 7],
      one_letter=lambda r: [r.random(3), 1],
      of_the_paper=lambda r: [10000.0 ** (-np.arange(0, 8, 2) / 8), 5])


def after_attention(rng, shape, T_q, T_k, d_k, d_v):
    query, key, value, mask = queries(rng, shape, T_q, T_k, d_k, d_v)
    scores = np.where(mask, query @ key.swapaxes(-1, -2) / d_k ** 0.5, -np.inf)
    return [rng.standard_normal((*shape, T_q, d_v)), query, key, value, softmax(scores)]


cases("attention_backward",
      usual=lambda r: after_attention(r, (2,), 3, 4, 5, 6),
      all_equal=lambda r: after_attention(r, (2, 4), 4, 4, 4, 4))

# ---------------------------------------------------------------- 06, 07

cases("shifted",
      usual=lambda r: [padded(r, 3, 5, 20, first=3)],
      no_padding=lambda r: [r.integers(3, 20, (2, 4))],
      every_row_padded=lambda r: [np.pad(padded(r, 3, 4, 20, first=3), ((0, 0), (0, 2)))],
      one_row=lambda r: [r.integers(3, 20, (1, 4))])
cases("causal_mask",
      usual=lambda r: [r.integers(3, 20, (2, 5))],
      padded=lambda r: [padded(r, 3, 4, 20)],
      square=lambda r: [r.integers(3, 20, (4, 4))])
cases("three_masks",
      usual=lambda r: [padded(r, 3, 5, 20, 3), padded(r, 3, 4, 20, 3)],
      same_length=lambda r: [padded(r, 3, 4, 20, 3), padded(r, 3, 4, 20, 3)],
      no_padding=lambda r: [r.integers(3, 20, (2, 5)), r.integers(3, 20, (2, 4))])


def losses(rng, zero_loss=False):
    ids = padded(rng, 3, 5, 20)
    values = rng.random((3, 5)) + 0.1
    if zero_loss:
        values[:, 0] = 0
    return [values, ids]


cases("masked_loss", usual=losses, a_loss_of_0=lambda r: losses(r, True),
      no_padding=lambda r: [r.random((2, 3)), r.integers(1, 9, (2, 3))])


def mixing_model(mixture):
    """Output t is a mixture of the tokens' vectors, with fixed weights: mixture (T, T)."""
    table = np.random.default_rng(7).standard_normal((29, 4))
    return lambda ids: mixture @ np.tanh(table[ids])


def leaky(rng, T):
    mixture = np.tril(rng.random((T, T)))
    mixture[0, T - 1] = mixture[1, 2] = 1.0
    return mixing_model(mixture)


cases("find_leaks",
      leaks=lambda r: [leaky(r, 5), r.integers(3, 29, 5)],
      contains_letter_3=lambda r: [leaky(r, 5), np.array([3, 28, 3, 5, 3])],
      no_leak=lambda r: [mixing_model(np.tril(r.random((4, 4)))), r.integers(3, 29, 4)])
cases("split_heads", usual=lambda r: [r.standard_normal((2, 4, 6)), 3],
      square=lambda r: [r.standard_normal((2, 2, 4)), 2])
cases("merge_heads", usual=lambda r: normal(r, (2, 3, 4, 2)),
      square=lambda r: normal(r, (2, 2, 2, 2)))


def attend(query, key, value):
    return softmax(query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5) @ value


cases("multi_head_attention",
      usual=lambda r: [attend, *normal(r, (2, 4, 6), (6, 6), (6, 6), (6, 9), (9, 6)), 3],
      square=lambda r: [attend, *normal(r, (2, 2, 4), (4, 4), (4, 4), (4, 4), (4, 4)), 2])
cases("contributions", usual=lambda r: normal(r, (2, 3, 4, 2), (6, 5)),
      square=lambda r: normal(r, (2, 2, 2, 2), (4, 4)))
cases("projections_backward",
      usual=lambda r: normal(r, (2, 3, 4, 2), (2, 3, 4, 2), (2, 3, 4, 5), (2, 4, 6), (6, 6), (6, 6),
                             (6, 15)),
      square=lambda r: normal(r, *[(2, 2, 2, 2)] * 3, (2, 2, 4), *[(4, 4)] * 3))

# ---------------------------------------------------------------- 08, 08b

cases("residual_backward", usual=lambda r: normal(r, (5, 3), (5, 3), (3, 3)),
      square=lambda r: normal(r, (3, 3), (3, 3), (3, 3)))
cases("layer_norm",
      usual=lambda r: [*normal(r, (3, 5), (5,), (5,)), 1e-5],
      three_axes=lambda r: [*normal(r, (2, 3, 5), (5,), (5,)), 1e-5],
      large_epsilon=lambda r: [*normal(r, (3, 5), (5,), (5,)), 0.3],
      equal_numbers=lambda r: [np.full((2, 5), 4.0), *normal(r, (5,), (5,)), 1e-5])
cases("layer_norm_backward",
      usual=lambda r: [r.standard_normal((3, 5)), *normalised(r, 3, 5), r.standard_normal(5)],
      three_axes=lambda r: [r.standard_normal((2, 3, 5)), *normalised(r, 2, 3, 5),
                            r.standard_normal(5)],
      one_row=lambda r: [r.standard_normal(5), *normalised(r, 5), r.standard_normal(5)])


def rms_normalised(rng, *shape):
    x = rng.standard_normal(shape)
    s = 1 / np.sqrt((x * x).mean(-1, keepdims=True))
    return x * s, s


cases("rms_norm_backward",
      usual=lambda r: [r.standard_normal((3, 5)), *rms_normalised(r, 3, 5), r.standard_normal(5)],
      three_axes=lambda r: [r.standard_normal((2, 3, 5)), *rms_normalised(r, 2, 3, 5),
                            r.standard_normal(5)])
cases("feed_forward_backward",
      usual=lambda r: normal(r, (5, 3), (5, 3), (3, 4), (4,), (4, 3)))


def dropped(rng, *shape):
    D = shape[-1]
    keep1, keep2 = rng.random((2, *shape)) < 0.7
    return [*normal(rng, shape, shape, (D, D)), keep1, keep2, 0.3]


cases("dropouts_backward", usual=lambda r: dropped(r, 5, 3),
      three_axes=lambda r: dropped(r, 2, 4, 3))


def post_normed(rng, *shape):
    D = shape[-1]
    dy, x, W = normal(rng, shape, shape, (D, D))
    z = x + x @ W
    s = 1 / z.std(-1, keepdims=True)
    return [dy, x, W, (z - z.mean(-1, keepdims=True)) * s, s]


cases("post_norm_backward", usual=lambda r: post_normed(r, 5, 4),
      three_axes=lambda r: post_normed(r, 2, 3, 4))

# ---------------------------------------------------------------- 09

cases("count_parameters",
      of_the_paper=lambda r: [np.array([37000, 37000]), np.array([512, 1024]),
                              np.array([2048, 4096]), np.array([6, 6])],
      drawn=lambda r: [r.integers(1, 50, 4) for _ in range(4)])


def decoder(rng, B, T, D, F):
    mask = some_mask(rng, B, 1, T)
    mask[0, 0, -1] = False
    return [*normal(rng, (B, T, D), (B, T, D)), np.tril(np.ones((T, T), bool)), mask,
            *normal(rng, (D, F), (F, D))]


cases("decoder_layer", usual=lambda r: decoder(r, 2, 4, 5, 7),
      square=lambda r: decoder(r, 3, 3, 3, 3))


def memory(rng, B, T_q, T_k, D):
    return [rng.standard_normal((B, T_q, D)), softmax(rng.standard_normal((2, B, T_q, T_k))),
            *normal(rng, (2, D, D), (2, D, D))]


cases("memory_backward", usual=lambda r: memory(r, 2, 3, 4, 5),
      square=lambda r: memory(r, 2, 3, 3, 3))
cases("shared_backward",
      usual=lambda r: [*normal(r, (2, 5, 3), (2, 4, 3), (2, 4, 6), (2, 4, 3)),
                       r.integers(0, 6, (2, 5)), r.integers(0, 6, (2, 4)),
                       r.standard_normal((6, 3))])
cases("figure_1_shapes",
      drawn=lambda r: list(r.integers(2, 60, 9)),
      of_the_paper=lambda r: [2, 7, 5, 37000, 512, 2048, 8, 64, 64])

# ---------------------------------------------------------------- 10


def predictions(rng, B, T, V):
    return [1.7, softmax(rng.standard_normal((B, T, V))), padded(rng, B, T, V)]


cases("cross_entropy_backward", usual=lambda r: predictions(r, 3, 4, 6),
      one_token=lambda r: [0.4, softmax(r.standard_normal((1, 1, 5))), np.array([[3]])])


def with_first_padding(rng):
    ids = padded(rng, 3, 4, 6)
    ids[0] = 0
    return [ids, 6, 0.1]


cases("smoothed_targets",
      usual=lambda r: [padded(r, 3, 4, 6), 6, 0.1],
      no_smoothing=lambda r: [padded(r, 3, 4, 6), 6, 0.0],
      an_empty_row=with_first_padding,
      no_padding=lambda r: [r.integers(1, 6, (2, 3)), 6, 0.2])
cases("perplexity",
      usual=lambda r: [r.random((3, 5)), padded(r, 3, 5, 20)],
      thousands=lambda r: [r.random((40, 100)), padded(r, 40, 100, 50)],
      unlikely=lambda r: [10.0 ** -r.integers(1, 9, (3, 5)), padded(r, 3, 5, 20)],
      no_padding=lambda r: [r.random((2, 4)), r.integers(1, 9, (2, 4))])


def one_hot(ids, K):
    return np.eye(K)[ids]


def over_others(ids, K, eps):
    return np.where(one_hot(ids, K) > 0, 1 - eps, eps / (K - 1))


def to_neighbour(ids, K, eps):
    return (1 - eps) * one_hot(ids, K) + eps * one_hot((ids + 1) % K, K)


def falling_shares(ids, K, eps):
    share = np.arange(K, 0, -1.0) / np.arange(1, K + 1).sum()
    return (1 - eps) * one_hot(ids, K) + eps * share


VERSIONS["test_smoothing"] = [
    ("eps / K", lambda i, K, e: (1 - e) * one_hot(i, K) + e / K, True),
    ("over the others", over_others, True),
    ("to a neighbour", to_neighbour, True),
    ("falling shares", falling_shares, True),
    ("the pull request", lambda i, K, e: (1 - e) * one_hot(i, K) + e / (K - 1), False),
    ("one-hot", lambda i, K, e: one_hot(i, K), False),
    ("nothing given", lambda i, K, e: (1 - e) * one_hot(i, K), False),
    ("loses a share", lambda i, K, e: np.where(one_hot(i, K) > 0, 1 - e, e / K), False),
    ("more than one", lambda i, K, e: one_hot(i, K) + e / K, False),
]


def by_hand(gradients, counts):
    return sum(c * g for c, g in zip(counts, gradients)) / sum(counts)


VERSIONS["test_accumulation"] = [
    ("weighted", lambda g, c: (g * c[:, None]).sum(axis=0) / c.sum(), True),
    ("np.average", lambda g, c: np.average(g, axis=0, weights=c), True),
    ("by hand", by_hand, True),
    ("mean", lambda g, c: g.mean(axis=0), False),
    ("sum", lambda g, c: g.sum(axis=0), False),
    ("weighted sum", lambda g, c: c @ g, False),
    ("divided by M", lambda g, c: c @ g / len(c), False),
    ("by roots", lambda g, c: np.sqrt(c) @ g / np.sqrt(c).sum(), False),
    ("the other way", lambda g, c: (1 / c) @ g / (1 / c).sum(), False),
]

# ---------------------------------------------------------------- 11


def adam(rng, t, epsilon=1e-8):
    w, g, m = normal(rng, 5, 5, 5)
    v = rng.random(5)
    if t == 1:
        m, v = np.zeros(5), np.zeros(5)
    return [w, g, m, v, t, 0.1, 0.9, 0.98, epsilon]


cases("adam_step", first_step=lambda r: adam(r, 1), later=lambda r: adam(r, 7),
      large_epsilon=lambda r: adam(r, 3, 0.1))
cases("clip",
      long=lambda r: [*normal(r, (4, 3), 3), 0.5],
      between_limit_and_its_square=lambda r: [*normal(r, (4, 3), 3), 2.2],
      short=lambda r: [*normal(r, (4, 3), 3), 50.0],
      zeros=lambda r: [np.zeros((4, 3)), np.zeros(3), 1.0])
cases("schedule",
      usual=lambda r: [r.permutation(40)[:9] + 1, 32, 10],
      of_the_paper=lambda r: [r.permutation(20000)[:9] + 1, 512, 4000])


def make_step(order="right", repeat=True, tied=True, residual=True, mean=True, bias=True, sign=1,
              relu=True):
    """A step of the exercise's model; with what is wrong in it."""
    def step(E, W, b, ids, targets, rate):
        x = E[ids]
        z = x @ W + b
        h = np.maximum(z, 0)
        y = x + h
        p = softmax(y @ E.T)
        loss = -np.log(p[np.arange(len(ids)), targets]).mean()
        dlogits = p - np.eye(len(E))[targets]
        if mean:
            dlogits = dlogits / len(ids)
        dE = dlogits.T @ y if tied else np.zeros_like(E)
        dy = dlogits @ E
        dz = dy * (z > 0) if relu else dy
        dW = (y if order == "overwritten" else x).T @ dz
        db = dz.sum(axis=0) if bias else dz.mean(axis=0)
        dx = dz @ W.T + (dy if residual else 0)
        if repeat:
            np.add.at(dE, ids, dx)
        else:
            dE[ids] += dx
        return E - sign * rate * dE, W - sign * rate * dW, b - sign * rate * db, loss
    return step


VERSIONS["find_fault"] = [
    ("broken step", None, False),     # the exercise's own, filled in by verify.py
    ("right", make_step(), True),
    ("x overwritten", make_step(order="overwritten"), False),
    ("loses repeated tokens", make_step(repeat=False), False),
    ("output not tied", make_step(tied=False), False),
    ("no residual", make_step(residual=False), False),
    ("sum for mean", make_step(mean=False), False),
    ("mean of the bias", make_step(bias=False), False),
    ("wrong sign", make_step(sign=-1), False),
    ("no ReLU in backward", make_step(relu=False), False),
]

# ---------------------------------------------------------------- 12, 12b


cases("nucleus",
      usual=lambda r: [r.standard_normal((3, 6)), 0.7, 0.8],
      hot=lambda r: [r.standard_normal((2, 3, 6)), 2.0, 0.6],
      all=lambda r: [r.standard_normal((3, 6)), 1.3, 1.0],
      small=lambda r: [r.standard_normal(6), 1.0, 0.05],
      large_logits=lambda r: [900 * r.standard_normal((3, 6)), 1.0, 0.9])


def beam(rng, L, V, width):
    return [-3 * rng.random(L), np.log(softmax(2 * rng.standard_normal((L, V)))), width]


cases("beam_step", usual=lambda r: beam(r, 3, 7, 4), square=lambda r: beam(r, 4, 4, 6),
      first=lambda r: [np.zeros(1), *beam(r, 1, 6, 3)[1:]], all=lambda r: beam(r, 2, 3, 6),
      V_is_10=lambda r: beam(r, 3, 10, 4))
cases("ranked",
      usual=lambda r: [-9 * r.random(6), r.integers(0, 12, 6), 0.6],
      no_penalty=lambda r: [-9 * r.random(5), r.integers(0, 12, 5), 0.0],
      empty_text=lambda r: [-9 * r.random(4), np.zeros(4, int), 1.0])


def cached(rng, W, L, T, d_k, d_v):
    parents = rng.integers(0, L, W)
    return [*normal(rng, (W, d_k), (W, d_k), (W, d_v), (L, T, d_k), (L, T, d_v)), parents]


cases("cached_step", usual=lambda r: cached(r, 3, 3, 4, 5, 6),
      fewer_than_before=lambda r: cached(r, 2, 4, 3, 4, 4),
      square=lambda r: cached(r, 4, 4, 4, 4, 4))
cases("bits_per_character",
      usual=lambda r: [r.standard_normal((2, 5, 7)), r.integers(0, 7, (2, 5))],
      large=lambda r: [1000 * r.standard_normal((2, 5, 7)), r.integers(0, 7, (2, 5))],
      two_characters=lambda r: [r.standard_normal((1, 2, 4)), r.integers(0, 4, (1, 2))])

# ---------------------------------------------------------------- 13, 13b


def guesses(rng, right_texts=1):
    ids = padded(rng, 5, 6, 20)
    predicted = np.where(rng.random((5, 6)) < 0.8, ids, rng.integers(1, 20, (5, 6)))
    predicted[:right_texts] = ids[:right_texts]
    predicted[ids == 0] = rng.integers(1, 20, (ids == 0).sum())
    return [predicted, ids]


cases("accuracies", usual=guesses, two_right=lambda r: guesses(r, 2),
      none_right=lambda r: [np.full((2, 3), 5), np.full((2, 3), 6)])
cases("clipped_matches",
      usual=lambda r: [r.integers(1, 4, 12), r.integers(1, 4, 10), 2],
      unigrams=lambda r: [r.integers(1, 4, 9), r.integers(1, 4, 5), 1],
      ids_of_two_digits=lambda r: [np.array([1, 12, 5, 11, 2]), np.array([11, 2, 7, 2, 2]), 2],
      shorter_than_n=lambda r: [r.integers(1, 4, 3), r.integers(1, 4, 5), 3])


def counts(rng, S, N, shorter):
    totals = rng.integers(3, 12, (S, N))
    matches = rng.integers(1, totals + 1)
    lengths = totals[:, 0]
    return [matches, totals, lengths, lengths + (2 if shorter else -1)]


cases("corpus_bleu", short=lambda r: counts(r, 4, 4, True), long=lambda r: counts(r, 4, 4, False),
      two_precisions=lambda r: counts(r, 5, 2, True))


def one_frequent(rng, V, T):
    """A text in which one pair within words is more frequent than all others."""
    while True:
        ids = rng.integers(1, V, T)
        ids[rng.random(T) < 0.25] = 0
        pairs = [(a, b) for a, b in zip(ids[:-1].tolist(), ids[1:].tolist()) if a and b]
        if not pairs:
            continue
        count = sorted(((pairs.count(pair), pair) for pair in set(pairs)), reverse=True)
        if count[0][0] >= 3 and count[0][0] > count[1][0] and count[0][1][0] != count[0][1][1]:
            return [ids, V + 5]


def with_collision(rng):
    """2, 15 and 3, 5 have the same code 35, and so often that they beat the true pair 7, 8."""
    return [np.array([7, 8, 0, 2, 15, 0, 7, 8, 0, 3, 5, 0, 2, 15, 0, 7, 8, 0, 3, 5, 0]), 30]


def spaces_win(rng):
    return [np.array([4, 0, 5, 6, 0, 4, 0, 5, 6, 0, 4, 0, 9, 0, 5, 6, 7, 0, 4, 0]), 12]


cases("merged", usual=lambda r: one_frequent(r, 4, 30), more_ids=lambda r: one_frequent(r, 6, 60),
      ids_of_two_digits=with_collision, much_space=spaces_win)
cases("may_follow",
      bigrams=lambda r: [r.integers(0, 5, 9), 2, 6],
      trigrams=lambda r: [np.array([1, 2, 3, 1, 2, 4, 0, 1, 2]), 3, 6],
      unigrams=lambda r: [r.integers(0, 5, 4), 1, 6],
      short_text=lambda r: [np.array([1, 2]), 3, 4])

# ---------------------------------------------------------------- 14


def encoder(mode, seed):
    weights = np.random.default_rng(seed)
    A, U, b = normal(weights, (3, 3), (3, 3), 3)
    U = 0.7 * U
    if mode == "no bias":
        b = 0 * b

    def encode(x, lengths):
        B, T, H = x.shape
        h, states = np.zeros((B, H)), []
        for t in range(T):
            new = np.tanh(x[:, t] @ A + h @ U + b)
            if mode == "frozen":
                new = np.where((t < lengths)[:, None], new, h)
            if mode == "zeroed":
                new = np.where((t < lengths)[:, None], new, 0)
            h = new
            states.append(h)
        states = np.stack(states, axis=1)
        if mode == "gathered":
            return states[np.arange(B), lengths - 1]
        if mode == "zeros":
            return np.zeros((B, H))
        if mode == "last word":
            return x[np.arange(B), lengths - 1] @ A
        if mode == "mean over T":
            return states.mean(axis=1)
        return h
    return encode


VERSIONS["test_context"] = [
    ("frozen", encoder("frozen", 1), True),
    ("gathered", encoder("gathered", 2), True),
    ("reads padding", encoder("plain", 3), False),
    ("reads padding, no bias", encoder("no bias", 4), False),
    ("zeroed", encoder("zeroed", 5), False),
    ("zeros", encoder("zeros", 6), False),
    ("mean over T", encoder("mean over T", 7), False),
    ("last word only", encoder("last word", 8), False),
]
cases("rnn_backward",
      usual=lambda r: [*normal(r, (3, 4), (3, 4), (4, 4)), np.tanh(r.standard_normal((3, 4))),
                       *normal(r, (3, 4), (4, 4))],
      square=lambda r: [*normal(r, (4, 4), (4, 4), (4, 4)), np.tanh(r.standard_normal((4, 4))),
                        *normal(r, (4, 4), (4, 4))])


def cell(rng, B, H):
    i, f, o = rng.random((3, B, H))
    return [*normal(rng, (B, H), (B, H), (B, H)), i, f, np.tanh(rng.standard_normal((B, H))), o]


cases("cell_backward", usual=lambda r: cell(r, 3, 4))
cases("additive_attention",
      usual=lambda r: normal(r, (2, 3, 5), (2, 4, 5), (2, 4, 6), (5,)),
      square=lambda r: normal(r, (4, 4, 4), (4, 4, 4), (4, 4, 4), (4,)))
cases("additive_backward",
      usual=lambda r: [*normal(r, (2, 3, 6), (2, 3, 5), (2, 4, 5), (2, 4, 6), (5,)),
                       softmax(r.standard_normal((2, 3, 4)))],
      square=lambda r: [*normal(r, (3, 3, 3), (3, 3, 3), (3, 3, 3), (3, 3, 3), (3,)),
                        softmax(r.standard_normal((3, 3, 3)))])

# ---------------------------------------------------------------- 15

cases("multiplications", drawn=lambda r: [r.integers(1, 40, 5) for _ in range(4)],
      ones=lambda r: [np.ones(2, int)] * 4)
cases("window_masks", usual=lambda r: [9, 2, 3, 2], no_radius=lambda r: [6, 0, 2, 1],
      wide=lambda r: [4, 9, 5, 3], one=lambda r: [5, 1, 1, 2])
cases("layers_needed",
      power_of_5=lambda r: [125, 5], power_of_3=lambda r: [243, 3], one=lambda r: [1, 4],
      usual=lambda r: [int(r.integers(2, 60)), int(r.integers(2, 6))], two=lambda r: [2, 7])


def followed(rng, B, H, T, near=False):
    weights = softmax(3 * rng.standard_normal((B, H, T, T)))
    partner = rng.integers(-1, T, (B, T))
    if near:
        partner = np.where(rng.random((B, T)) < 0.5, np.arange(T) - 1, np.arange(T) + 1)
        partner[partner >= T] = -1
    partner[0, 0] = 1
    partner[0, 1] = -1
    return [weights, partner]


cases("follows", usual=lambda r: followed(r, 3, 2, 6),
      neighbours=lambda r: followed(r, 3, 4, 7, True))

# ---------------------------------------------------------------- 16

cases("rms_norm",
      usual=lambda r: [*normal(r, (3, 5), (5,)), 1e-5],
      three_axes=lambda r: [*normal(r, (2, 3, 5), (5,)), 0.2],
      zeros=lambda r: [np.zeros((2, 5)), r.standard_normal(5), 1e-5])
cases("rotary",
      usual=lambda r: [r.standard_normal((2, 4, 6)), r.integers(0, 30, 4), 10000.0],
      other_base=lambda r: [r.standard_normal((5, 4)), r.permutation(9)[:5], 100.0],
      one_pair=lambda r: [r.standard_normal((3, 2)), np.arange(3), 10000.0])


def turning(pairs="neighbours", sign=1, angle=lambda t: t, base=10000.0, stretch=lambda t: 1.0,
            relative=True):
    def turned(x, positions):
        T, d = x.shape
        t = np.asarray(positions, float) if relative else np.arange(T)
        turn = sign * angle(t)[:, None] * base ** (-np.arange(d // 2) / (d // 2))
        cos, sin = np.cos(turn), np.sin(turn)
        y = np.empty((T, d))
        a, b = (slice(0, None, 2), slice(1, None, 2))
        if pairs == "halves":
            a, b = slice(0, d // 2), slice(d // 2, None)
        y[:, a] = x[:, a] * cos - x[:, b] * sin
        y[:, b] = x[:, a] * sin + x[:, b] * cos
        return y * np.asarray(stretch(t)).reshape(-1, 1)
    return turned


def sheared(x, positions):
    y = turning()(x, positions)
    y[:, 1::2] = x[:, 0::2] * np.cos(positions[:, None]) + x[:, 1::2] * np.sin(positions[:, None])
    return y


VERSIONS["test_pairs"] = [
    ("neighbours", turning(), True),
    ("halves", turning("halves"), True),
    ("clockwise", turning(sign=-1), True),
    ("halves, clockwise", turning("halves", sign=-1, base=500.0), True),
    ("not turned", lambda x, positions: x.copy(), False),
    ("squared positions", turning(angle=lambda t: t ** 2), False),
    ("roots of positions", turning(angle=np.sqrt), False),
    ("stretched", turning(stretch=lambda t: 1 + 0.1 * t), False),
    ("row numbers", turning(relative=False), False),
    ("sheared", sheared, False),
    ("sines added", lambda x, t: x + np.sin(t[:, None] + np.arange(x.shape[1])), False),
]
cases("swiglu", usual=lambda r: normal(r, (3, 5), (3, 5)),
      large=lambda r: [np.array([1000.0, -1000.0, 800.0]), r.standard_normal(3)])


def grouped(rng, B, H, G, T_q, T_k, d_k, d_v, scale=1.0):
    query, key, value = normal(rng, (B, H, T_q, d_k), (B, G, T_k, d_k), (B, G, T_k, d_v))
    return [scale * query, key, value, some_mask(rng, B, T_q, T_k)]


cases("grouped_attention",
      usual=lambda r: grouped(r, 2, 6, 2, 3, 4, 5, 3),
      plain=lambda r: grouped(r, 2, 3, 3, 4, 4, 4, 4),
      one_group=lambda r: grouped(r, 2, 4, 1, 3, 4, 2, 3),
      large_scores=lambda r: grouped(r, 2, 4, 2, 3, 4, 5, 3, 400.0))

# ---------------------------------------------------------------- 17


def table_2(rng, ties=False, missing=True):
    bleu, cost = rng.integers(20, 30, 8) / 1.0, rng.integers(1, 9, 8) * 1e18
    if ties:
        bleu[1], cost[1] = bleu[0], cost[0] + 1e18
    if missing:
        bleu[-1], cost[-2] = np.nan, np.nan
    return [bleu, cost]


cases("beaten", usual=table_2, ties=lambda r: table_2(r, True),
      complete=lambda r: table_2(r, True, False),
      missing_cost=lambda r: [np.array([30.0, 20.0, 25.0]), np.array([np.nan, 1.0, 2.0])],
      one_tie=lambda r: [np.array([25.0, 25.0]), np.array([1.0, 2.0])])
cases("training_operations",
      drawn=lambda r: [*(r.random((3, 4)) * [[80.0], [16.0], [20.0]]), r.integers(1000, 9000, 4),
                       r.integers(100, 900, 4), *r.integers(1000, 90000, (3, 4))])
cases("implied_vocabulary",
      of_the_paper=lambda r: [np.array(a) for a in ([65, 58, 36], [6, 6, 2], [512] * 3, [2048] * 3,
                                                    [8] * 3, [64, 16, 64], [64] * 3)])


def seeds(rng, S_0, R, S):
    rows = rng.standard_normal((R, S)) + np.arange(R)[:, None]
    return [rng.standard_normal(S_0) + 25, rows + 25]


cases("differences", usual=lambda r: seeds(r, 5, 3, 4), one_row=lambda r: seeds(r, 3, 1, 3),
      many=lambda r: seeds(r, 8, 6, 2))
