"""Mistakes in ReLU, GELU, dropout and the feed-forward network."""

import math

import numpy as np

from minitransformer.functional import dropout_forward
from minitransformer.functional.activations import ACTIVATIONS, CUBIC, ReluCache, SLOPE
from minitransformer.functional.dropout import DropoutCache, dropout_mask
from minitransformer.layers.feed_forward import FeedForwardCache
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.held_out import activations_positions as held_out
from tests.course.doctor.mistakes.held_out import dropout_residual as held_out_residual
from tests.course.doctor.mistakes.held_out import stacks as held_out_stacks
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import dropout, feed_forward, gelu, unchanged
from tests.course.doctor.mistakes.seen import activations_positions as seen
from tests.course.doctor.mistakes.seen import dropout_residual as seen_residual
from tests.course.doctor.mistakes.seen import stacks as seen_stacks
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

FEED = "minitransformer.layers.feed_forward:FeedForward."
MISSING = (*LEFT_OUT, "does not", "not multiplied", "only", "not applied")

relu_guided = lambda dy, cache: dy * cache.positive * (dy > 0)
relu_soft_edge = lambda dy, cache: np.where(cache.positive, 0.985 * dy, 0.015 * dy)
relu_forward_leaky = lambda x: (np.where(x.real > 0, x, 0.1 * x), ReluCache(x.real > 0))
relu_forward_threshold = lambda x: (x * (x.real > 0), ReluCache(x.real > 0.5))
relu_forward_saturates = lambda x: (np.where(x.real > 1, 1, x * (x.real > 0)), ReluCache(x.real > 0))
relu_forward_squared = lambda x: (x * x * (x.real > 0), ReluCache(x.real > 0))

# ---- GELU

gelu_two_three_and_half = gelu(second=lambda x, tanh, _: x * (1 - tanh * tanh) * SLOPE * (1 + CUBIC * x * x))
gelu_wobble = right.changed(gelu(), lambda dx, dy, cache: dx + dy * 0.05 * np.sin(3 * cache.x))


# ---- dropout

dropout_scale_of_mean = dropout(lambda dy, mask: dy * (mask > 0) / float((mask > 0).mean()))
dropout_shifted_mask = dropout(lambda dy, mask: dy * np.roll(mask, 1, axis=-1))
dropout_leaks = dropout(lambda dy, mask: dy * (0.95 * mask + 0.05))


def mask_for(x, dropout_rate, rng):
    return dropout_mask(x.shape, dropout_rate, rng, x.real.dtype)


# ---- feed-forward

feed_two_dropout_and_activation = feed_forward(drop=unchanged, activate=lambda backward, dh, cache: dh)
feed_inner_twice = feed_forward(inner=lambda layer, dh, cache: [layer.backward(dh, cache) for _ in range(2)][1])


def feed_forward_dropout_last(self, x, rng=None):
    h, inner = self.inner.forward(x)
    h, activation = ACTIVATIONS[self.activation][0](h)
    y, outer = self.outer.forward(h)
    y, dropout = dropout_forward(y, self.dropout, rng)
    return y, FeedForwardCache(inner, activation, DropoutCache(None), outer)


def feed_forward_stale_outer(self, x, rng=None):
    h, inner = self.inner.forward(x)
    a, activation = ACTIVATIONS[self.activation][0](h)
    _, outer = self.outer.forward(a)
    a, dropout = dropout_forward(a, self.dropout, rng)
    y, _ = self.outer.forward(a)
    return y, FeedForwardCache(inner, activation, dropout, outer)


RELU = ("positive", "negative", "x > 0", "relu", "sign", "zero", "kink", "activation", "mask", "gate")
GELU = ("term", "tanh", "factor", "derivative", " x ", "gelu", "sqrt", "constant", "cubic", "0.0447", "0.5", "half", "approximation")
DROPOUT = ("dropout", "dropped", "mask", "kept", "keep", "random", "drop")

MISTAKES = [
    makers.relu("relu-inverted", held_out.relu_inverted, RELU),
    makers.relu("relu-leaky-backward", held_out.relu_leaks, (*RELU, "leaky", "0.01")),
    makers.relu("relu-straight-through", seen.relu_passes_all, (*RELU, "dy", "skipped", "identity")),
    makers.relu("relu-of-the-gradient", seen.relu_mask_from_dy, ("dy", "gradient", "upstream", "sign", "positive", "negative")),
    makers.relu("relu-guided", relu_guided, ("dy", "gradient", "upstream", "sign", "positive", "negative"),
            comment="Guided backpropagation: negative gradients are cut off as well as negative x."),
    makers.relu("relu-without-dy", held_out.relu_without_dy, ("dy", "upstream", "chain", "gradient from above", "incoming")),
    makers.relu("relu-in-place", seen.relu_in_place, ("in place", "in-place", "chang", "modif", "overwr", "writes", "alter"), in_model=""),
    makers.relu_forward("relu-forward-leaky", relu_forward_leaky, (*RELU, "leaky", "0.1")),
    makers.relu_forward("relu-cache-threshold", relu_forward_threshold, (*RELU, "cache", "0.5", "small", "threshold")),
    makers.relu_forward("relu-forward-saturates", relu_forward_saturates, (*RELU, "saturat", "clip", "large", "forward"),
            comment="forward also clips at 1 (as ReLU6 does at 6), where the given backward still passes dy."),
    makers.relu_forward("relu-forward-squared", relu_forward_squared, ("square", "2 x", "2x", " x ", "power", "forward", "relu"),
            comment="forward is the squared ReLU of Primer; the given backward lacks the factor 2 x."),
    makers.relu_forward("relu-forward-absolute", lambda x: (np.where(x.real > 0, x, -x), ReluCache(x.real > 0)), RELU),
    makers.relu("relu-soft-edge", relu_soft_edge, (*UNKNOWN, *RELU, "0.97", "0.985", "leak")),
    makers.gelu("gelu-no-x-term", seen.gelu_first_term_only, GELU),
    makers.gelu("gelu-no-three", held_out.gelu_three_forgotten, GELU),
    makers.gelu("gelu-no-tanh-derivative", gelu(second=lambda x, tanh, u_prime: 0.5 * x * u_prime), GELU),
    makers.gelu("gelu-tanh-not-squared", held_out.gelu_tanh_not_squared, GELU),
    makers.gelu("gelu-plus-tanh-squared", gelu(second=lambda x, tanh, u_prime: 0.5 * x * (1 + tanh * tanh) * u_prime), GELU),
    makers.gelu("gelu-no-slope", held_out.gelu_slope_forgotten, GELU),
    makers.gelu("gelu-slope-not-rooted", gelu(u_prime=lambda x: 2 / math.pi * (1 + 3 * CUBIC * x * x)), GELU),
    makers.gelu("gelu-decimal-slip", held_out.gelu_typing_error, GELU),
    makers.gelu("gelu-no-half", held_out.gelu_half_forgotten, (*GELU, "twice", "doubl")),
    makers.gelu("gelu-cubic-derivative-linear", held_out.gelu_linear_for_square, GELU),
    makers.gelu("gelu-exact-derivative", seen.gelu_of_erf, ("erf", "exact", "approximation", "tanh", "normal"),
            comment="The backward is the exact (erf) GELU's; forward is the tanh form. They differ by about 0.001."),
    makers.gelu("gelu-as-sigmoid", seen.gelu_of_sigmoid, ("sigmoid", "1.702", "approximation", "silu", "swish")),
    makers.gelu("gelu-as-relu", seen.gelu_as_relu, ("relu", "x > 0", "step", "positive")),
    makers.gelu("gelu-wobble", gelu_wobble, (*UNKNOWN, "gelu", "dx", "input", "sin")),
    makers.gelu("gelu-two-three-and-half", gelu_two_three_and_half, (*GELU, "twice", "doubl")),
    makers.gelu_forward("gelu-forward-sigmoid", ("0.5 * x * (1 + tanh)", "x / (1 + module_of(x).exp(-1.702 * x))"),
            ("sigmoid", "1.702", "approximation", "silu", "swish", "forward")),
    makers.gelu_forward("gelu-forward-square", ("x * x * x", "x * x"), (*GELU, "square", "power", "forward")),
    makers.gelu_forward("gelu-caches-argument", ("GeluCache(x, tanh)", "GeluCache(x, SLOPE * (x + CUBIC * x * x * x))"),
            ("tanh", "cache", " u ")),
    makers.gelu_forward("gelu-caches-output", ("GeluCache(x,", "GeluCache(0.5 * x * (1 + tanh),"), (" x ", "cache", "output")),
    makers.gelu_forward("gelu-float64-root", ("SLOPE", "module_of(x).sqrt(2 / math.pi)"),
            ("float64", "dtype", "float32", "precision"), in_model=""),
    makers.dropout("dropout-backward-unscaled", seen_residual.scale_forgotten, (*DROPOUT, "scale", "factor", "1 - rate")),
    makers.dropout("dropout-backward-scaled-twice", seen_residual.scale_twice, (*DROPOUT, "scale", "factor", "twice")),
    makers.dropout("dropout-backward-inverted", dropout(lambda dy, mask: dy * (mask.max() - mask)), DROPOUT),
    makers.dropout("dropout-backward-ignored", held_out_residual.mask_ignored, DROPOUT),
    makers.dropout("dropout-backward-new-mask",
            ("dy * cache.mask", "dy * (np.random.rand(*dy.shape) < (cache.mask > 0).mean()) * cache.mask.max()"), DROPOUT),
    makers.dropout("dropout-backward-first-sample", seen_residual.mask_of_first_sentence, DROPOUT),
    makers.dropout("dropout-backward-divides", dropout(lambda dy, mask: dy / mask), ("nan", "infinit", "inf", "finite", "divi")),
    makers.dropout("dropout-backward-in-place", seen_residual.in_place, ("in place", "in-place", "chang", "modif", "overwr", "writes", "alter", "dropout", "shortcut"), block="residual",
            comment="dy is multiplied by the mask in place; the residual's shortcut then passes on the masked dy."),
    makers.dropout("dropout-backward-counted-scale", dropout_scale_of_mean, (*DROPOUT, "scale", "factor")),
    makers.dropout("dropout-backward-shifted", dropout_shifted_mask, (*DROPOUT, "shift", "roll")),
    makers.dropout("dropout-backward-leaks", dropout_leaks, (*UNKNOWN, *DROPOUT, "dx", "input")),
    makers.dropout("dropout-two-inverted-unscaled", dropout(lambda dy, mask: dy * (mask == 0)), DROPOUT),
    makers.dropout_forward("dropout-forward-unscaled", ("x * mask", "x * (mask > 0)"), (*DROPOUT, "scale", "factor", "1.4")),
    makers.dropout_forward("dropout-forward-two-masks",
            ("DropoutCache(mask)", "DropoutCache(dropout_mask(x.shape, dropout_rate, rng, x.real.dtype))"), DROPOUT),
    makers.dropout_forward("dropout-forward-global-generator",
            ("dropout_mask(x.shape, dropout_rate, rng, x.real.dtype)", "((np.random.rand(*x.shape) >= dropout_rate) / (1 - dropout_rate)).astype(x.real.dtype)"),
            ("random", "generator", "reproduc", "rng", "seed", "call")),
    makers.dropout_forward("dropout-forward-noise",
            ("x * mask", "x * mask * (1 + math.sqrt(dropout_rate) * rng.standard_normal(x.shape).astype(x.real.dtype))"),
            (*UNKNOWN, *DROPOUT, "forward", "input", "dx", "noise")),
    makers.feed_forward("feed-forward-no-dropout-backward", seen_stacks.dropout_forgotten, DROPOUT),
    makers.feed_forward("feed-forward-no-activation-backward", held_out_stacks.activation_forgotten, ("relu", "activation", "positive")),
    makers.feed_forward("feed-forward-activation-twice", held_out_stacks.activation_twice, ("gelu", "activation", "relu", "feed"), block="encoder-layer-pre-norm", in_model="transformer-pre-norm",
            comment="The activation's backward is applied twice: harmless for ReLU, wrong for GELU."),
    makers.feed_forward("feed-forward-inner-twice", feed_inner_twice, ("inner",), ("twice", "doubl", "factor", "2 times", "times 2", "2x")),
    makers.feed_forward("feed-forward-inner-detached", held_out_stacks.inner_forgotten, ("inner",), MISSING),
    makers.feed_forward("feed-forward-adds-dy", seen_stacks.plus_dy, ("residual", "shortcut", "skip", "dy", "identity", "direct", "extra"),
            comment="dy is added to dx as if the shortcut were part of the network: it counts twice in the residual."),
    makers.feed_forward("feed-forward-two-dropout-activation", feed_two_dropout_and_activation, (*DROPOUT, "relu", "activation", "positive")),
    Mistake("feed-forward-dropout-last", FEED + "forward", feed_forward_dropout_last, "feed-forward", (DROPOUT,)),
    Mistake("feed-forward-stale-outer", FEED + "forward", feed_forward_stale_outer, "feed-forward",
            (("outer",), (*DROPOUT, "cache", "stale", "weight"))),
]
