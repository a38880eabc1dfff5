"""Mistakes in multi-head attention: splitting, merging, its projections, and self and cross."""

import numpy as np

from minitransformer.layers.attention import MultiHeadAttention
from research.mistakes import makers
from research.mistakes.makers import edited
from research.mistakes.words import LEFT_OUT, UNKNOWN

MISSING = (*LEFT_OUT, "does not", "not multiplied", "only")
HEADS = ("head", "split", "merge", "transpos", "swapaxes", "reshap", "order", "permut", "shuffl", "scrambl")


def backward_redraws_dropout(self, dy, cache):
    attention = cache.attention
    mask = (np.random.default_rng(0).random(attention.weights.shape) >= self.dropout) / (1 - self.dropout)
    attention = attention._replace(dropout=attention.dropout._replace(mask=mask.astype(dy.dtype)))
    return MultiHeadAttention.backward.textbook(self, dy, cache._replace(attention=attention))


MHA, BLOCK = "MultiHeadAttention.", "multi-head-attention"

MISTAKES = [
    edited("heads-split-reshape-only", MHA + "split", "batch, length, self.num_heads, width // self.num_heads).swapaxes(1, 2)",
            "batch, self.num_heads, length, width // self.num_heads)", BLOCK, HEADS),
    edited("heads-split-interleaved", MHA + "split", "self.num_heads, width // self.num_heads).swapaxes(1, 2)",
            "width // self.num_heads, self.num_heads).transpose(0, 3, 1, 2)", BLOCK, HEADS),
    edited("heads-merge-reshape-only", MHA + "merge", "x.swapaxes(1, 2)", "x", BLOCK, HEADS),
    edited("heads-merge-interleaved", MHA + "merge", "x.swapaxes(1, 2)", "x.transpose(0, 2, 3, 1)", BLOCK, HEADS),
    edited("heads-merge-reversed", MHA + "merge", "x.swapaxes", "x[:, ::-1].swapaxes", BLOCK, (*HEADS, "revers")),
    makers.heads("mha-key-value-caches-swapped",
            ("self.merge(dk), cache.key", "self.merge(dk), cache.value", "self.merge(dv), cache.value", "self.merge(dv), cache.key"),
            ("key", "value"), ("swap", "exchang", "cache", "input", "wrong", "weight", "other"), in_model="",
            comment="The key's projection is handed the value's cache and the reverse: invisible where key and value are one array."),
    makers.heads("mha-over-heads", ("dheads, cache", "dheads / self.num_heads, cache"),
            ("head", "average", "mean", "divid", "1/9", "factor", "0.111")),
    makers.heads("mha-last-head-only",
            ("dheads, cache", "dheads * (np.arange(self.num_heads) == self.num_heads - 1)[:, None, None], cache"), ("head",),
            (*MISSING, "last", "one", "some of", "overwrit")),
    makers.heads("mha-first-head-left-out", ("dheads, cache", "dheads * (np.arange(self.num_heads) > 0)[:, None, None], cache"),
            ("head",), (*MISSING, "first", "some of", "1 of", "one")),
    makers.heads("mha-key-not-merged", ("self.merge(dk)", "dk.reshape(len(dk), dk.shape[2], -1)"), ("key", "dk"),
            (*HEADS, "wrong")),
    makers.heads("mha-output-twice", ("dheads =", "self.output.backward(dy, cache.output)\n    dheads ="), ("output",),
            ("twice", "doubl", "factor", "2 times", "times 2", "2x")),
    makers.heads("mha-query-scaled-again", ("self.merge(dq)", "self.merge(dq) / math.sqrt(dq.shape[-1])"), ("query", "dq"),
            ("scale", "sqrt", "twice", "divid", "factor", "d_k", "times", "0.447", "2.236", "2.24")),
    makers.heads("mha-redraws-dropout", backward_redraws_dropout, ("dropout", "dropped", "mask", "random")),
    makers.heads("mha-key-value-outputs-swapped", ("return dquery, dkey, dvalue", "return dquery, dvalue, dkey"),
            ("swap", "exchang", "order", "each other"), ("key", "value"), in_model="",
            comment="dvalue and dkey are returned in each other's place: invisible where they are added."),
    makers.heads("mha-value-projection-no-gradient",
            ("self.value.backward(self.merge(dv), cache.value)", "self.merge(dv) @ self.value.weight.data.T"), ("value",), MISSING),
    makers.heads("mha-two-heads-and-output",
            ("dheads =", "self.output.backward(dy, cache.output)\n    dheads =", "dheads, cache", "dheads / self.num_heads, cache"),
            ("output", "head", "twice", "doubl", "average", "divid", "factor")),
    makers.heads("mha-heads-mixed", ("dheads, cache", "0.8 * dheads + 0.2 * np.roll(dheads, 1, axis=1), cache"),
            (*UNKNOWN, "head", "query", "key", "value")),
    makers.heads("mha-soft-sign", ("dheads, cache", "dheads / (1 + abs(dheads)), cache"),
            (*UNKNOWN, "head", "query", "key", "value", "attention")),
    edited("mha-forward-value-from-key", MHA + "forward", "self.value.forward(value)", "self.value.forward(key)", BLOCK,
            ("value", "key"), in_model="",
            comment="forward projects the key input for the values too, so the value input has no influence: invisible in self- and cross-attention."),
    edited("mha-forward-reversed-heads", MHA + "forward", "self.merge(heads)", "self.merge(heads[:, ::-1])", BLOCK,
            (*HEADS, "revers")),
    edited("mha-forward-adds-query", MHA + "forward", "return y", "return y + query", BLOCK,
            ("query", "residual", "shortcut", "skip", "direct", "identity"),
            (*MISSING, "residual", "shortcut", "skip", "direct", "identity", "dy")),
    makers.self_attention("self-attention-no-value", (" + dvalue", ""), ("value", "dv"), MISSING),
    makers.self_attention("self-attention-no-key", (" + dkey", ""), ("key", "dk"), MISSING),
    makers.self_attention("self-attention-query-for-key", ("+ dkey", "+ dquery"), ("key", "query")),
    makers.self_attention("self-attention-averaged", ("dquery + dkey + dvalue", "(dquery + dkey + dvalue) / 3"),
            ("average", "mean", "divid", "1/3", "third", "factor", "0.333")),
    makers.self_attention("self-attention-minus-key", ("+ dkey", "- dkey"), ("sign", "minus", "subtract", "negat", "-1"),
            ("key", "dk")),
    makers.cross_attention("cross-attention-no-value", (" + dvalue", ""), ("value", "dv"), MISSING),
    makers.cross_attention("cross-attention-averaged", ("dkey + dvalue", "(dkey + dvalue) / 2"),
            ("average", "mean", "divid", "half", "factor", "0.5", "1/2")),
    makers.cross_attention("cross-attention-swapped", ("return dquery, dkey + dvalue", "return dkey + dvalue, dquery"),
            ("swap", "exchang", "order", "shape", "each other"), in_model=""),
    makers.cross_attention("cross-attention-memory-detached", ("dkey + dvalue", "0 * dkey"), ("memory", "key", "value"), MISSING),
    makers.cross_attention("cross-attention-key-twice", ("dkey + dvalue", "2 * dkey + dvalue"), ("key", "memory", "dk"),
            ("twice", "doubl", "2 times", "times 2", "2x", "factor")),
    makers.cross_attention("cross-attention-larger-part", ("dkey + dvalue", "np.where(abs(dkey) > abs(dvalue), dkey, dvalue)"),
            (*UNKNOWN, "memory", "key", "value")),
]
