"""Mistakes in multi-head attention: heads, projections, and the paths of self- and cross-attention."""

from research.mistakes import makers
from research.mistakes.words import KEY, MISSING, QUERY, SIGN, TURN, TWICE, VALUE

OUTPUT = ("output", "W_O")

MISTAKES = [
    makers.heads("heads-merged-without-transpose",
            ("self.merge(dq)", "dq.reshape(len(dq), dq.shape[2], -1)",
             "self.merge(dk)", "dk.reshape(len(dk), dk.shape[2], -1)",
             "self.merge(dv)", "dv.reshape(len(dv), dv.shape[2], -1)"),
            TURN),
    makers.heads("heads-split-without-transpose",
            ("self.split(self.output.backward(dy, cache.output))",
             "self.output.backward(dy, cache.output)\n    dheads = dheads.reshape(len(dheads), self.num_heads, dheads.shape[1], -1)"),
            TURN),
    makers.heads("heads-first-only", ("dheads, cache", "dheads * (np.arange(self.num_heads) == 0)[:, None, None], cache"),
            ("head",), ("first", "only", *MISSING)),
    makers.heads("heads-averaged",
            ("self.attend_backward(dheads, cache.attention)", "(0 * d + d.mean(axis=1, keepdims=True) for d in self.attend_backward(dheads, cache.attention))"),
            ("head",), ("averag", "mean", "same")),
    makers.heads("heads-output-twice", ("dheads =", "self.output.backward(dy, cache.output)\n    dheads ="), OUTPUT, TWICE),
    makers.heads("heads-output-weight-skipped", ("self.output.backward(dy, cache.output)", "dy @ self.output.weight.data.T"),
            OUTPUT, MISSING),
    makers.heads("heads-query-projection-skipped",
            ("self.query.backward(self.merge(dq), cache.query)", "self.merge(dq) @ self.query.weight.data.T"), QUERY, MISSING),
    makers.heads("heads-key-with-cache-of-value", ("cache.key", "cache.value"), KEY, ("value", "cache", "wrong input"),
            in_model="", comment="where key and value are one sequence it is right"),
    makers.heads("heads-values-twice", (", dvalue", ", 2 * dvalue"), VALUE, TWICE),
    makers.self_attention("self-attention-without-values", (" + dvalue", ""), VALUE, MISSING),
    makers.self_attention("self-attention-queries-only", (" + dkey + dvalue", ""), ("key", "value", "only", "three"),
            (*MISSING, "only")),
    makers.self_attention("self-attention-values-twice", ("+ dvalue", "+ 2 * dvalue"), VALUE, TWICE),
    makers.self_attention("self-attention-keys-subtracted", ("+ dkey", "- dkey"), KEY, (*SIGN, "subtract")),
    makers.cross_attention("cross-attention-without-keys", ("dkey + ", ""), KEY, MISSING),
    makers.cross_attention("cross-attention-last-position-only", ("return", "dkey[:, :-1] = dvalue[:, :-1] = 0\n    return"),
            ("memory", "key"), ("last", "position", "only", *MISSING)),
    makers.cross_attention("cross-attention-query-lost", ("return dquery", "return 0 * dquery"), ("query", "queries", "dx"),
            MISSING),
]
