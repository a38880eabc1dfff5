"""Linear: dx = dy W^T. Embedding: a sum over repeated ids. Most of their mistakes are those of the course's exercises."""

from minitransformer_course.doctor.mistakes import teach

teach("Linear", {
    "missing transpose: dx = dy W, not dy W^T": ("weight.data.T", "weight.data"),
    "missing transpose: the gradient of the weight is dy^T x, the transpose of x^T dy": ("rows.T @ drows", "drows.T @ rows")})

IDS, COUNTED = "cache.ids.reshape(-1)", "some = (counts & size) > 0"
teach("Embedding", {
    "the ids are transposed: each gradient goes to the row of another place's token (the wrong order of positions and batch)":
        (IDS, "cache.ids.T.reshape(-1)"),
    "the ids are sorted, but the gradients are not: each gradient goes to the row of another token (the wrong order)":
        (IDS, f"np.sort({IDS})"),
    "the row of the padding id 0 gets no gradient, although the padding was embedded in forward":
        (COUNTED, f"{COUNTED}\n            some &= distinct != 0"),
    "the row of the last id gets no gradient": (COUNTED, f"{COUNTED}\n            some &= distinct != len(self.weight.data) - 1")})
