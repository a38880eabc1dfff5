"""Mistakes in the linear layer and in the output projection with tied weights."""

import numpy as np

from minitransformer.functional.softmax import SoftmaxCache
from minitransformer.layers.linear import LinearCache
from minitransformer.layers.output_projection import OutputCache
from tests.course.doctor.mistakes.held_out import contract as held_out
from tests.course.doctor.mistakes.held_out import linear_embedding as held_out_embedding
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import assigning, changed, linear, mean, output, over_rows, product, rows, softmax, total
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
product_of_sums = linear(weight=lambda x, dy: np.outer(over_rows(x), over_rows(dy)))
bias_summed_over_everything = linear(bias=np.sum)
bias_of_first_sequence = linear(bias=lambda dy: over_rows(dy[0]))
bias_last_row_of_a_loop = linear(bias=lambda dy: rows(dy)[-1])
divided_by_the_batch = linear(weight=lambda x, dy: product(x, dy) / len(dy))
divided_by_all_rows = linear(weight=lambda x, dy: product(x, dy) / len(rows(x)), bias=lambda dy: rows(dy).mean(axis=0))
pairs_with_the_next_row = linear(weight=lambda x, dy: rows(x)[:-1].T @ rows(dy)[1:])
last_position_left_out = linear(weight=lambda x, dy: product(x[:, :-1], dy[:, :-1]), bias=lambda dy: over_rows(dy[:, :-1]))
weight_overwritten = assigning(linear(), "weight")
squashed_dx = changed(linear(), lambda dx, *_: np.tanh(dx))
root_of_weight_gradient = linear(weight=weight_root)
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


def bias_in_dx(self, dy, cache):
    return linear(weight=lambda x, dy: product(x, dy + self.bias.data))(self, dy, cache)


def forward_adds_bias_twice(self, x):
    return x @ self.weight.data + 2 * self.bias.data, LinearCache(x)


def forward_without_bias(self, x):
    return x @ self.weight.data, LinearCache(x)


def forward_keeps_half_precision(self, x):
    return x @ self.weight.data + self.bias.data, LinearCache(x.real.astype(np.float16).astype(x.dtype))


def forward_keeps_the_centred_input(self, x):
    return x @ self.weight.data + self.bias.data, LinearCache(x - mean(x))


# ---- the output projection

tied_reshaped = output(weight=lambda x, dlogits: product(x, dlogits).reshape(dlogits.shape[-1], x.shape[-1]))
tied_halved = output(weight=lambda x, dlogits: 0.5 * product(dlogits, x))


def projection_forward_scaled(self, x):
    return x.shape[-1] ** -0.5 * x @ self.weight.data.T, OutputCache(x)


def projection_backs_probabilities(self, dlogits, cache):
    p = np.exp(cache.x @ self.weight.data.T)
    return output()(self, softmax()(dlogits, SoftmaxCache(p / total(p))), cache)


def projection_largest_logit_only(self, dlogits, cache):
    output()(self, dlogits, cache)
    return self.weight.data[(cache.x @ self.weight.data.T).argmax(axis=-1)]


MISTAKES = [
    Mistake("linear-dx-reshaped-not-transposed", "Linear.backward", dx_not_transposed_back, "linear",
            (("transpos", "reshap", "order", "permut", "scrambl", "shuffl", "swapp", "wrong place"),),
            comment="dx is computed as W dy^T, of shape (d_in, N), and reshaped to x's shape instead of transposed back."),
    Mistake("linear-dw-reshaped-not-transposed", "Linear.backward", seen_embedding.weight_reshaped, "linear",
            (("weight",), ("transpos", "reshap", "order", "permut", "scrambl", "shuffl", "wrong place")),
            comment="dW is computed as dy^T x, of shape (d_out, d_in), and reshaped to (d_in, d_out) instead of transposed."),
    Mistake("linear-product-of-sums", "Linear.backward", product_of_sums, "linear",
            (("weight",), ("product of", "outer", "sums", "summed", "cross", "different row", "before the product")),
            comment="dW is the outer product of the summed x and the summed dy, not the sum of outer products."),
    Mistake("linear-bias-one-number", "Linear.backward", bias_summed_over_everything, "linear",
            (("bias",), ("axis", "axes", "over everything", "all", "one number", "same", "every", "scalar", "broadcast", "constant")),
            comment="The bias gradient is dy summed over all axes, one number that broadcasts to every output."),
    Mistake("linear-bias-first-sequence", "Linear.backward", bias_of_first_sequence, "linear",
            (("bias",), ("first", "batch", "only", "one s", "b = 0", "sample", "some of", "part of", "sequence")),
            comment="The bias gradient sums dy over the first sequence of the batch only."),
    Mistake("linear-bias-last-row", "Linear.backward", bias_last_row_of_a_loop, "linear",
            (("bias",), ("last", "only", "overwrit", "one row", "some of", "part of")),
            comment="In a loop over the rows the bias gradient is assigned each time, so the last row's alone is added."),
    Mistake("linear-bias-keeps-positions", "Linear.backward", bias_gradient_keeps_positions, "linear",
            (("bias",), ("shape", "axis", "axes", "broadcast", "sum")),
            comment="The bias gradient is summed over the batch axis only, and gets the shape (T, d_out)."),
    Mistake("linear-updates-inside-backward", "Linear.backward", weight_step_inside_backward, "linear",
            (("update", "change", "modif", "in place", "writes", "altered", "overwr", "parameter", "weight"),),
            comment="backward also takes a gradient descent step on weight and bias, and dx is made with the new weight."),
    Mistake("linear-weight-decay", "Linear.backward", held_out.linear_weight_decay, "linear",
            (("weight",), ("decay", "l2", "regulari", "0.1", "itself", "its own", "the weight", "weight.data", "multiple of", "extra", "too much", "w added")),
            comment="0.1 W (weight decay) is added to the weight's gradient although the loss has no such term."),
    Mistake("linear-dw-over-batch-size", "Linear.backward", divided_by_the_batch, "linear",
            (("weight",), (*AVERAGE, "half", "factor", "1/2", "0.5", "1 / b")),
            comment="The weight's gradient alone is divided by the batch size B (= 2)."),
    Mistake("linear-both-over-rows", "Linear.backward", divided_by_all_rows, "linear",
            ((*AVERAGE, "1/6", "factor", "0.1667", "sixth"),),
            comment="Weight and bias gradients are averaged over the B T rows instead of summed; dx is right."),
    Mistake("linear-forward-bias-twice", "Linear.forward", forward_adds_bias_twice, "linear",
            (("bias",), ("twice", "half", "factor", "doubl", "2 times", "times 2", "2x", "0.5")),
            comment="forward adds the bias two times, so the given backward has half of the bias's gradient."),
    Mistake("linear-forward-no-bias", "Linear.forward", forward_without_bias, "linear",
            (("bias",), (*MISSING, "not used", "no effect", "does not depend", "unused", "no influence", "forward")),
            comment="forward forgets the bias; backward still gives it a gradient where the true one is 0."),
    Mistake("linear-caches-half-precision", "Linear.forward", forward_keeps_half_precision, "linear",
            (("weight", "cache"), ("precision", "float16", "round", "half", "digits", "accura", "dtype", "cache", "stale", "error", "nearly", "almost")),
            comment="forward keeps x rounded to float16 in the cache, so dW = x^T dy is off by about 0.0003 of itself."),
    Mistake("linear-caches-centred-input", "Linear.forward", forward_keeps_the_centred_input, "linear",
            (("weight", "cache"), ("cache", "centr", "mean", "subtract", "other input", " x ", "kept", "stored")),
            comment="forward puts x minus its row mean into the cache, so dW is made from another x than y was."),
    Mistake("linear-off-by-one-rows", "Linear.backward", pairs_with_the_next_row, "linear",
            (("weight",), ("shift", "off by one", "next", "neighbour", "neighbor", "other row", "wrong row", "previous", "mismatch", "roll")),
            comment="dW pairs each row of x with the dy of the next row (off by one, as for a next-token target)."),
    Mistake("linear-last-position-dropped", "Linear.backward", last_position_left_out, "linear",
            (("last", "position", "some of", "part of", "row", "slice", "token"),),
            comment="A slice [:, :-1] leaves the last position of every sequence out of dW and db; dx is right."),
    Mistake("linear-descent-sign", "Linear.backward", held_out_embedding.subtracted, "linear",
            (("sign", "negat", "minus", "-1", "opposite"),),
            comment="The parameters' gradients are subtracted (-=), as a descent step would, instead of added."),
    Mistake("linear-weight-assigned", "Linear.backward", weight_overwritten, "linear",
            (("+=", "accumulat", "overwrit", "assign", "replac", "add"),), in_model="",
            comment="dW is assigned to weight.grad (=) instead of added (+=): what a first backward left there is lost."),
    Mistake("linear-bias-in-dw", "Linear.backward", bias_in_dx, "linear",
            (("weight",), ("bias", "extra", "too much", "added", *UNKNOWN)),
            comment="The bias is added to dy in the product that makes dW (dW = x^T (dy + b))."),
    Mistake("linear-clipped-upstream", "Linear.backward", seen.linear_clips_dy, "linear",
            ((*UNKNOWN, "clip", "linear", "dx", "weight"),),
            comment="dy is clipped to [-1, 1] at the start of backward, which no forward did."),
    Mistake("linear-tanh-of-dx", "Linear.backward", squashed_dx, "linear",
            ((*UNKNOWN, "tanh", "dx", "input", "linear"),),
            comment="A tanh is applied to dx, a formula without any meaning."),
    Mistake("linear-root-of-dw", "Linear.backward", root_of_weight_gradient, "linear",
            ((*UNKNOWN, "weight", "root", "power"),),
            comment="The weight's gradient is replaced by its signed square root; no mistake of the textbooks."),
    Mistake("linear-half-absolute-input", "Linear.backward", absolute_inputs, "linear",
            ((*UNKNOWN, "weight", "negative", "positive", "relu"),),
            comment="dW is made with (x + |x|) / 2 instead of x: negative inputs get no gradient."),
    Mistake("linear-two-mean-bias-and-sign", "Linear.backward", mean_bias_and_negative_weight, "linear",
            (("sign", "negat", "minus", "-1", "opposite"), ("bias", *AVERAGE)),
            comment="Two mistakes: the weight's gradient has the wrong sign, the bias's is a mean over rows."),
    Mistake("tied-output-assigned", OUTPUT + "backward", held_out_embedding.output_assigned, "output-projection",
            (("+=", "accumulat", "overwrit", "assign", "replac", "add"),), in_model="",
            comment="The projection's dW is assigned to the (shared) weight's grad instead of added."),
    Mistake("tied-output-reshaped", OUTPUT + "backward", tied_reshaped, "output-projection",
            (("weight",), ("transpos", "reshap", "order", "permut", "scrambl", "shuffl", "wrong place")),
            comment="dW is computed as x^T dlogits (D, V) and reshaped to (V, D) instead of transposed."),
    Mistake("tied-output-embedding-scale", OUTPUT + "backward", seen_embedding.output_scaled, "output-projection",
            (("sqrt", "2.65", "2.646", "2.6458", "factor", "times", "scale"),),
            comment="The projection's dW gets the embedding's factor sqrt(d_model), because the weight is shared."),
    Mistake("tied-output-twice", OUTPUT + "backward", held_out_embedding.output_twice, "output-projection",
            (("twice", "doubl", "factor", "2 times", "times 2", "two times"),),
            comment="The projection adds its gradient twice, once 'for the embedding', which adds its own already."),
    Mistake("tied-output-no-gradient", OUTPUT + "backward", held_out_embedding.output_weight_forgotten, "output-projection",
            (MISSING,),
            comment="The projection adds no gradient to the shared weight: 'the embedding owns it'."),
    Mistake("tied-output-halved", OUTPUT + "backward", tied_halved, "output-projection",
            (("half", "factor", "0.5", "1/2", "averag", "divided"),),
            comment="The projection's dW is halved, as if shared weights should average their two gradients."),
    Mistake("output-forward-scaled", OUTPUT + "forward", projection_forward_scaled, "output-projection",
            (("sqrt", "factor", "scale", "2.65", "2.646", "0.378", "times", "divid"),),
            comment="forward scales the logits by 1/sqrt(d_model) as T5 does for tied weights; backward does not."),
    Mistake("output-softmax-backward-too", OUTPUT + "backward", projection_backs_probabilities, "output-projection",
            (("softmax", "twice", "jacobian", "output"),),
            comment="The projection's backward first goes back through a softmax of the logits, which forward does not have "
                    "(the loss's backward has done it already)."),
    Mistake("output-argmax-row", OUTPUT + "backward", projection_largest_logit_only, "output-projection",
            ((*UNKNOWN, "dx", "input", "dlogits", "upstream", "does not depend on dy", "argmax"),),
            comment="dx is the weight row of the most probable token; dlogits does not enter it at all."),
]
