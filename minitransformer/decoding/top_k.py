"""The top k of all continuations of a sentence's hypotheses."""

from minitransformer.backend import Array, module_of
from minitransformer.replaceable import replaceable

GROUPS = 250    # groups of tokens; this many columns of logits are computed and compared while in the processor's cache


def in_blocks(weight) -> Array:
    """W^T in blocks of 250 tokens, (blocks, d, n), each contiguous, the last one filled up with zeros: W (V, d).

    A search makes them once: for few rows x, the product with a transposed matrix takes three times as long.
    """
    xp, (size, d) = module_of(weight), weight.shape
    n = min(GROUPS, max(1, size))
    padded = xp.zeros((-(-size // n) * n, d), weight.dtype)
    padded[:size] = weight
    return xp.ascontiguousarray(padded.reshape(-1, n, d).swapaxes(1, 2))


def grouped_logits(x, weights, size) -> tuple[Array, Array]:
    """logits x W^T in blocks of 250 tokens, (blocks, R, n), and the largest of each group, (R, n): x (R, d).

    weights: in_blocks(W) for `size` tokens. Group g holds the tokens g, n + g, 2n + g, ...: one from each block. Logits of -inf
    fill up the last block.
    """
    xp, (count, _, n) = module_of(x), weights.shape
    blocks = xp.empty((count, len(x), n), x.dtype)
    maxima = xp.full((len(x), n), -xp.inf, x.dtype)
    for i in range(count):
        xp.matmul(x, weights[i], out=blocks[i])
        blocks[i, :, size - i * n:] = -xp.inf
        xp.maximum(maxima, blocks[i], out=maxima)
    return blocks, maxima


def top_k_continuations(blocks, maxima, before, count) -> tuple[Array, Array, Array]:
    """The `count` largest before + logits of each sentence: (sums, parents, token ids), each (B, count), the largest first.

    blocks, maxima: grouped_logits of B * width rows; before: (B, width). If there are fewer than `count`, the
    rest are sums of -inf. All of them are in the `count` groups with the largest maxima, so only these are searched.
    """
    xp = module_of(blocks)
    batch, width = before.shape
    n = maxima.shape[1]
    bounds = maxima.reshape(batch, width, n) + before[:, :, None].astype(maxima.dtype)
    best, bounds = top_k(bounds.reshape(batch, -1), count)
    parents, groups = best // n, best % n                                             # (B, count)
    sentence = xp.arange(batch)[:, None]
    sums = blocks[:, sentence * width + parents, groups] + before[sentence, parents]  # (blocks, B, count)
    sums = xp.where(bounds > -xp.inf, sums, -xp.inf)                                   # each group counts once
    best, sums = top_k(xp.moveaxis(sums, 0, 1).reshape(batch, -1), count)
    block, place = best // count, best % count
    return sums, parents[sentence, place], block * n + groups[sentence, place]


@replaceable
def log_normaliser(blocks, peak) -> Array:
    """log(sum(exp(logits))) of each row, (R,): logits (R, n) in one or more blocks, peak (R,) their maxima."""
    xp = module_of(peak)
    total = xp.zeros_like(peak)
    for logits in blocks:
        z = logits - peak[:, None]
        total += xp.exp(z, out=z) @ xp.ones(z.shape[1], z.dtype)
    return xp.log(total) + peak


def top_k(x, count) -> tuple[Array, Array]:
    """(places, values) of the `count` largest in each row of x (R, N), each (R, count), the largest first; changes x.

    Equal values are in the order of their places. `count` searches are faster here than sorting or partitioning.
    """
    xp = module_of(x)
    rows = xp.arange(len(x))
    places, values = [], []
    for _ in range(count):
        places.append(x.argmax(axis=1))
        values.append(x[rows, places[-1]])
        x[rows, places[-1]] = -xp.inf
    return xp.stack(places, axis=1), xp.stack(values, axis=1)
