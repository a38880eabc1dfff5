"""Mistakes in multi-head attention: splitting, merging, its projections, and self and cross."""

import math

import numpy as np

from minitransformer.layers.attention import MultiHeadAttention
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.makers import edited
from tests.course.doctor.mistakes.held_out import shapes_and_heads as held_out
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import changed, given, multi_head, multi_head_forward
from tests.course.doctor.mistakes.seen import shapes_and_heads as seen
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

MISSING = (*LEFT_OUT, "does not", "not multiplied", "only")
HEADS = ("head", "split", "merge", "transpos", "swapaxes", "reshap", "order", "permut", "shuffl", "scrambl")


backward_key_and_value_caches = multi_head(project=lambda self, dq, dk, dv, cache: (
    self.query.backward(dq, cache.query), self.key.backward(dk, cache.value), self.value.backward(dv, cache.key)))
backward_over_heads = multi_head(split=lambda self, d: self.split(d) / self.num_heads)
backward_last_head_only = multi_head(split=lambda self, d: self.split(d) * seen.only_head(self, -1))
backward_first_head_left_out = multi_head(split=lambda self, d: self.split(d) * ~seen.only_head(self, 0))
backward_key_not_merged = multi_head(merge=lambda self, q, k, v: (self.merge(q), seen.unturned(k), self.merge(v)))
backward_query_scaled_again = multi_head(merge=lambda self, q, k, v: (
    self.merge(q) / math.sqrt(q.shape[-1]), self.merge(k), self.merge(v)))
backward_value_projection_skipped = multi_head(project=lambda self, dq, dk, dv, cache: (
    self.query.backward(dq, cache.query), self.key.backward(dk, cache.key), dv @ self.value.weight.data.T))
backward_heads_mixed = multi_head(split=lambda self, d: 0.8 * self.split(d) + 0.2 * np.roll(self.split(d), 1, axis=1))
backward_soft_sign = multi_head(split=lambda self, d: self.split(d / (1 + abs(d))))


def backward_redraws_dropout(self, dy, cache):
    attention = cache.attention
    mask = (np.random.default_rng(0).random(attention.weights.shape) >= self.dropout) / (1 - self.dropout)
    attention = attention._replace(dropout=attention.dropout._replace(mask=mask.astype(dy.dtype)))
    return multi_head()(self, dy, cache._replace(attention=attention))


def backward_two_heads_and_output(self, dy, cache):
    self.output.backward(dy, cache.output)
    return backward_over_heads(self, dy, cache)


forward_value_from_key = given(multi_head_forward, lambda self, query, key, value, mask=None, rng=None: (
    self, query, key, key, mask, rng))
forward_query_added = changed(multi_head_forward, lambda y, cache, self, query, *_: (y + query, cache))
self_query_twice = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: dq + dq + dv)
cross_memory_detached = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (dq, np.zeros_like(dk)))
cross_key_twice = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (dq, 2 * dk + dv))
cross_largest_of_both = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (dq, np.where(abs(dk) > abs(dv), dk, dv)))

MHA, BLOCK = "MultiHeadAttention.", "multi-head-attention"

MISTAKES = [
    Mistake("heads-split-reshape-only", MHA + "split", seen.split_reshaped, BLOCK, (HEADS,)),
    Mistake("heads-split-interleaved", MHA + "split", held_out.split_interleaved, BLOCK, (HEADS,)),
    Mistake("heads-merge-reshape-only", MHA + "merge", held_out.merge_without_transpose, BLOCK, (HEADS,)),
    edited("heads-merge-interleaved", MHA + "merge", "x.swapaxes(1, 2)", "x.transpose(0, 2, 3, 1)", BLOCK, HEADS),
    edited("heads-merge-reversed", MHA + "merge", "x.swapaxes", "x[:, ::-1].swapaxes", BLOCK, (*HEADS, "revers")),
    makers.heads("mha-key-value-caches-swapped", backward_key_and_value_caches, ("key", "value"),
            ("swap", "exchang", "cache", "input", "wrong", "weight", "other"), in_model="",
            comment="The key's projection is handed the value's cache and the reverse: invisible where key and value are one array."),
    makers.heads("mha-over-heads", backward_over_heads, ("head", "average", "mean", "divid", "1/9", "factor", "0.111")),
    makers.heads("mha-last-head-only", backward_last_head_only, ("head",), (*MISSING, "last", "one", "some of", "overwrit")),
    makers.heads("mha-first-head-left-out", backward_first_head_left_out, ("head",), (*MISSING, "first", "some of", "1 of", "one")),
    makers.heads("mha-key-not-merged", backward_key_not_merged, ("key", "dk"), (*HEADS, "wrong")),
    makers.heads("mha-output-twice", seen.output_twice, ("output",), ("twice", "doubl", "factor", "2 times", "times 2", "2x")),
    makers.heads("mha-query-scaled-again", backward_query_scaled_again, ("query", "dq"),
            ("scale", "sqrt", "twice", "divid", "factor", "d_k", "times", "0.447", "2.236", "2.24")),
    makers.heads("mha-redraws-dropout", backward_redraws_dropout, ("dropout", "dropped", "mask", "random")),
    makers.heads("mha-key-value-outputs-swapped", held_out.value_before_key, ("swap", "exchang", "order", "each other"),
            ("key", "value"), in_model="",
            comment="dvalue and dkey are returned in each other's place: invisible where they are added."),
    makers.heads("mha-value-projection-no-gradient", backward_value_projection_skipped, ("value",), MISSING),
    makers.heads("mha-two-heads-and-output", backward_two_heads_and_output,
            ("output", "head", "twice", "doubl", "average", "divid", "factor")),
    makers.heads("mha-heads-mixed", backward_heads_mixed, (*UNKNOWN, "head", "query", "key", "value")),
    makers.heads("mha-soft-sign", backward_soft_sign, (*UNKNOWN, "head", "query", "key", "value", "attention")),
    Mistake("mha-forward-value-from-key", MHA + "forward", forward_value_from_key, BLOCK, (("value", "key"),), in_model="",
            comment="forward projects the key input for the values too, so the value input has no influence: invisible in self- and cross-attention."),
    edited("mha-forward-reversed-heads", MHA + "forward", "self.merge(heads)", "self.merge(heads[:, ::-1])", BLOCK,
            (*HEADS, "revers")),
    Mistake("mha-forward-adds-query", MHA + "forward", forward_query_added, BLOCK,
            (("query", "residual", "shortcut", "skip", "direct", "identity"), (*MISSING, "residual", "shortcut", "skip", "direct", "identity", "dy"))),
    makers.self_attention("self-attention-no-value", seen.self_without_values, ("value", "dv"), MISSING),
    makers.self_attention("self-attention-no-key", held_out.self_without_keys, ("key", "dk"), MISSING),
    makers.self_attention("self-attention-query-for-key", self_query_twice, ("key", "query")),
    makers.self_attention("self-attention-averaged", held_out.self_averaged, ("average", "mean", "divid", "1/3", "third", "factor", "0.333")),
    makers.self_attention("self-attention-minus-key", seen.self_keys_subtracted, ("sign", "minus", "subtract", "negat", "-1"), ("key", "dk")),
    makers.cross_attention("cross-attention-no-value", held_out.cross_without_values, ("value", "dv"), MISSING),
    makers.cross_attention("cross-attention-averaged", held_out.cross_averaged, ("average", "mean", "divid", "half", "factor", "0.5", "1/2")),
    makers.cross_attention("cross-attention-swapped", held_out.cross_swapped, ("swap", "exchang", "order", "shape", "each other"), in_model=""),
    makers.cross_attention("cross-attention-memory-detached", cross_memory_detached, ("memory", "key", "value"), MISSING),
    makers.cross_attention("cross-attention-key-twice", cross_key_twice, ("key", "memory", "dk"), ("twice", "doubl", "2 times", "times 2", "2x", "factor")),
    makers.cross_attention("cross-attention-larger-part", cross_largest_of_both, (*UNKNOWN, "memory", "key", "value")),
]
