"""Mistakes in multi-head attention: splitting, merging, its projections, and self and cross."""

import math

import numpy as np

from minitransformer.functional import attention_forward
from minitransformer.layers.attention import MultiHeadAttention, MultiHeadAttentionCache
from tests.course.doctor.mistakes.held_out import shapes_and_heads as held_out
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import changed, given, multi_head, multi_head_forward
from tests.course.doctor.mistakes.seen import shapes_and_heads as seen
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

SELF = "minitransformer.layers.attention:SelfAttention.backward"
CROSS = "minitransformer.layers.attention:CrossAttention.backward"
MISSING = (*LEFT_OUT, "does not", "not multiplied", "only")
HEADS = ("head", "split", "merge", "transpos", "swapaxes", "reshap", "order", "permut", "shuffl", "scrambl")


def merge_interleaved(self, x):
    batch, heads, length, d = x.shape
    return x.transpose(0, 2, 3, 1).reshape(batch, length, heads * d)


def merge_reversed_heads(self, x):
    batch, heads, length, d = x.shape
    return x[:, ::-1].swapaxes(1, 2).reshape(batch, length, heads * d)


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


def forward_reversed_heads(self, query, key, value, mask=None, rng=None):
    q, query_cache = self.query.forward(query)
    k, key_cache = self.key.forward(key)
    v, value_cache = self.value.forward(value)
    heads, attention = attention_forward(self.split(q), self.split(k), self.split(v), mask, self.dropout, rng)
    y, output = self.output.forward(self.merge(heads[:, ::-1]))
    return y, MultiHeadAttentionCache(query_cache, key_cache, value_cache, attention, output)


forward_value_from_key = given(multi_head_forward, lambda self, query, key, value, mask=None, rng=None: (
    self, query, key, key, mask, rng))
forward_query_added = changed(multi_head_forward, lambda y, cache, self, query, *_: (y + query, cache))
self_query_twice = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: dq + dq + dv)
cross_memory_detached = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (dq, np.zeros_like(dk)))
cross_key_twice = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (dq, 2 * dk + dv))
cross_largest_of_both = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (dq, np.where(abs(dk) > abs(dv), dk, dv)))

MHA, BLOCK = "MultiHeadAttention.", "multi-head-attention"

MISTAKES = [
    Mistake("heads-split-reshape-only", MHA + "split", seen.split_reshaped, BLOCK, (HEADS,),
            comment="split reshapes to (B, H, T, d) directly, without swapping axes: positions and heads are mixed, and merge is not its inverse."),
    Mistake("heads-split-interleaved", MHA + "split", held_out.split_interleaved, BLOCK, (HEADS,),
            comment="split gives head h the features h, h + H, h + 2H, ..., while merge lays heads side by side."),
    Mistake("heads-merge-reshape-only", MHA + "merge", held_out.merge_without_transpose, BLOCK, (HEADS,),
            comment="merge reshapes (B, H, T, d) to (B, T, H d) without swapping the axes back."),
    Mistake("heads-merge-interleaved", MHA + "merge", merge_interleaved, BLOCK, (HEADS,),
            comment="merge puts heads last before reshaping, so that their features interleave; split lays them side by side."),
    Mistake("heads-merge-reversed", MHA + "merge", merge_reversed_heads, BLOCK, ((*HEADS, "revers"),),
            comment="merge concatenates the heads in reversed order; split does not know."),
    Mistake("mha-key-value-caches-swapped", MHA + "backward", backward_key_and_value_caches, BLOCK,
            (("key", "value"), ("swap", "exchang", "cache", "input", "wrong", "weight", "other")), in_model="",
            comment="The key's projection is handed the value's cache and the reverse: invisible where key and value are one array."),
    Mistake("mha-over-heads", MHA + "backward", backward_over_heads, BLOCK, (("head", "average", "mean", "divid", "1/9", "factor", "0.111"),),
            comment="The gradient into the heads is divided by their number."),
    Mistake("mha-last-head-only", MHA + "backward", backward_last_head_only, BLOCK, (("head",), (*MISSING, "last", "one", "some of", "overwrit")),
            comment="A loop over the heads overwrites dq, dk, dv each time: the last head's alone remain."),
    Mistake("mha-first-head-left-out", MHA + "backward", backward_first_head_left_out, BLOCK, (("head",), (*MISSING, "first", "some of", "1 of", "one")),
            comment="The first head sends no gradient back (an off-by-one loop from 1)."),
    Mistake("mha-key-not-merged", MHA + "backward", backward_key_not_merged, BLOCK, (("key", "dk"), (*HEADS, "wrong")),
            comment="dk alone is reshaped instead of merged: its axes are not swapped back."),
    Mistake("mha-output-twice", MHA + "backward", seen.output_twice, BLOCK, (("output",), ("twice", "doubl", "factor", "2 times", "times 2", "2x")),
            comment="The output projection's backward is called twice, so its gradients are doubled."),
    Mistake("mha-query-scaled-again", MHA + "backward", backward_query_scaled_again, BLOCK,
            (("query", "dq"), ("scale", "sqrt", "twice", "divid", "factor", "d_k", "times", "0.447", "2.236", "2.24")),
            comment="dq is divided by sqrt(d_k) once more after attention's backward has done it."),
    Mistake("mha-redraws-dropout", MHA + "backward", backward_redraws_dropout, BLOCK, (("dropout", "dropped", "mask", "random"),),
            comment="backward draws a new dropout mask for the attention weights instead of using the forward's."),
    Mistake("mha-key-value-outputs-swapped", MHA + "backward", held_out.value_before_key, BLOCK,
            (("swap", "exchang", "order", "each other"), ("key", "value")), in_model="",
            comment="dvalue and dkey are returned in each other's place: invisible where they are added."),
    Mistake("mha-value-projection-no-gradient", MHA + "backward", backward_value_projection_skipped, BLOCK, (("value",), MISSING),
            comment="The value's gradient is taken past its Linear by hand, whose weight and bias get none."),
    Mistake("mha-two-heads-and-output", MHA + "backward", backward_two_heads_and_output, BLOCK,
            (("output", "head", "twice", "doubl", "average", "divid", "factor"),),
            comment="Two mistakes: the gradient into the heads is divided by H, and the output projection's is doubled."),
    Mistake("mha-heads-mixed", MHA + "backward", backward_heads_mixed, BLOCK, ((*UNKNOWN, "head", "query", "key", "value"),),
            comment="A fifth of each head's gradient is taken from the neighbouring head: arbitrary."),
    Mistake("mha-soft-sign", MHA + "backward", backward_soft_sign, BLOCK, ((*UNKNOWN, "head", "query", "key", "value", "attention"),),
            comment="The gradient g into the heads is replaced by g / (1 + |g|): arbitrary."),
    Mistake("mha-forward-value-from-key", MHA + "forward", forward_value_from_key, BLOCK, (("value", "key"),), in_model="",
            comment="forward projects the key input for the values too, so the value input has no influence: invisible in self- and cross-attention."),
    Mistake("mha-forward-reversed-heads", MHA + "forward", forward_reversed_heads, BLOCK, ((*HEADS, "revers"),),
            comment="forward reverses the heads before merging; the given backward does not."),
    Mistake("mha-forward-adds-query", MHA + "forward", forward_query_added, BLOCK,
            (("query", "residual", "shortcut", "skip", "direct", "identity"), (*MISSING, "residual", "shortcut", "skip", "direct", "identity", "dy")),
            comment="forward adds the query input to the output (a residual of its own), whose gradient the given backward misses."),
    Mistake("self-attention-no-value", SELF, seen.self_without_values, "self-attention", (("value", "dv"), MISSING),
            comment="The value's part is missing in dx."),
    Mistake("self-attention-no-key", SELF, held_out.self_without_keys, "self-attention", (("key", "dk"), MISSING),
            comment="The key's part is missing in dx."),
    Mistake("self-attention-query-for-key", SELF, self_query_twice, "self-attention", (("key", "query"),),
            comment="dx = dquery + dquery + dvalue: the query's part stands where the key's belongs."),
    Mistake("self-attention-averaged", SELF, held_out.self_averaged, "self-attention", (("average", "mean", "divid", "1/3", "third", "factor", "0.333"),),
            comment="The three parts of dx are averaged instead of added."),
    Mistake("self-attention-minus-key", SELF, seen.self_keys_subtracted, "self-attention", (("sign", "minus", "subtract", "negat", "-1"), ("key", "dk")),
            comment="The key's part is subtracted from dx."),
    Mistake("cross-attention-no-value", CROSS, held_out.cross_without_values, "cross-attention", (("value", "dv"), MISSING),
            comment="The memory's gradient lacks the value's part."),
    Mistake("cross-attention-averaged", CROSS, held_out.cross_averaged, "cross-attention", (("average", "mean", "divid", "half", "factor", "0.5", "1/2"),),
            comment="The memory's gradient is the mean of the key's and the value's parts."),
    Mistake("cross-attention-swapped", CROSS, held_out.cross_swapped, "cross-attention", (("swap", "exchang", "order", "shape", "each other"),), in_model="",
            comment="dmemory and dx are returned in each other's place."),
    Mistake("cross-attention-memory-detached", CROSS, cross_memory_detached, "cross-attention", (("memory", "key", "value"), MISSING),
            comment="The memory gets no gradient."),
    Mistake("cross-attention-key-twice", CROSS, cross_key_twice, "cross-attention", (("key", "memory", "dk"), ("twice", "doubl", "2 times", "times 2", "2x", "factor")),
            comment="The key's part counts twice in the memory's gradient."),
    Mistake("cross-attention-larger-part", CROSS, cross_largest_of_both, "cross-attention", ((*UNKNOWN, "memory", "key", "value"),),
            comment="Of the key's and the value's part the larger is taken, element by element: arbitrary."),
]
