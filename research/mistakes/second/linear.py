"""Mistakes in the linear layer and in the output projection with tied weights."""

import numpy as np

from minitransformer.functional import softmax_backward
from minitransformer.functional.softmax import SoftmaxCache
from minitransformer.layers import OutputProjection
from research.mistakes import makers
from research.mistakes.makers import BIAS_GRADIENT
from research.mistakes.words import LEFT_OUT, UNKNOWN

MISSING = (*LEFT_OUT, "does not reach")
AVERAGE = ("mean", "average", "divid", "per token", "number of")


def product(x, dy):
    return x.reshape(-1, x.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])


def linear(weight):
    def backward(self, dy, cache):
        self.weight.grad += weight(cache.x, dy)
        self.bias.grad += dy.sum(axis=tuple(range(dy.ndim - 1)))
        return dy @ self.weight.data.T
    return backward


def bias_in_dw(self, dy, cache):
    return linear(weight=lambda x, dy: product(x, dy + self.bias.data))(self, dy, cache)


project_backward = OutputProjection.backward


def projection_backs_probabilities(self, dlogits, cache):
    p = np.exp(cache.x @ self.weight.data.T)
    return project_backward(self, softmax_backward(dlogits, SoftmaxCache(p / p.sum(axis=-1, keepdims=True))), cache)


def projection_largest_logit_only(self, dlogits, cache):
    project_backward(self, dlogits, cache)
    return self.weight.data[(cache.x @ self.weight.data.T).argmax(axis=-1)]


MISTAKES = [
    makers.linear("linear-dx-reshaped-not-transposed", ("drows @ self.weight.data.T", "self.weight.data @ drows.T"),
            ("transpos", "reshap", "order", "permut", "scrambl", "shuffl", "swapp", "wrong place")),
    makers.linear("linear-dw-reshaped-not-transposed", ("rows.T @ drows", "(drows.T @ rows).reshape(d_in, d_out)"), ("weight",),
            ("transpos", "reshap", "order", "permut", "scrambl", "shuffl", "wrong place")),
    makers.linear("linear-product-of-sums", ("rows.T @ drows", "np.outer(rows.sum(axis=0), drows.sum(axis=0))"), ("weight",),
            ("product of", "outer", "sums", "summed", "cross", "different row", "before the product")),
    makers.linear("linear-bias-one-number", (BIAS_GRADIENT, "dy.sum()"), ("bias",),
            ("axis", "axes", "over everything", "all", "one number", "same", "every", "scalar", "broadcast", "constant")),
    makers.linear("linear-bias-first-sequence", (BIAS_GRADIENT, "dy[0].reshape(-1, d_out).sum(axis=0)"), ("bias",),
            ("first", "batch", "only", "one s", "b = 0", "sample", "some of", "part of", "sequence")),
    makers.linear("linear-bias-last-row", (BIAS_GRADIENT, "drows[-1]"), ("bias",),
            ("last", "only", "overwrit", "one row", "some of", "part of")),
    makers.linear("linear-bias-keeps-positions",
            ("self.bias.grad += module_of(dy).ones(len(drows), dy.dtype) @ drows", "self.bias.grad = self.bias.grad + dy.sum(axis=0)"),
            ("bias",), ("shape", "axis", "axes", "broadcast", "sum"),
            comment="The bias gradient is summed over the batch axis only, and gets the shape (T, d_out)."),
    makers.linear("linear-updates-inside-backward",
            ("return (drows", "self.weight.data -= 0.01 * rows.T @ drows\n    self.bias.data -= 0.01 * drows.sum(axis=0)\n    return (drows"),
            ("update", "change", "modif", "in place", "writes", "altered", "overwr", "parameter", "weight")),
    makers.linear("linear-weight-decay", ("+= rows.T", "+= 0.1 * self.weight.data + rows.T"), ("weight",),
            ("decay", "l2", "regulari", "0.1", "itself", "its own", "the weight", "weight.data", "multiple of", "extra", "too much", "w added")),
    makers.linear("linear-dw-over-batch-size", ("rows.T @ drows", "rows.T @ drows / len(dy)"), ("weight",),
            (*AVERAGE, "half", "factor", "1/2", "0.5", "1 / b")),
    makers.linear("linear-both-over-rows", ("rows.T @ drows", "rows.T @ drows / len(rows)", BIAS_GRADIENT, "drows.mean(axis=0)"),
            (*AVERAGE, "1/6", "factor", "0.1667", "sixth")),
    makers.linear_forward("linear-forward-bias-twice", ("+= self.bias.data", "+= 2 * self.bias.data"), ("bias",),
            ("twice", "half", "factor", "doubl", "2 times", "times 2", "2x", "0.5")),
    makers.linear_forward("linear-forward-no-bias", ("y += self.bias.data", "pass"), ("bias",),
            (*MISSING, "not used", "no effect", "does not depend", "unused", "no influence", "forward")),
    makers.linear_forward("linear-caches-half-precision",
            ("LinearCache(x)", "LinearCache(x.real.astype(np.float16).astype(x.dtype))"), ("weight", "cache"),
            ("precision", "float16", "round", "half", "digits", "accura", "dtype", "cache", "stale", "error", "nearly", "almost")),
    makers.linear_forward("linear-caches-centred-input", ("LinearCache(x)", "LinearCache(x - x.mean(axis=-1, keepdims=True))"),
            ("weight", "cache"), ("cache", "centr", "mean", "subtract", "other input", " x ", "kept", "stored")),
    makers.linear("linear-off-by-one-rows", ("rows.T @ drows", "rows[:-1].T @ drows[1:]"), ("weight",),
            ("shift", "off by one", "next", "neighbour", "neighbor", "other row", "wrong row", "previous", "mismatch", "roll"),
            comment="dW pairs each row of x with the dy of the next row (off by one, as for a next-token target)."),
    makers.linear("linear-last-position-dropped",
            ("rows.T @ drows", "cache.x[:, :-1].reshape(-1, d_in).T @ dy[:, :-1].reshape(-1, d_out)", BIAS_GRADIENT, "dy[:, :-1].reshape(-1, d_out).sum(axis=0)"),
            ("last", "position", "some of", "part of", "row", "slice", "token")),
    makers.linear("linear-descent-sign", ("grad +=", "grad -="), ("sign", "negat", "minus", "-1", "opposite")),
    makers.linear("linear-weight-assigned", ("weight.grad +=", "weight.grad[...] ="),
            ("+=", "accumulat", "overwrit", "assign", "replac", "add"), in_model=""),
    makers.linear("linear-bias-in-dw", bias_in_dw, ("weight",),
            ("bias", "extra", "too much", "added", *UNKNOWN)),
    makers.linear("linear-clipped-upstream", ("dy.reshape(-1, d_out)", "np.clip(dy, -1, 1).reshape(-1, d_out)"),
            (*UNKNOWN, "clip", "linear", "dx", "weight")),
    makers.linear("linear-tanh-of-dx", ("return (drows", "return np.tanh(drows"), (*UNKNOWN, "tanh", "dx", "input", "linear")),
    makers.linear("linear-root-of-dw", ("rows.T @ drows", "np.sign(rows.T @ drows) * np.sqrt(abs(rows.T @ drows))"),
            (*UNKNOWN, "weight", "root", "power")),
    makers.linear("linear-half-absolute-input", ("rows.T @ drows", "(0.5 * rows + 0.5 * abs(rows)).T @ drows"),
            (*UNKNOWN, "weight", "negative", "positive", "relu")),
    makers.linear("linear-two-mean-bias-and-sign", ("rows.T @ drows", "-rows.T @ drows", BIAS_GRADIENT, "drows.mean(axis=0)"),
            ("sign", "negat", "minus", "-1", "opposite"), ("bias", *AVERAGE)),
    makers.output("tied-output-assigned", ("grad +=", "grad[...] ="), ("+=", "accumulat", "overwrit", "assign", "replac", "add"),
            in_model=""),
    makers.output("tied-output-reshaped", ("drows.T @ rows", "(rows.T @ drows).reshape(self.weight.shape)"), ("weight",),
            ("transpos", "reshap", "order", "permut", "scrambl", "shuffl", "wrong place")),
    makers.output("tied-output-embedding-scale", ("drows.T", "math.sqrt(d_model) * drows.T"),
            ("sqrt", "2.65", "2.646", "2.6458", "factor", "times", "scale")),
    makers.output("tied-output-twice", ("drows.T", "2 * drows.T"), ("twice", "doubl", "factor", "2 times", "times 2", "two times")),
    makers.output("tied-output-no-gradient", ("drows.T @ rows", "0"), MISSING,
            comment="The projection adds no gradient to the shared weight: 'the embedding owns it'."),
    makers.output("tied-output-halved", ("drows.T", "0.5 * drows.T"), ("half", "factor", "0.5", "1/2", "averag", "divided"),
            comment="The projection's dW is halved, as if shared weights should average their two gradients."),
    makers.output_forward("output-forward-scaled", ("@ self.weight.data.T", "@ self.weight.data.T / d_model ** 0.5"),
            ("sqrt", "factor", "scale", "2.65", "2.646", "0.378", "times", "divid"),
            comment="forward scales the logits by 1/sqrt(d_model) as T5 does for tied weights; backward does not."),
    makers.output("output-softmax-backward-too", projection_backs_probabilities, ("softmax", "twice", "jacobian", "output"),
            comment="The projection's backward first goes back through a softmax of the logits, which forward does not have (the loss's backward has done it already)."),
    makers.output("output-argmax-row", projection_largest_logit_only,
            (*UNKNOWN, "dx", "input", "dlogits", "upstream", "does not depend on dy", "argmax")),
]
