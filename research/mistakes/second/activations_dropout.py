"""Mistakes in ReLU, GELU, dropout and the feed-forward network."""

from minitransformer.functional import dropout_forward
from minitransformer.functional.activations import ACTIVATIONS
from minitransformer.functional.dropout import DropoutCache
from minitransformer.layers.feed_forward import FeedForwardCache
from research.mistakes import makers
from research.mistakes.mistake import Mistake
from research.mistakes.seen import activations_positions as seen
from research.mistakes.words import LEFT_OUT, UNKNOWN

FEED = "minitransformer.layers.feed_forward:FeedForward."
MISSING = (*LEFT_OUT, "does not", "not multiplied", "only", "not applied")


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
    makers.relu("relu-inverted", ("dy * cache.positive", "dy * ~cache.positive"), RELU),
    makers.relu("relu-leaky-backward", ("dy * cache.positive", "np.where(cache.positive, dy, 0.01 * dy)"),
            (*RELU, "leaky", "0.01")),
    makers.relu("relu-straight-through", ("dy * cache.positive", "dy"), (*RELU, "dy", "skipped", "identity")),
    makers.relu("relu-of-the-gradient", ("dy * cache.positive", "dy * (dy > 0)"),
            ("dy", "gradient", "upstream", "sign", "positive", "negative")),
    makers.relu("relu-guided", ("dy * cache.positive", "dy * cache.positive * (dy > 0)"),
            ("dy", "gradient", "upstream", "sign", "positive", "negative"),
            comment="Guided backpropagation: negative gradients are cut off as well as negative x."),
    makers.relu("relu-without-dy", ("dy * cache.positive", "cache.positive.astype(dy.dtype)"),
            ("dy", "upstream", "chain", "gradient from above", "incoming")),
    makers.relu("relu-in-place", ("return dy * cache.positive", "dy[~cache.positive] = 0\n    return dy"),
            ("in place", "in-place", "chang", "modif", "overwr", "writes", "alter"), in_model=""),
    makers.relu_forward("relu-forward-leaky", ("x * positive", "np.where(positive, x, 0.1 * x)"), (*RELU, "leaky", "0.1")),
    makers.relu_forward("relu-cache-threshold", ("ReluCache(positive)", "ReluCache(x.real > 0.5)"),
            (*RELU, "cache", "0.5", "small", "threshold")),
    makers.relu_forward("relu-forward-saturates", ("x * positive", "np.where(x.real > 1, 1, x * positive)"),
            (*RELU, "saturat", "clip", "large", "forward"),
            comment="forward also clips at 1 (as ReLU6 does at 6), where the given backward still passes dy."),
    makers.relu_forward("relu-forward-squared", ("x * positive", "x * x * positive"),
            ("square", "2 x", "2x", " x ", "power", "forward", "relu"),
            comment="forward is the squared ReLU of Primer; the given backward lacks the factor 2 x."),
    makers.relu_forward("relu-forward-absolute", ("x * positive", "np.where(positive, x, -x)"), RELU),
    makers.relu("relu-soft-edge", ("dy * cache.positive", "np.where(cache.positive, 0.985 * dy, 0.015 * dy)"),
            (*UNKNOWN, *RELU, "0.97", "0.985", "leak")),
    makers.gelu("gelu-no-x-term", (" + 0.5 * x * (1 - tanh * tanh) * u_prime", ""), GELU),
    makers.gelu("gelu-no-three", ("3 * ", ""), GELU),
    makers.gelu("gelu-no-tanh-derivative", (" * (1 - tanh * tanh)", ""), GELU),
    makers.gelu("gelu-tanh-not-squared", ("tanh * tanh", "tanh"), GELU),
    makers.gelu("gelu-plus-tanh-squared", ("1 - tanh", "1 + tanh"), GELU),
    makers.gelu("gelu-no-slope", ("SLOPE * ", ""), GELU),
    makers.gelu("gelu-slope-not-rooted", ("SLOPE", "2 / math.pi"), GELU),
    makers.gelu("gelu-decimal-slip", ("CUBIC", "0.44715"), GELU),
    makers.gelu("gelu-no-half", ("0.5 * x", "x"), (*GELU, "twice", "doubl")),
    makers.gelu("gelu-cubic-derivative-linear", ("CUBIC * x * x", "CUBIC * x"), GELU),
    makers.gelu("gelu-exact-derivative", seen.gelu_of_erf, ("erf", "exact", "approximation", "tanh", "normal"),
            comment="The backward is the exact (erf) GELU's; forward is the tanh form. They differ by about 0.001."),
    makers.gelu("gelu-as-sigmoid", seen.gelu_of_sigmoid, ("sigmoid", "1.702", "approximation", "silu", "swish")),
    makers.gelu("gelu-as-relu", ("0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * u_prime", "x > 0"),
            ("relu", "x > 0", "step", "positive")),
    makers.gelu("gelu-wobble", ("* u_prime)", "* u_prime + 0.05 * np.sin(3 * x))"), (*UNKNOWN, "gelu", "dx", "input", "sin")),
    makers.gelu("gelu-two-three-and-half", ("3 * ", "", "0.5 * x", "x"), (*GELU, "twice", "doubl")),
    makers.gelu_forward("gelu-forward-sigmoid", ("0.5 * x * (1 + tanh)", "x / (1 + np.exp(-1.702 * x))"),
            ("sigmoid", "1.702", "approximation", "silu", "swish", "forward")),
    makers.gelu_forward("gelu-forward-square", ("x * x * x", "x * x"), (*GELU, "square", "power", "forward")),
    makers.gelu_forward("gelu-caches-argument", ("GeluCache(x, tanh)", "GeluCache(x, SLOPE * (x + CUBIC * x * x * x))"),
            ("tanh", "cache", " u ")),
    makers.gelu_forward("gelu-caches-output", ("GeluCache(x,", "GeluCache(0.5 * x * (1 + tanh),"), (" x ", "cache", "output")),
    makers.gelu_forward("gelu-float64-root", ("SLOPE", "np.sqrt(2 / math.pi)"),
            ("float64", "dtype", "float32", "precision"), in_model=""),
    makers.dropout("dropout-backward-unscaled", ("dy * cache.mask", "dy * (cache.mask > 0)"),
            (*DROPOUT, "scale", "factor", "1 - rate")),
    makers.dropout("dropout-backward-scaled-twice", ("dy * cache.mask", "dy * cache.mask * cache.mask"),
            (*DROPOUT, "scale", "factor", "twice")),
    makers.dropout("dropout-backward-inverted", ("dy * cache.mask", "dy * (cache.mask.max() - cache.mask)"), DROPOUT),
    makers.dropout("dropout-backward-ignored", ("dy * cache.mask", "dy"), DROPOUT),
    makers.dropout("dropout-backward-new-mask",
            ("dy * cache.mask", "dy * (np.random.rand(*dy.shape) < (cache.mask > 0).mean()) * cache.mask.max()"), DROPOUT),
    makers.dropout("dropout-backward-first-sample", ("dy * cache.mask", "dy * cache.mask[:1]"), DROPOUT),
    makers.dropout("dropout-backward-divides", ("dy * cache.mask", "dy / cache.mask"), ("nan", "infinit", "inf", "finite", "divi")),
    makers.dropout("dropout-backward-in-place", ("return dy * cache.mask", "dy *= cache.mask\n    return dy"),
            ("in place", "in-place", "chang", "modif", "overwr", "writes", "alter", "dropout", "shortcut"), block="residual",
            comment="dy is multiplied by the mask in place; the residual's shortcut then passes on the masked dy."),
    makers.dropout("dropout-backward-counted-scale", ("dy * cache.mask", "dy * (cache.mask > 0) / float((cache.mask > 0).mean())"),
            (*DROPOUT, "scale", "factor")),
    makers.dropout("dropout-backward-shifted", ("dy * cache.mask", "dy * np.roll(cache.mask, 1, axis=-1)"),
            (*DROPOUT, "shift", "roll")),
    makers.dropout("dropout-backward-leaks", ("dy * cache.mask", "dy * (0.95 * cache.mask + 0.05)"),
            (*UNKNOWN, *DROPOUT, "dx", "input")),
    makers.dropout("dropout-two-inverted-unscaled", ("dy * cache.mask", "dy * (cache.mask == 0)"), DROPOUT),
    makers.dropout_forward("dropout-forward-unscaled", ("x * mask", "x * (mask > 0)"), (*DROPOUT, "scale", "factor", "1.4")),
    makers.dropout_forward("dropout-forward-two-masks",
            ("DropoutCache(mask)", "DropoutCache(dropout_mask(x.shape, dropout_rate, rng, x.real.dtype))"), DROPOUT),
    makers.dropout_forward("dropout-forward-global-generator",
            ("dropout_mask(x.shape, dropout_rate, rng, x.real.dtype)", "((np.random.rand(*x.shape) >= dropout_rate) / (1 - dropout_rate)).astype(x.real.dtype)"),
            ("random", "generator", "reproduc", "rng", "seed", "call")),
    makers.dropout_forward("dropout-forward-noise",
            ("x * mask", "x * mask * (1 + math.sqrt(dropout_rate) * rng.standard_normal(x.shape).astype(x.real.dtype))"),
            (*UNKNOWN, *DROPOUT, "forward", "input", "dx", "noise")),
    makers.feed_forward("feed-forward-no-dropout-backward", ("cache.dropout)", "type(cache.dropout)(None))"), DROPOUT),
    makers.feed_forward("feed-forward-no-activation-backward",
            ("activate_backward(dh, cache.activation)", "dh"),
            ("relu", "activation", "positive")),
    makers.feed_forward("feed-forward-activation-twice",
            ("activate_backward(dh, ", "activate_backward(activate_backward(dh, cache.activation), "),
            ("gelu", "activation", "relu", "feed"), block="encoder-layer-pre-norm", in_model="transformer-pre-norm",
            comment="The activation's backward is applied twice: harmless for ReLU, wrong for GELU."),
    makers.feed_forward("feed-forward-inner-twice",
            ("return self.inner", "self.inner.backward(dh, cache.inner)\n    return self.inner"), ("inner",),
            ("twice", "doubl", "factor", "2 times", "times 2", "2x")),
    makers.feed_forward("feed-forward-inner-detached", ("self.inner.backward(dh, cache.inner)", "dh @ self.inner.weight.data.T"),
            ("inner",), MISSING),
    makers.feed_forward("feed-forward-adds-dy", ("return self.inner", "return dy + self.inner"),
            ("residual", "shortcut", "skip", "dy", "identity", "direct", "extra"),
            comment="dy is added to dx as if the shortcut were part of the network: it counts twice in the residual."),
    makers.feed_forward("feed-forward-two-dropout-activation",
            ("dropout_backward(dh, cache.dropout)", "dh", "activate_backward(dh, cache.activation)", "dh"),
            (*DROPOUT, "relu", "activation", "positive")),
    Mistake("feed-forward-dropout-last", FEED + "forward", feed_forward_dropout_last, "feed-forward", (DROPOUT,)),
    Mistake("feed-forward-stale-outer", FEED + "forward", feed_forward_stale_outer, "feed-forward",
            (("outer",), (*DROPOUT, "cache", "stale", "weight"))),
]
