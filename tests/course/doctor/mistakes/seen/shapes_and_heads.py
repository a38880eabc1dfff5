"""Mistakes in multi-head attention: heads, projections, and the paths of self- and cross-attention."""

import numpy as np

from minitransformer.layers.attention import MultiHeadAttention
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import changed, multi_head
from tests.course.doctor.mistakes.words import KEY, MISSING, QUERY, SIGN, TURN, TWICE, VALUE


def unturned(x):
    batch, heads, length, d = x.shape
    return x.reshape(batch, length, heads * d)


def split_reshaped(self, x):
    batch, length, width = x.shape
    return x.reshape(batch, self.num_heads, length, width // self.num_heads)


def only_head(self, head):
    """(H, 1, 1): which head it is."""
    return (np.arange(self.num_heads) == head % self.num_heads)[:, None, None]


first_head_only = multi_head(merge=lambda self, *ds: [self.merge(d * only_head(self, 0)) for d in ds])
heads_averaged = multi_head(merge=lambda self, *ds: [
    self.merge(np.broadcast_to(d.mean(axis=1, keepdims=True), d.shape)) for d in ds])
output_weight_skipped = multi_head(output=lambda self, dy, cache: dy @ self.output.weight.data.T)
query_projection_skipped = multi_head(project=lambda self, dq, dk, dv, cache: (
    dq @ self.query.weight.data.T, self.key.backward(dk, cache.key), self.value.backward(dv, cache.value)))
key_with_cache_of_value = multi_head(project=lambda self, dq, dk, dv, cache: (
    self.query.backward(dq, cache.query), self.key.backward(dk, cache.value), self.value.backward(dv, cache.value)))


def output_twice(self, dy, cache):
    self.output.backward(dy, cache.output)
    return multi_head()(self, dy, cache)


self_without_values = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: dq + dk)
self_queries_only = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: dq)
self_values_twice = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: dq + dv + dv + dk)
self_keys_subtracted = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: dq - dk + dv)
cross_without_keys = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (dq, dv))
cross_query_lost = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (np.zeros_like(dq), dk + dv))


def cross_memory_last(self, dy, cache):
    dquery, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    dmemory = dkey + dvalue
    dmemory[:, :-1] = 0
    return dquery, dmemory


OUTPUT = ("output", "W_O")

MISTAKES = [
    makers.heads("heads-merged-without-transpose", multi_head(merge=lambda self, *ds: map(unturned, ds)), TURN),
    makers.heads("heads-split-without-transpose", multi_head(split=split_reshaped), TURN),
    makers.heads("heads-first-only", first_head_only, ("head",), ("first", "only", *MISSING)),
    makers.heads("heads-averaged", heads_averaged, ("head",), ("averag", "mean", "same")),
    makers.heads("heads-output-twice", output_twice, OUTPUT, TWICE),
    makers.heads("heads-output-weight-skipped", output_weight_skipped, OUTPUT, MISSING),
    makers.heads("heads-query-projection-skipped", query_projection_skipped, QUERY, MISSING),
    makers.heads("heads-key-with-cache-of-value", key_with_cache_of_value, KEY, ("value", "cache", "wrong input"), in_model="",
            comment="where key and value are one sequence it is right"),
    makers.heads("heads-values-twice", changed(multi_head(), lambda dq, dk, dv, *_: (dq, dk, 2 * dv)), VALUE, TWICE),
    makers.self_attention("self-attention-without-values", self_without_values, VALUE, MISSING),
    makers.self_attention("self-attention-queries-only", self_queries_only, ("key", "value", "only", "three"), (*MISSING, "only")),
    makers.self_attention("self-attention-values-twice", self_values_twice, VALUE, TWICE),
    makers.self_attention("self-attention-keys-subtracted", self_keys_subtracted, KEY, (*SIGN, "subtract")),
    makers.cross_attention("cross-attention-without-keys", cross_without_keys, KEY, MISSING),
    makers.cross_attention("cross-attention-last-position-only", cross_memory_last, ("memory", "key"),
            ("last", "position", "only", *MISSING)),
    makers.cross_attention("cross-attention-query-lost", cross_query_lost, ("query", "queries", "dx"), MISSING),
]
