"""Five mistakes to start with; they move to their families' files."""

from tests.diagnosis.mistakes.mistake import Mistake


def softmax_diagonal(dp, cache):
    return cache.p * (1 - cache.p) * dp


def layer_norm_without_projection(dy, cache):
    normed, inverse, gamma = cache
    dn = dy * gamma
    dx = inverse * (dn - dn.mean(axis=-1, keepdims=True))
    rows = tuple(range(dy.ndim - 1))
    return dx, (dy * normed).sum(axis=rows), dy.sum(axis=rows)


def linear_mean_over_rows(self, dy, cache):
    d_in, d_out = self.weight.shape
    rows, drows = cache.x.reshape(-1, d_in), dy.reshape(-1, d_out)
    self.weight.grad += rows.T @ drows
    self.bias.grad += drows.mean(axis=0)
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


def embedding_repeated_ids(self, dy, cache):
    d_model = self.weight.shape[1]
    self.weight.grad[cache.ids] += d_model ** 0.5 * dy


def residual_without_shortcut(self, dy, cache):
    from minitransformer.functional import dropout_backward
    if not self.pre_norm:
        dy = self.norm.backward(dy, cache.norm)
    dh = self.sublayer.backward(dropout_backward(dy, cache.dropout), cache.sublayer)
    dh, *others = dh if isinstance(dh, tuple) else (dh,)
    if self.pre_norm:
        dh = self.norm.backward(dh, cache.norm)
    return (dh, *others) if others else dh


MISTAKES = [
    Mistake("softmax-diagonal-only", "softmax_backward", softmax_diagonal, "softmax",
            (("diagonal", "off-diagonal", "p (1 - p)", "p * (1 - p)", "p(1 - p)", "p(1-p)"),)),
    Mistake("layer-norm-projection-forgotten", "layer_norm_backward", layer_norm_without_projection, "layer-norm",
            (("mean(dn * n)", "variance", "standard deviation", "second mean", "inverse"), ("miss", "forgot", "left out", "without", "lack", "constant"))),
    Mistake("linear-bias-mean-for-sum", "Linear.backward", linear_mean_over_rows, "linear",
            (("bias",), ("mean", "average", "divided"))),
    Mistake("embedding-repeated-ids", "Embedding.backward", embedding_repeated_ids, "embedding",
            (("repeat", "more than once", "several", "only one", "last", "again"),)),
    Mistake("residual-shortcut-forgotten", "minitransformer.layers.residual:Residual.backward", residual_without_shortcut,
            "residual", (("residual", "skip", "shortcut", "direct", "identity", "dy + "),)),
]
