"""Mistakes in ReLU, GELU, dropout and the feed-forward network."""

import math

import numpy as np

from minitransformer.functional import dropout_forward
from minitransformer.functional.activations import ACTIVATIONS, CUBIC, GeluCache, ReluCache, SLOPE
from minitransformer.functional.dropout import DropoutCache, dropout_mask
from minitransformer.layers.feed_forward import FeedForwardCache
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
relu_forward_absolute = lambda x: (np.where(x.real > 0, x, -x), ReluCache(x.real > 0))

# ---- GELU

gelu_no_tanh_derivative = gelu(second=lambda x, tanh, u_prime: 0.5 * x * u_prime)
gelu_plus_tanh_squared = gelu(second=lambda x, tanh, u_prime: 0.5 * x * (1 + tanh * tanh) * u_prime)
gelu_slope_not_rooted = gelu(u_prime=lambda x: 2 / math.pi * (1 + 3 * CUBIC * x * x))
gelu_two_three_and_half = gelu(second=lambda x, tanh, _: x * (1 - tanh * tanh) * SLOPE * (1 + CUBIC * x * x))
gelu_wobble = right.changed(gelu(), lambda dx, dy, cache: dx + dy * 0.05 * np.sin(3 * cache.x))


def gelu_forward_sigmoid(x):
    return x / (1 + np.exp(-1.702 * x)), GeluCache(x, np.tanh(SLOPE * (x + CUBIC * x * x * x)))


def gelu_forward_square(x):
    tanh = np.tanh(SLOPE * (x + CUBIC * x * x))
    return 0.5 * x * (1 + tanh), GeluCache(x, tanh)


def gelu_forward_caches_output(x):
    tanh = np.tanh(SLOPE * (x + CUBIC * x * x * x))
    y = 0.5 * x * (1 + tanh)
    return y, GeluCache(y, tanh)


def gelu_forward_numpy_root(x):
    tanh = np.tanh(np.sqrt(2 / np.pi) * (x + CUBIC * x * x * x))
    return 0.5 * x * (1 + tanh), GeluCache(x, tanh)


# ---- dropout

dropout_inverted = dropout(lambda dy, mask: dy * (mask.max() - mask))
dropout_divides = dropout(lambda dy, mask: dy / mask)
dropout_scale_of_mean = dropout(lambda dy, mask: dy * (mask > 0) / float((mask > 0).mean()))
dropout_shifted_mask = dropout(lambda dy, mask: dy * np.roll(mask, 1, axis=-1))
dropout_leaks = dropout(lambda dy, mask: dy * (0.95 * mask + 0.05))
dropout_two_inverted_unscaled = dropout(lambda dy, mask: dy * (mask == 0))


def mask_for(x, dropout_rate, rng):
    return dropout_mask(x.shape, dropout_rate, rng, x.real.dtype)


@dropout
def dropout_new_mask(dy, mask):
    keep = np.random.rand(*dy.shape) < (mask > 0).mean()
    return dy * keep * mask.max()


@right.dropout_forward
def dropout_forward_unscaled(x, dropout_rate, rng):
    mask = mask_for(x, dropout_rate, rng)
    return x * (mask > 0), mask


@right.dropout_forward
def dropout_forward_two_masks(x, dropout_rate, rng):
    return x * mask_for(x, dropout_rate, rng), mask_for(x, dropout_rate, rng)


@right.dropout_forward
def dropout_forward_global_generator(x, dropout_rate, rng):
    mask = ((np.random.rand(*x.shape) >= dropout_rate) / (1 - dropout_rate)).astype(x.real.dtype)
    return x * mask, mask


@right.dropout_forward
def dropout_forward_multiplies_noise(x, dropout_rate, rng):
    mask = mask_for(x, dropout_rate, rng)
    noise = 1 + math.sqrt(dropout_rate) * rng.standard_normal(x.shape).astype(x.real.dtype)
    return x * mask * noise, mask


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
    Mistake("relu-inverted", "relu_backward", held_out.relu_inverted, "relu", (RELU,),
            comment="The gradient passes where x <= 0 and stops where x > 0."),
    Mistake("relu-leaky-backward", "relu_backward", held_out.relu_leaks, "relu", ((*RELU, "leaky", "0.01"),),
            comment="The backward is leaky ReLU's: 0.01 dy where x <= 0."),
    Mistake("relu-straight-through", "relu_backward", seen.relu_passes_all, "relu", ((*RELU, "dy", "skipped", "identity"),),
            comment="dx = dy: ReLU's backward is left out."),
    Mistake("relu-of-the-gradient", "relu_backward", seen.relu_mask_from_dy, "relu", (("dy", "gradient", "upstream", "sign", "positive", "negative"),),
            comment="dx = relu(dy): what is cut off are the negative gradients, not the negative x."),
    Mistake("relu-guided", "relu_backward", relu_guided, "relu", (("dy", "gradient", "upstream", "sign", "positive", "negative"),),
            comment="Guided backpropagation: negative gradients are cut off as well as negative x."),
    Mistake("relu-without-dy", "relu_backward", held_out.relu_without_dy, "relu", (("dy", "upstream", "chain", "gradient from above", "incoming"),),
            comment="The local derivative is returned without multiplying by dy."),
    Mistake("relu-in-place", "relu_backward", seen.relu_in_place, "relu", (("in place", "in-place", "chang", "modif", "overwr", "writes", "alter"),), in_model="",
            comment="dy is set to zero in place where x <= 0: right numbers, but the caller's array is changed."),
    Mistake("relu-forward-leaky", "relu_forward", relu_forward_leaky, "relu", ((*RELU, "leaky", "0.1"),),
            comment="forward is leaky ReLU (slope 0.1), the given backward ReLU's."),
    Mistake("relu-cache-threshold", "relu_forward", relu_forward_threshold, "relu", ((*RELU, "cache", "0.5", "small", "threshold"),),
            comment="forward cuts at 0, but keeps x > 0.5 for the backward."),
    Mistake("relu-forward-saturates", "relu_forward", relu_forward_saturates, "relu", ((*RELU, "saturat", "clip", "large", "forward"),),
            comment="forward also clips at 1 (as ReLU6 does at 6), where the given backward still passes dy."),
    Mistake("relu-forward-squared", "relu_forward", relu_forward_squared, "relu", (("square", "2 x", "2x", " x ", "power", "forward", "relu"),),
            comment="forward is the squared ReLU of Primer; the given backward lacks the factor 2 x."),
    Mistake("relu-forward-absolute", "relu_forward", relu_forward_absolute, "relu", (RELU,),
            comment="forward gives -x, not 0, for negative x (|x|), where the given backward gives 0."),
    Mistake("relu-soft-edge", "relu_backward", relu_soft_edge, "relu", ((*UNKNOWN, *RELU, "0.97", "0.985", "leak"),),
            comment="The slopes are 0.985 and 0.015 instead of 1 and 0: arbitrary."),
    Mistake("gelu-no-x-term", "gelu_backward", seen.gelu_first_term_only, "gelu", (GELU, ), in_model="transformer-pre-norm",
            comment="The second term, x times the derivative of tanh, is forgotten."),
    Mistake("gelu-no-three", "gelu_backward", held_out.gelu_three_forgotten, "gelu", (GELU,), in_model="transformer-pre-norm",
            comment="The derivative of x^3 lacks its factor 3."),
    Mistake("gelu-no-tanh-derivative", "gelu_backward", gelu_no_tanh_derivative, "gelu", (GELU,), in_model="transformer-pre-norm",
            comment="The factor 1 - tanh^2 is forgotten."),
    Mistake("gelu-tanh-not-squared", "gelu_backward", held_out.gelu_tanh_not_squared, "gelu", (GELU,), in_model="transformer-pre-norm",
            comment="The derivative of tanh is taken as 1 - tanh."),
    Mistake("gelu-plus-tanh-squared", "gelu_backward", gelu_plus_tanh_squared, "gelu", (GELU,), in_model="transformer-pre-norm",
            comment="The derivative of tanh is taken as 1 + tanh^2."),
    Mistake("gelu-no-slope", "gelu_backward", held_out.gelu_slope_forgotten, "gelu", (GELU,), in_model="transformer-pre-norm",
            comment="u' lacks the factor sqrt(2/pi)."),
    Mistake("gelu-slope-not-rooted", "gelu_backward", gelu_slope_not_rooted, "gelu", (GELU,), in_model="transformer-pre-norm",
            comment="u' has the factor 2/pi instead of its square root."),
    Mistake("gelu-decimal-slip", "gelu_backward", held_out.gelu_typing_error, "gelu", (GELU,), in_model="transformer-pre-norm",
            comment="0.44715 instead of 0.044715 in the backward."),
    Mistake("gelu-no-half", "gelu_backward", held_out.gelu_half_forgotten, "gelu", ((*GELU, "twice", "doubl"),), in_model="transformer-pre-norm",
            comment="The second term lacks its factor 1/2."),
    Mistake("gelu-cubic-derivative-linear", "gelu_backward", held_out.gelu_linear_for_square, "gelu", (GELU,), in_model="transformer-pre-norm",
            comment="The derivative of x^3 is taken as 3 x."),
    Mistake("gelu-exact-derivative", "gelu_backward", seen.gelu_of_erf, "gelu", (("erf", "exact", "approximation", "tanh", "normal"),), in_model="transformer-pre-norm",
            comment="The backward is the exact (erf) GELU's; forward is the tanh form. They differ by about 0.001."),
    Mistake("gelu-as-sigmoid", "gelu_backward", seen.gelu_of_sigmoid, "gelu", (("sigmoid", "1.702", "approximation", "silu", "swish"),), in_model="transformer-pre-norm",
            comment="The backward is that of the approximation x sigmoid(1.702 x)."),
    Mistake("gelu-as-relu", "gelu_backward", seen.gelu_as_relu, "gelu", (("relu", "x > 0", "step", "positive"),), in_model="transformer-pre-norm",
            comment="ReLU's backward is used for GELU."),
    Mistake("gelu-wobble", "gelu_backward", gelu_wobble, "gelu", ((*UNKNOWN, "gelu", "dx", "input", "sin"),), in_model="transformer-pre-norm",
            comment="0.05 sin(3 x) is added to the derivative: arbitrary."),
    Mistake("gelu-two-three-and-half", "gelu_backward", gelu_two_three_and_half, "gelu", ((*GELU, "twice", "doubl"),), in_model="transformer-pre-norm",
            comment="Two mistakes in the second term: no factor 1/2 and no factor 3."),
    Mistake("gelu-forward-sigmoid", "gelu_forward", gelu_forward_sigmoid, "gelu", (("sigmoid", "1.702", "approximation", "silu", "swish", "forward"),), in_model="transformer-pre-norm",
            comment="forward is x sigmoid(1.702 x), the given backward that of the tanh form."),
    Mistake("gelu-forward-square", "gelu_forward", gelu_forward_square, "gelu", ((*GELU, "square", "power", "forward"),), in_model="transformer-pre-norm",
            comment="forward has x^2 where x^3 belongs; the given backward is for x^3."),
    Mistake("gelu-caches-argument", "gelu_forward", held_out.gelu_forward_caches_u, "gelu", (("tanh", "cache", " u "),), in_model="transformer-pre-norm",
            comment="forward keeps u instead of tanh(u)."),
    Mistake("gelu-caches-output", "gelu_forward", gelu_forward_caches_output, "gelu", ((" x ", "cache", "output"),), in_model="transformer-pre-norm",
            comment="forward keeps y in x's place."),
    Mistake("gelu-float64-root", "gelu_forward", gelu_forward_numpy_root, "gelu", (("float64", "dtype", "float32", "precision"),), in_model="",
            comment="np.sqrt(2 / np.pi) is a NumPy float64 number, which makes float32 inputs float64."),
    Mistake("dropout-backward-unscaled", "dropout_backward", seen_residual.scale_forgotten, "dropout", ((*DROPOUT, "scale", "factor", "1 - rate"), ),
            comment="The backward drops the same elements but forgets the scale 1 / (1 - rate)."),
    Mistake("dropout-backward-scaled-twice", "dropout_backward", seen_residual.scale_twice, "dropout", ((*DROPOUT, "scale", "factor", "twice"),),
            comment="The mask is applied twice: the scale enters squared."),
    Mistake("dropout-backward-inverted", "dropout_backward", dropout_inverted, "dropout", (DROPOUT,),
            comment="The gradient passes where forward dropped and stops where it kept."),
    Mistake("dropout-backward-ignored", "dropout_backward", held_out_residual.mask_ignored, "dropout", (DROPOUT,),
            comment="dx = dy: the mask is ignored in the backward."),
    Mistake("dropout-backward-new-mask", "dropout_backward", dropout_new_mask, "dropout", (DROPOUT,),
            comment="The backward draws a new mask from NumPy's global generator."),
    Mistake("dropout-backward-first-sample", "dropout_backward", seen_residual.mask_of_first_sentence, "dropout", (DROPOUT,),
            comment="The first sample's mask is broadcast to the whole batch."),
    Mistake("dropout-backward-divides", "dropout_backward", dropout_divides, "dropout", (("nan", "infinit", "inf", "finite", "divi"),),
            comment="dy is divided by the mask: infinite where an element was dropped."),
    Mistake("dropout-backward-in-place", "dropout_backward", seen_residual.in_place, "residual", (("in place", "in-place", "chang", "modif", "overwr", "writes", "alter", "dropout", "shortcut"),),
            comment="dy is multiplied by the mask in place; the residual's shortcut then passes on the masked dy."),
    Mistake("dropout-backward-counted-scale", "dropout_backward", dropout_scale_of_mean, "dropout", ((*DROPOUT, "scale", "factor"),),
            comment="The scale is 1 over the share that was really kept in this draw, not 1 / (1 - rate)."),
    Mistake("dropout-backward-shifted", "dropout_backward", dropout_shifted_mask, "dropout", ((*DROPOUT, "shift", "roll"),),
            comment="The mask is shifted by one feature in the backward."),
    Mistake("dropout-backward-leaks", "dropout_backward", dropout_leaks, "dropout", ((*UNKNOWN, *DROPOUT, "dx", "input"),),
            comment="The backward's mask is 0.95 mask + 0.05: dropped elements leak 5 %. Arbitrary."),
    Mistake("dropout-two-inverted-unscaled", "dropout_backward", dropout_two_inverted_unscaled, "dropout", (DROPOUT,),
            comment="Two mistakes: the mask is inverted, and the scale is missing."),
    Mistake("dropout-forward-unscaled", "dropout_forward", dropout_forward_unscaled, "dropout", ((*DROPOUT, "scale", "factor", "1.4"),),
            comment="forward drops without scaling; the given backward scales by 1 / (1 - rate)."),
    Mistake("dropout-forward-two-masks", "dropout_forward", dropout_forward_two_masks, "dropout", (DROPOUT,),
            comment="forward keeps another mask than the one that it applied."),
    Mistake("dropout-forward-global-generator", "dropout_forward", dropout_forward_global_generator, "dropout", (("random", "generator", "reproduc", "rng", "seed", "call"),),
            comment="forward draws from NumPy's global generator, not from the one that it was given."),
    Mistake("dropout-forward-noise", "dropout_forward", dropout_forward_multiplies_noise, "dropout", ((*UNKNOWN, *DROPOUT, "forward", "input", "dx", "noise"),),
            comment="forward also multiplies by Gaussian noise, which is not in the cache."),
    Mistake("feed-forward-no-dropout-backward", FEED + "backward", seen_stacks.dropout_forgotten, "feed-forward", (DROPOUT,),
            comment="Dropout's backward is left out inside the feed-forward network."),
    Mistake("feed-forward-no-activation-backward", FEED + "backward", held_out_stacks.activation_forgotten, "feed-forward", (("relu", "activation", "positive"),),
            comment="The activation's backward is left out."),
    Mistake("feed-forward-activation-twice", FEED + "backward", held_out_stacks.activation_twice, "encoder-layer-pre-norm", (("gelu", "activation", "relu", "feed"),), in_model="transformer-pre-norm",
            comment="The activation's backward is applied twice: harmless for ReLU, wrong for GELU."),
    Mistake("feed-forward-inner-twice", FEED + "backward", feed_inner_twice, "feed-forward", (("inner",), ("twice", "doubl", "factor", "2 times", "times 2", "2x")),
            comment="The inner Linear's backward is called twice: its gradients are doubled."),
    Mistake("feed-forward-inner-detached", FEED + "backward", held_out_stacks.inner_forgotten, "feed-forward", (("inner",), MISSING),
            comment="dx goes past the inner Linear by hand, whose weight and bias get no gradient."),
    Mistake("feed-forward-adds-dy", FEED + "backward", seen_stacks.plus_dy, "feed-forward", (("residual", "shortcut", "skip", "dy", "identity", "direct", "extra"),),
            comment="dy is added to dx as if the shortcut were part of the network: it counts twice in the residual."),
    Mistake("feed-forward-two-dropout-activation", FEED + "backward", feed_two_dropout_and_activation, "feed-forward", ((*DROPOUT, "relu", "activation", "positive"),),
            comment="Two mistakes: neither dropout's nor the activation's backward."),
    Mistake("feed-forward-dropout-last", FEED + "forward", feed_forward_dropout_last, "feed-forward", (DROPOUT,),
            comment="forward applies dropout to the output instead of the hidden layer and does not keep its mask."),
    Mistake("feed-forward-stale-outer", FEED + "forward", feed_forward_stale_outer, "feed-forward", (("outer",), (*DROPOUT, "cache", "stale", "weight")),
            comment="The outer Linear's cache is from a call before dropout: its dW is made with undropped values."),
]
