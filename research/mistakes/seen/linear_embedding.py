"""Mistakes in the linear layer, the embedding and the output projection."""

from research.mistakes import makers
from research.mistakes.makers import BIAS_GRADIENT
from research.mistakes.words import ASSIGNED, AVERAGED, MISSING, RAISES

SCALE = ("sqrt(d_model)", "sqrt(D)", "square root", "scal", "√", "sqrt", "2.64", "2.65")

MISTAKES = [
    makers.linear("linear-weight-reshaped", ("rows.T @ drows", "(drows.T @ rows).reshape(d_in, d_out)"), ("weight", "dW"),
            ("transpos", "reshap", "x^T"), comment="made to fit, as in many a first attempt"),
    makers.linear("linear-bias-forgotten", (BIAS_GRADIENT, "0"), ("bias",), MISSING),
    makers.linear("linear-bias-mean-over-positions", (BIAS_GRADIENT, "dy.sum(axis=0).mean(axis=tuple(range(dy.ndim - 2)))"),
            ("bias",), AVERAGED),
    makers.linear("linear-bias-without-batch", (BIAS_GRADIENT, "dy.sum(axis=1)"), ("bias", *RAISES),
            ("shape", "axis", "axes", "broadcast", "sum", *RAISES)),
    makers.linear("linear-assigned", ("grad +=", "grad[...] ="), ASSIGNED, in_model=""),
    makers.linear("linear-last-sentence-only", ("rows.T @ drows", "cache.x[-1].reshape(-1, d_in).T @ dy[-1].reshape(-1, d_out)"),
            ("batch", "sentence", "example", "last", "sample", "sequence")),
    makers.linear("linear-first-sentence-only",
            ("rows.T @ drows", "cache.x[0].reshape(-1, d_in).T @ dy[0].reshape(-1, d_out)", BIAS_GRADIENT, "dy[0].reshape(-1, d_out).sum(axis=0)"),
            ("batch", "sentence", "example", "first", "sample", "sequence")),
    makers.linear("linear-dx-divided-by-batch", ("return (drows", "return (drows / len(dy)"), ("batch",), AVERAGED),
    makers.linear("linear-nothing-returned", ("return (drows @ self.weight.data.T).reshape(cache.x.shape)", "return None"),
            ("none", "return", "nothing", *RAISES)),
    makers.linear("linear-rows-returned", (".reshape(cache.x.shape)", ""), ("shape", *RAISES)),
    makers.embedding("embedding-scale-of-vocabulary", ("math.sqrt(d_model)", "math.sqrt(len(self.weight.data))"),
            ("sqrt", "scal", "factor"), ("vocab", "sqrt(V)", " V ", "rows of")),
    makers.embedding("embedding-places-averaged", ("* sums", "* sums / counts[some][:, None]"), (*AVERAGED, "count"),
            ("repeat", "place", "count", "more than once", "several", "token", "occur", "times")),
    makers.embedding("embedding-first-place", ("size = 1", "counts = np.ones_like(counts); size = 1"),
            ("repeat", "more than once", "several", "only one", "first", "again", "occur", "places")),
    makers.embedding("embedding-off-by-one", ("cache.ids.reshape(-1)", "cache.ids.reshape(-1) - 1"),
            ("off by one", "shift", "neighbour", "row", "wrong token", "id - 1", "ids - 1", "next", "previous", "other token", "wrong id")),
    makers.embedding("embedding-ids-sorted", ("cache.ids.reshape(-1)", "np.sort(cache.ids.reshape(-1))"),
            ("sort", "order", "place", "wrong token", "wrong row", "other token", "mixed", "permut", "rows", "swap", "ids")),
    makers.embedding_forward("embedding-forward-unscaled", ("math.sqrt(d_model) * ", ""), SCALE),
    makers.embedding_forward("embedding-forward-off-by-one", ("(ids,", "(ids - 1,"),
            ("off by one", "shift", "neighbour", "row", "wrong token", "id - 1", "ids - 1", "next", "previous", "other token", "wrong id")),
    makers.output("output-scaled", ("drows.T", "math.sqrt(d_model) * drows.T"), ("weight", "dW"), SCALE),
    makers.output("output-divided-by-tokens", ("drows.T @ rows", "drows.T @ rows / len(rows)"), ("weight", "dW"), AVERAGED),
    makers.output("output-dx-scaled", ("return (drows", "return (math.sqrt(d_model) * drows"), ("dx", "input", "gradient of x"),
            SCALE),
    makers.output_forward("output-forward-scaled", ("@ self.weight.data.T", "@ self.weight.data.T / d_model ** 0.5"), SCALE),
]
