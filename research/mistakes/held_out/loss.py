"""Mistakes in cross-entropy, alone and with the pre-softmax linear. No model of blocks() ends in its loss: in_model is empty."""

from minitransformer.functional import cross_entropy_backward
from research.mistakes import makers
from research.mistakes.words import AVERAGED, IN_PLACE, MISSING, SIGN, SMOOTHING


def cache_overwritten(dloss, cache):
    cache.p[...] = cross_entropy_backward.textbook(dloss, cache)
    return cache.p


MISTAKES = [
    makers.loss("cross-entropy-smoothing-forgotten", ("smoothing / size", "0", "-= 1 - smoothing", "-= 1"), SMOOTHING, MISSING),
    makers.loss("cross-entropy-smoothing-by-one-less", ("smoothing / size", "smoothing / (size - 1)"),
            ("V - 1", "V-1", "other classes", "others", "except the target")),
    makers.loss("cross-entropy-target-keeps-all", ("-= 1 - smoothing", "-= 1"), ("smooth", "1 - s", "1 - smoothing"),
            ("target", "1 - s")),
    makers.loss("cross-entropy-padding-counted", ("real.reshape(-1, 1) * dloss", "dloss"), ("pad",)),
    makers.loss("cross-entropy-padded-target-only",
            ("smoothing / size", "smoothing / size * real.reshape(-1, 1)", "-= 1 - smoothing", "-= (1 - smoothing) * real.reshape(-1)", "real.reshape(-1, 1) * dloss", "dloss"),
            ("pad",)),
    makers.loss("cross-entropy-divided-by-batch", ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / len(p)"),
            AVERAGED, ("batch",)),
    makers.loss("cross-entropy-target-added", ("- smoothing / size", "+ smoothing / size", "-= 1", "+= 1"),
            (*SIGN, "added", "subtract", "p + q"), ("- q", "target", "p + q", "sign")),
    makers.loss("cross-entropy-targets-shifted", ("targets.reshape(-1)]", "np.roll(targets, -1, axis=-1).reshape(-1)]"),
            ("off by one", "shift", "wrong target", "next", "neighbour", "other target", "other position", "wrong position", "wrong class", "target")),
    makers.loss("cross-entropy-class-off-by-one", ("targets.reshape(-1)]", "np.maximum(targets.reshape(-1) - 1, 0)]"),
            ("off by one", "shift", "wrong target", "next", "neighbour", "other target", "class - 1", "wrong class", "wrong entry", "wrong column")),
    makers.loss("cross-entropy-likeliest-for-target", ("targets.reshape(-1)]", "p.argmax(axis=-1).reshape(-1)]"),
            ("argmax", "likel", "largest", "maximum", "wrong target", "wrong class", "predict", "target"),
            comment="kin of numpy-transformer's one-hot, which compares with the largest logit"),
    makers.loss("cross-entropy-without-softmax",
            ("return dlogits.reshape(p.shape)", "return (dlogits / p.reshape(-1, size) - real.reshape(-1, 1) * dloss).reshape(p.shape)"),
            ("softmax", "q / p", "1 / p", "divided by p")),
    makers.loss("cross-entropy-cache-overwritten", cache_overwritten, ("cache", "second", "again", *IN_PLACE),
            comment="right the first time"),
    makers.loss("cross-entropy-last-row-only",
            ("return dlogits.reshape(p.shape)", "dlogits.reshape(p.shape)[:, :-1] = 0\n    return dlogits.reshape(p.shape)"),
            ("position", "last", "row", "step", "sequence")),
    makers.loss_forward("cross-entropy-forward-without-smoothing",
            ("-(1 - smoothing) * log_likelihood.sum() - smoothing * ((mean - log_total) * real).sum()", "-log_likelihood.sum()"),
            SMOOTHING),
    makers.loss_forward("cross-entropy-forward-in-bits", ("return loss", "return loss / math.log(2)"),
            ("factor", "log", "times", "multipl", "constant", "scale")),
]
