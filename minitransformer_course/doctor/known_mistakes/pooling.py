"""Pooling: the mean over the real positions, or the first position alone."""

from minitransformer_course.doctor.mistakes import teach

RIGHT, LENGTH, REAL = "dy[:, None, :] * cache.share", "cache.share.shape[1]", "(cache.share > 0)"
EVERY = f"np.repeat(dy[:, None, :], {LENGTH}, axis=1)"
teach("MeanOverTokens", {sentence: (RIGHT, wrong) for sentence, wrong in {
    "padding gets a gradient: dy divided by the length goes to all positions, not to the real ones only": f"{EVERY} / {LENGTH}",
    "the mean is over the whole length T, padding included: divided by T, not by the number of real positions":
        f"dy[:, None, :] * {REAL} / {LENGTH}",
    "the division by the number of real positions is missing (a sum, not a mean)": f"dy[:, None, :] * {REAL}",
    "the division by the number of positions is missing, and padding gets a gradient: dy goes to every position": EVERY,
    "the division by the number of real positions is applied twice (squared)": f"{RIGHT} ** 2",
    "the mask of real positions is ignored: padding gets a gradient too, with the right divisor":
        f"{EVERY} * cache.share.max(axis=1, keepdims=True)",
    "the division is by all real positions of the batch, not by those of each sentence": f"dy[:, None, :] * {REAL} / {REAL}.sum()",
    "the mask of real positions is inverted: only padding gets a gradient":
        f"dy[:, None, :] * ~{REAL} * cache.share.max(axis=1, keepdims=True)"}.items()})

FIRST = "dx[:, 0] = dy"
teach("FirstToken", {
    "every position gets the gradient dy, not only the first": (FIRST, "dx[:] = dy[:, None]"),
    "the gradient goes to the last position, not to the first": (FIRST, "dx[:, -1] = dy")})
