"""The likeliest few of all continuations of a sentence's hypotheses."""

from minitransformer.backend import module_of, to_host

GROUP = 24    # words


def group_maxima(logits):
    """The largest logit of each group of words: (B, width, V) -> (B, width, groups).

    Group g holds the words g, g + n, g + 2n, ... for n = V // 24; the words behind 24 n are groups of their own.
    """
    xp = module_of(logits)
    *rows, size = logits.shape
    whole = size // GROUP * GROUP
    grouped = logits[..., :whole].reshape(*rows, GROUP, size // GROUP)
    return xp.concatenate([grouped.max(axis=-2) if whole else logits[..., :0], logits[..., whole:]], axis=-1)


def likeliest(logits, maxima, before, count):
    """The `count` largest before + logits of each sentence: (sums, parents, words), each (B, count), on the host.

    logits: (B, width, V); maxima: its group_maxima; before: (B, width). They are in no order; where there are fewer, sums
    of -inf make up the number. All of them lie in the `count` groups with the largest maxima, so only these are looked at
    again: to select among all words takes several times as long.
    """
    xp = module_of(logits)
    batch, _, size = logits.shape
    groups = size // GROUP
    best = _largest((maxima + before[:, :, None]).reshape(batch, -1), count)             # (B, count)
    parents, group = best // maxima.shape[2], best % maxima.shape[2]
    alone, member = (group >= groups)[:, :, None], xp.arange(GROUP)
    words = xp.where(alone, group[:, :, None] + groups * (GROUP - 1), group[:, :, None] + groups * member)
    sentence = xp.arange(batch)[:, None]
    sums = logits[sentence[:, :, None], parents[:, :, None], words] + before[sentence, parents][:, :, None]
    sums = xp.where(alone & (member > 0), -xp.inf, sums).reshape(batch, -1)              # (B, count * GROUP)
    best = _largest(sums, count)
    places = (parents[:, :, None] * size + words).reshape(batch, -1)
    sums, places = (to_host(xp.take_along_axis(a, best, axis=1)) for a in (sums, places))
    return sums, places // size, places % size


def log_normaliser(logits, peak):
    """log(sum(exp(logits))) of the last axis, (..., V) -> (...); peak: (...), its maxima."""
    xp = module_of(logits)
    z = xp.exp(logits - peak[..., None])
    return xp.log(z.reshape(-1, z.shape[-1]) @ xp.ones(z.shape[-1], z.dtype)).reshape(peak.shape) + peak


def _largest(x, count):
    """The places of the `count` largest in each row of x (R, N), in no order."""
    count = min(count, x.shape[1])
    return module_of(x).argpartition(x, x.shape[1] - count, axis=1)[:, x.shape[1] - count:]
