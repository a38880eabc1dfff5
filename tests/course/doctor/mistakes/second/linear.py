"""Mistakes in the linear layer and in the output projection with tied weights."""

import numpy as np

from minitransformer.functional.softmax import SoftmaxCache
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.held_out import linear_embedding as held_out_embedding
from tests.course.doctor.mistakes.right import assigning, changed, linear, output, over_rows, product, rows, softmax, total
from tests.course.doctor.mistakes.seen import contract as seen
from tests.course.doctor.mistakes.seen import linear_embedding as seen_embedding
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

OUTPUT = "minitransformer.layers.output_projection:OutputProjection."
MISSING = (*LEFT_OUT, "does not reach")
AVERAGE = ("mean", "average", "divid", "per token", "number of")


def weight_root(x, dy):
    dweight = product(x, dy)
    return np.sign(dweight) * np.sqrt(np.abs(dweight))


dx_not_transposed_back = linear(dx=lambda dy, W: (W @ rows(dy).T).reshape(*dy.shape[:-1], len(W)))    # (d_in, N), reshaped
divided_by_all_rows = linear(weight=lambda x, dy: product(x, dy) / len(rows(x)), bias=lambda dy: rows(dy).mean(axis=0))
last_position_left_out = linear(weight=lambda x, dy: product(x[:, :-1], dy[:, :-1]), bias=lambda dy: over_rows(dy[:, :-1]))
absolute_inputs = linear(weight=lambda x, dy: product(0.5 * x + 0.5 * abs(x), dy))
mean_bias_and_negative_weight = linear(weight=lambda x, dy: -product(x, dy), bias=lambda dy: rows(dy).mean(axis=0))


def bias_gradient_keeps_positions(self, dy, cache):
    dx = linear(bias=lambda dy: 0)(self, dy, cache)
    self.bias.grad = self.bias.grad + dy.sum(axis=0)       # (T, d_out) for dy (B, T, d_out)
    return dx


def weight_step_inside_backward(self, dy, cache):
    linear()(self, dy, cache)
    self.weight.data -= 0.01 * product(cache.x, dy)
    self.bias.data -= 0.01 * over_rows(dy)
    return dy @ self.weight.data.T


# ---- the output projection

tied_reshaped = output(weight=lambda x, dlogits: product(x, dlogits).reshape(dlogits.shape[-1], x.shape[-1]))
tied_halved = output(weight=lambda x, dlogits: 0.5 * product(dlogits, x))


def projection_backs_probabilities(self, dlogits, cache):
    p = np.exp(cache.x @ self.weight.data.T)
    return output()(self, softmax()(dlogits, SoftmaxCache(p / total(p))), cache)


def projection_largest_logit_only(self, dlogits, cache):
    output()(self, dlogits, cache)
    return self.weight.data[(cache.x @ self.weight.data.T).argmax(axis=-1)]


MISTAKES = [
    makers.linear("linear-dx-reshaped-not-transposed", dx_not_transposed_back,
            ("transpos", "reshap", "order", "permut", "scrambl", "shuffl", "swapp", "wrong place")),
    makers.linear("linear-dw-reshaped-not-transposed", seen_embedding.weight_reshaped, ("weight",),
            ("transpos", "reshap", "order", "permut", "scrambl", "shuffl", "wrong place")),
    makers.linear("linear-product-of-sums", linear(weight=lambda x, dy: np.outer(over_rows(x), over_rows(dy))), ("weight",),
            ("product of", "outer", "sums", "summed", "cross", "different row", "before the product")),
    makers.linear("linear-bias-one-number", linear(bias=np.sum), ("bias",),
            ("axis", "axes", "over everything", "all", "one number", "same", "every", "scalar", "broadcast", "constant")),
    makers.linear("linear-bias-first-sequence", linear(bias=lambda dy: over_rows(dy[0])), ("bias",),
            ("first", "batch", "only", "one s", "b = 0", "sample", "some of", "part of", "sequence")),
    makers.linear("linear-bias-last-row", linear(bias=lambda dy: rows(dy)[-1]), ("bias",),
            ("last", "only", "overwrit", "one row", "some of", "part of")),
    makers.linear("linear-bias-keeps-positions", bias_gradient_keeps_positions, ("bias",),
            ("shape", "axis", "axes", "broadcast", "sum"),
            comment="The bias gradient is summed over the batch axis only, and gets the shape (T, d_out)."),
    makers.linear("linear-updates-inside-backward", weight_step_inside_backward,
            ("update", "change", "modif", "in place", "writes", "altered", "overwr", "parameter", "weight")),
    makers.linear("linear-weight-decay", ("+= rows.T", "+= 0.1 * self.weight.data + rows.T"), ("weight",),
            ("decay", "l2", "regulari", "0.1", "itself", "its own", "the weight", "weight.data", "multiple of", "extra", "too much", "w added")),
    makers.linear("linear-dw-over-batch-size", linear(weight=lambda x, dy: product(x, dy) / len(dy)), ("weight",),
            (*AVERAGE, "half", "factor", "1/2", "0.5", "1 / b")),
    makers.linear("linear-both-over-rows", divided_by_all_rows, (*AVERAGE, "1/6", "factor", "0.1667", "sixth")),
    makers.linear_forward("linear-forward-bias-twice", ("+= self.bias.data", "+= 2 * self.bias.data"), ("bias",),
            ("twice", "half", "factor", "doubl", "2 times", "times 2", "2x", "0.5")),
    makers.linear_forward("linear-forward-no-bias", ("y += self.bias.data", "pass"), ("bias",),
            (*MISSING, "not used", "no effect", "does not depend", "unused", "no influence", "forward")),
    makers.linear_forward("linear-caches-half-precision",
            ("LinearCache(x)", "LinearCache(x.real.astype('float16').astype(x.dtype))"), ("weight", "cache"),
            ("precision", "float16", "round", "half", "digits", "accura", "dtype", "cache", "stale", "error", "nearly", "almost")),
    makers.linear_forward("linear-caches-centred-input", ("LinearCache(x)", "LinearCache(x - x.mean(axis=-1, keepdims=True))"),
            ("weight", "cache"), ("cache", "centr", "mean", "subtract", "other input", " x ", "kept", "stored")),
    makers.linear("linear-off-by-one-rows", linear(weight=lambda x, dy: rows(x)[:-1].T @ rows(dy)[1:]), ("weight",),
            ("shift", "off by one", "next", "neighbour", "neighbor", "other row", "wrong row", "previous", "mismatch", "roll"),
            comment="dW pairs each row of x with the dy of the next row (off by one, as for a next-token target)."),
    makers.linear("linear-last-position-dropped", last_position_left_out,
            ("last", "position", "some of", "part of", "row", "slice", "token")),
    makers.linear("linear-descent-sign", held_out_embedding.subtracted, ("sign", "negat", "minus", "-1", "opposite")),
    makers.linear("linear-weight-assigned", assigning(linear(), "weight"),
            ("+=", "accumulat", "overwrit", "assign", "replac", "add"), in_model=""),
    makers.linear("linear-bias-in-dw", ("rows.T @ drows", "rows.T @ (drows + self.bias.data)"), ("weight",),
            ("bias", "extra", "too much", "added", *UNKNOWN)),
    makers.linear("linear-clipped-upstream", seen.linear_clips_dy, (*UNKNOWN, "clip", "linear", "dx", "weight")),
    makers.linear("linear-tanh-of-dx", changed(linear(), lambda dx, *_: np.tanh(dx)), (*UNKNOWN, "tanh", "dx", "input", "linear")),
    makers.linear("linear-root-of-dw", linear(weight=weight_root), (*UNKNOWN, "weight", "root", "power")),
    makers.linear("linear-half-absolute-input", absolute_inputs, (*UNKNOWN, "weight", "negative", "positive", "relu")),
    makers.linear("linear-two-mean-bias-and-sign", mean_bias_and_negative_weight, ("sign", "negat", "minus", "-1", "opposite"),
            ("bias", *AVERAGE)),
    makers.output("tied-output-assigned", held_out_embedding.output_assigned,
            ("+=", "accumulat", "overwrit", "assign", "replac", "add"), in_model=""),
    makers.output("tied-output-reshaped", tied_reshaped, ("weight",),
            ("transpos", "reshap", "order", "permut", "scrambl", "shuffl", "wrong place")),
    makers.output("tied-output-embedding-scale", seen_embedding.output_scaled,
            ("sqrt", "2.65", "2.646", "2.6458", "factor", "times", "scale")),
    makers.output("tied-output-twice", held_out_embedding.output_twice,
            ("twice", "doubl", "factor", "2 times", "times 2", "two times")),
    makers.output("tied-output-no-gradient", held_out_embedding.output_weight_forgotten, MISSING,
            comment="The projection adds no gradient to the shared weight: 'the embedding owns it'."),
    makers.output("tied-output-halved", tied_halved, ("half", "factor", "0.5", "1/2", "averag", "divided"),
            comment="The projection's dW is halved, as if shared weights should average their two gradients."),
    makers.output_forward("output-forward-scaled", ("@ self.weight.data.T", "@ self.weight.data.T / d_model ** 0.5"),
            ("sqrt", "factor", "scale", "2.65", "2.646", "0.378", "times", "divid"),
            comment="forward scales the logits by 1/sqrt(d_model) as T5 does for tied weights; backward does not."),
    makers.output("output-softmax-backward-too", projection_backs_probabilities, ("softmax", "twice", "jacobian", "output"),
            comment="The projection's backward first goes back through a softmax of the logits, which forward does not have (the loss's backward has done it already)."),
    makers.output("output-argmax-row", projection_largest_logit_only,
            (*UNKNOWN, "dx", "input", "dlogits", "upstream", "does not depend on dy", "argmax")),
]
