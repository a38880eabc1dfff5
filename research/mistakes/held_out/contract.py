"""Functions that break the contract rather than the mathematics."""

from minitransformer.functional import softmax_backward, softmax_forward
from research.mistakes import makers
from research.mistakes.words import ASSIGNED, COMPLEX, IN_PLACE, RAISES

LAST = {}


def softmax_grows(dp, cache):
    """Adds up over calls: `total` was meant to be local."""
    LAST[dp.shape] = LAST.get(dp.shape, 0) + softmax_backward.textbook(dp, cache)
    return LAST[dp.shape].copy()


MISTAKES = [
    makers.norm("contract-layer-norm-two-returned", ("return dx, dgamma, dbeta", "return dx, dgamma"),
            ("two", "2 ", "3 ", "three", "too few", "unpack", "number of", "missing", *RAISES)),
    makers.softmax("contract-softmax-grows", softmax_grows,
            ("second", "call", "state", "determin", "again", "accumul", "twice", "keeps", "grows", "same cache"),
            comment="right once; every later call adds to it"),
    makers.linear("contract-linear-new-grad", ("grad +=", "grad ="), (*ASSIGNED, "new array", "view", "rebound"), in_model=""),
    makers.linear("contract-linear-normalises-dy", ("dy.reshape(-1, d_out)", "(dy / np.linalg.norm(dy)).reshape(-1, d_out)"),
            ("norm", "factor", "linear in", "not linear", "scale", "length", "proportional", "times", "constant", "divid")),
    makers.linear("contract-linear-weight-decay", ("+= rows.T", "+= 0.1 * self.weight.data + rows.T"), ("weight", "dW"),
            ("decay", "added", "regular", "even without", "dy = 0", "dy is 0", "zero dy", "not depend", "multiple of", "+ ", "l2", "linear in", "offset")),
    makers.linear_forward("contract-linear-forward-rounds", ("return y.", "return y.round(2)."),
            ("round", "step", "constant", "jump", "smooth", "discontinu", "differentiab", "stair", "complex", "noise", "piecewise"),
            in_model=""),
    makers.norm_forward("contract-layer-norm-forward-with-norm",
            ("(centred * centred).mean(axis=-1, keepdims=True)", "np.linalg.norm(centred, axis=-1, keepdims=True) ** 2 / x.shape[-1]"),
            (*COMPLEX, "norm("), in_model="", comment="right for real numbers; the norm takes the absolute value of complex ones"),
    makers.softmax_forward("contract-softmax-forward-of-real-part", lambda x, mask=None: softmax_forward.textbook(x.real, mask),
            (*COMPLEX, "imag", "real"), in_model="", comment="right for real numbers; the complex step's part is lost"),
    makers.attention("contract-attention-overwrites-value",
            ("return dquery, dkey, dvalue", "value[...] = dvalue\n    return dquery, dkey, value"), IN_PLACE, in_model=""),
]
