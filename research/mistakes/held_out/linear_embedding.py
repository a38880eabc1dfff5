"""Mistakes in the linear layer, the embedding and the output projection."""

from research.mistakes import makers
from research.mistakes.makers import BIAS_GRADIENT
from research.mistakes.words import ASSIGNED, AVERAGED, MISSING, PRECISION, RAISES, SIGN, TWICE

SCALE = ("sqrt(d_model)", "sqrt(D)", "scal", "√", "sqrt", "2.64", "2.65")

MISTAKES = [
    makers.linear("linear-dx-untransposed", ("data.T", "data"), ("transpos", "W^T", "W.T", *RAISES)),
    makers.linear("linear-weight-transposed", ("rows.T @ drows", "drows.T @ rows"), ("transpos", "x^T", "shape", *RAISES)),
    makers.linear("linear-bias-twice", (BIAS_GRADIENT, "2 * drows.sum(axis=0)"), ("bias",), TWICE),
    makers.linear("linear-weight-mean-over-rows", ("rows.T @ drows", "rows.T @ drows / len(rows)"), ("weight", "dW"), AVERAGED),
    makers.linear("linear-divided-by-batch",
            ("rows.T @ drows", "rows.T @ drows / len(dy)", BIAS_GRADIENT, "drows.sum(axis=0) / len(dy)"), ("batch",), AVERAGED),
    makers.linear("linear-subtracted", ("grad +=", "grad -="), SIGN),
    makers.linear("linear-step-before-dx", ("self.weight.data.T", "(self.weight.data - 0.01 * self.weight.grad).T"),
            ("dx", "gradient of x", "input"), ("weight", "W^T", "W.T", "updated"), in_model="",
            comment="the optimiser's step inside backward, too early"),
    makers.linear("linear-in-float32",
            ("rows, drows = cache.x.reshape(-1, d_in), dy",
             "dy = dy.astype(np.float32)\n    rows, drows = cache.x.reshape(-1, d_in).astype(np.float32), dy",
             "data.T", "data.T.astype(np.float32)"),
            PRECISION),
    makers.linear("linear-dx-from-gradient", ("self.weight.data.T", "self.weight.grad.T"), ("dx", "gradient of x", "input"),
            ("weight", "W^T", "W.T", "grad of"), in_model=""),
    makers.linear_forward("linear-forward-bias-per-sentence", ("+= self.bias.data", "+= len(x) * self.bias.data"), ("bias",)),
    makers.linear_forward("linear-forward-caches-scaled", ("LinearCache(x)", "LinearCache(x / x.shape[-1] ** 0.5)"),
            ("weight", "dW", "cache"), ("sqrt", "scal", "factor", "cache", "times")),
    makers.embedding("embedding-scale-forgotten", ("math.sqrt(d_model) * ", ""), SCALE, (*MISSING, "too small")),
    makers.embedding("embedding-scale-squared", ("math.sqrt(d_model)", "d_model"), ("d_model", *SCALE),
            (*TWICE, "root", "d_model instead", "too large")),
    makers.embedding("embedding-scale-divided", ("math.sqrt(d_model)", "1 / math.sqrt(d_model)"), SCALE,
            ("divid", "1 /", "1/", "multipl", "inverse", "too small")),
    makers.embedding("embedding-wiped", ("size = 1", "self.weight.grad[...] = 0; size = 1"), ASSIGNED,
            comment="shared with the output projection, whose gradient is lost"),
    makers.embedding("embedding-ids-transposed", ("cache.ids.reshape(-1)", "cache.ids.T.reshape(-1)"),
            ("transpos", "order", "place", "wrong token", "wrong row", "other token", "mixed", "permut", "rows", "swap", "ids")),
    makers.embedding("embedding-without-padding", ("(counts & size) > 0", "((counts & size) > 0) & (distinct != 0)"), ("pad",),
            block="transformer"),
    makers.embedding("embedding-divided-by-batch", ("* sums", "* sums / len(dy)"), ("batch",), AVERAGED),
    makers.embedding("embedding-last-position-missing",
            ("cache.ids.reshape", "cache.ids[:, :-1].reshape", "dy.reshape", "dy[:, :-1].reshape"), ("last", "position", "place")),
    makers.output("output-weight-forgotten", ("drows.T @ rows", "0"), ("weight", "dW"), MISSING),
    makers.output("output-assigned", ("grad +=", "grad[...] ="), ASSIGNED, in_model=""),
    makers.output("output-twice", ("drows.T", "2 * drows.T"), ("weight", "dW"), TWICE),
]
