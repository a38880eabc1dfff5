"""Positions: dx = dy, and for learned ones dW[t] = sum over the batch of dy[b, t]."""

from minitransformer_course.doctor.mistakes import teach

ROWS = "self.weight.grad[: cache.length] += dy.sum(axis=0)"
teach("LearnedPositions", {
    "the positions' gradient goes to the last rows of the table, not to the first": ("[: cache.length]", "[-cache.length:]"),
    "every position gets the sum over all positions: the gradient is summed over the length (time) too, not only over the batch":
        (ROWS, "self.weight.grad[:cache.length] += dy.sum(axis=(0, 1))"),
    "all rows of the table get the gradient summed over all positions, not only those that were used":
        (ROWS, "self.weight.grad += dy.sum(axis=(0, 1))"),
    "dx is multiplied by the position's vector: the positions are added, not multiplied":
        ("return dy", "return dy * self.weight.data[:cache.length]"),
    "the position's vector is added to dx: dx is dy alone": ("return dy", "return dy + self.weight.data[:cache.length]")})

TABLE = "sinusoids(cache.length, dy.shape[-1])"
teach("SinusoidalPositions", {
    "dx is multiplied by the table of sinusoids: the positions are added, not multiplied, so dx = dy": ("return dy", f"return dy * {TABLE}"),
    "the table of sinusoids is added to dx: a constant has no gradient, so dx = dy": ("return dy", f"return dy + {TABLE}"),
    "the table of sinusoids is subtracted from dx: a constant has no gradient, so dx = dy": ("return dy", f"return dy - {TABLE}")})
