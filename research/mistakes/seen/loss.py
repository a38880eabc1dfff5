"""Mistakes in cross-entropy, alone and with the pre-softmax linear. No model of blocks() ends in its loss: in_model is empty."""

from research.mistakes import makers
from research.mistakes.words import AVERAGED, MISSING, PRECISION, SIGN, SMOOTHING, TOKENS

MISTAKES = [
    makers.loss("cross-entropy-smoothing-over-the-others",
            ("smoothing / size", "smoothing / (size - 1)", "-= 1 - smoothing", "-= 1 - smoothing - smoothing / (size - 1)"),
            ("V - 1", "V-1", "other classes", "others", "except the target")),
    makers.loss("cross-entropy-smoothing-on-target-only", ("smoothing / size", "0"), SMOOTHING,
            (*MISSING, "only the target", "target only", "spread", "other classes", "s / V")),
    makers.loss("cross-entropy-smoothing-not-divided", ("smoothing / size", "smoothing"), SMOOTHING,
            ("divid", "division", "/ V", "V times", "times V", "spread", "evenly", "each class")),
    makers.loss("cross-entropy-only-padding", ("real.reshape(-1, 1)", "~real.reshape(-1, 1)"), ("pad", "real"),
            ("invert", "only", "instead", "opposite", "complement", "where")),
    makers.loss("cross-entropy-divided-by-count",
            ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / cache.count"), AVERAGED, TOKENS),
    makers.loss("cross-entropy-divided-by-rows-twice",
            ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) / real.size ** 2"), AVERAGED,
            ("twice", "squar", "N^2", "^2", "36", *TOKENS),
            comment="numpy-transformer: a mean of a mean, and padding in its count"),
    makers.loss("cross-entropy-negative", ("return dlogits", "return -dlogits"), SIGN),
    makers.loss("cross-entropy-dloss-forgotten", (" * dloss", ""), ("dloss",), MISSING),
    makers.loss("cross-entropy-softmax-backward-too",
            ("return dlogits.reshape(p.shape)", "d = dlogits.reshape(p.shape)\n    return p * (d - (d * p).sum(axis=-1, keepdims=True))"),
            ("softmax",)),
    makers.loss("cross-entropy-target-entry-only",
            ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape) * (np.arange(size) == targets[..., None])"),
            ("target",), ("only", *MISSING, "other classes")),
    makers.loss("cross-entropy-p-forgotten", ("p.reshape(-1, size) -", "0 * p.reshape(-1, size) -"),
            ("softmax", "probabilit", "the p", "term p", "p - q", "p is"), MISSING),
    makers.loss("cross-entropy-in-float32",
            ("return dlogits.reshape(p.shape)", "return dlogits.reshape(p.shape).astype(np.float32)"), PRECISION),
    makers.loss_forward("cross-entropy-forward-counts-padding",
            ("* log_likelihood.sum()", "* (target - log_total).sum()", "((mean - log_total) * real)", "(mean - log_total)"),
            ("pad",)),
    makers.loss_forward("cross-entropy-forward-averages", ("return loss", "return loss / float(real.sum())"), AVERAGED, TOKENS),
    makers.loss_forward("cross-entropy-forward-smooths-padding", ("((mean - log_total) * real)", "(mean - log_total)"), ("pad",)),
]
