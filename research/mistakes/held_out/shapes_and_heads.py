"""Mistakes in multi-head attention: heads, projections, and the paths of self- and cross-attention."""

from research.mistakes import makers
from research.mistakes.makers import edited
from research.mistakes.words import AVERAGED, KEY, MISSING, QUERY, RAISES, SWAPPED, TURN, TWICE, VALUE

ONE_THIRD = ("third", "/ 3", "1/3", "0.33", "averag", "mean", "divid", "three")
NUMBER = ("three", "3 ", "too many", "tuple", "one gradient", "number of", "unpack", "returns", *RAISES)

MISTAKES = [
    makers.heads("heads-queries-merged-without-transpose", ("self.merge(dq)", "dq.reshape(len(dq), dq.shape[2], -1)"), QUERY, TURN),
    makers.heads("heads-interleaved",
            ("self.split(self.output.backward(dy, cache.output))",
             "self.output.backward(dy, cache.output)\n    dheads = dheads.reshape(*dheads.shape[:2], -1, self.num_heads).transpose(0, 3, 1, 2)"),
            ("head", "interleav", "split", "order", *TURN)),
    edited("heads-merge-both-ways-without-transpose", "MultiHeadAttention.merge", "x.swapaxes(1, 2)", "x", "multi-head-attention",
            TURN),
    makers.heads("heads-time-lost",
            ("self.split(self.output.backward(dy, cache.output))", "self.output.backward(dy, cache.output).reshape(len(dy), self.num_heads, 1, -1)"),
            ("length", "shape", "axis", "time", *RAISES), comment="numpy-ml: the time axis is gone in a reshape"),
    makers.heads("heads-divided", ("dheads, cache", "dheads / self.num_heads, cache"), ("head",), AVERAGED),
    makers.heads("heads-projections-not-undone",
            ("self.query.backward(self.merge(dq), cache.query)", "self.merge(dq)",
             "self.key.backward(self.merge(dk), cache.key)", "self.merge(dk)",
             "self.value.backward(self.merge(dv), cache.value)", "self.merge(dv)"),
            ("projection", "linear", "shape", "query", "W_Q", *RAISES)),
    makers.heads("heads-value-before-key", ("return dquery, dkey, dvalue", "return dquery, dvalue, dkey"), SWAPPED, in_model="",
            comment="where key and value are one sequence it is right"),
    makers.heads("heads-query-through-key", ("self.query.backward", "self.key.backward"), QUERY, ("key",)),
    makers.heads("heads-one-sum", ("return dquery, dkey, dvalue", "return dquery, dkey + dvalue, dkey + dvalue"), ("key", "value"),
            ("sum", "both", "added", "plus", *TWICE)),
    makers.self_attention("self-attention-without-keys", (" + dkey", ""), KEY, MISSING),
    makers.self_attention("self-attention-without-queries", ("dquery + dkey", "dkey"), QUERY, MISSING),
    makers.self_attention("self-attention-averaged", ("dquery + dkey + dvalue", "(dquery + dkey + dvalue) / 3"), ONE_THIRD),
    makers.self_attention("self-attention-three-gradients", ("dquery + dkey + dvalue", "dquery, dkey, dvalue"), NUMBER),
    makers.cross_attention("cross-attention-without-values", (" + dvalue", ""), VALUE, MISSING),
    makers.cross_attention("cross-attention-averaged", ("dkey + dvalue", "(dkey + dvalue) / 2"),
            ("half", "averag", "mean", "halv", "0.5", "1/2", "divid", "factor 2", "twice")),
    makers.cross_attention("cross-attention-swapped", ("return dquery, dkey + dvalue", "return dkey + dvalue, dquery"), SWAPPED),
]
