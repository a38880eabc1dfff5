"""Mistakes in multi-head attention: heads, projections, and the paths of self- and cross-attention."""

import numpy as np

from minitransformer.functional import attention_backward
from minitransformer.layers.attention import MultiHeadAttention
from tests.diagnosis.mistakes import makers, right
from tests.diagnosis.mistakes.words import KEY, MISSING, QUERY, SIGN, TURN, TWICE, VALUE


def _unturned(x):
    batch, heads, length, d = x.shape
    return x.reshape(batch, length, heads * d)


def merged_without_transpose(self, dy, cache):
    return right.projections(self, *map(_unturned, right.head_gradients(self, dy, cache)), cache)


def split_without_transpose(self, dy, cache):
    dheads = self.output.backward(dy, cache.output)
    batch, length, width = dheads.shape
    dheads = dheads.reshape(batch, self.num_heads, length, width // self.num_heads)
    return right.projections(self, *map(self.merge, attention_backward(dheads, cache.attention)), cache)


def first_head_only(self, dy, cache):
    def first(d):
        d = np.array(d)
        d[:, 1:] = 0
        return self.merge(d)
    return right.projections(self, *map(first, right.head_gradients(self, dy, cache)), cache)


def heads_averaged(self, dy, cache):
    def averaged(d):
        return self.merge(np.broadcast_to(d.mean(axis=1, keepdims=True), d.shape))
    return right.projections(self, *map(averaged, right.head_gradients(self, dy, cache)), cache)


def output_twice(self, dy, cache):
    self.output.backward(dy, cache.output)
    return right.projections(self, *map(self.merge, right.head_gradients(self, dy, cache)), cache)


def output_weight_skipped(self, dy, cache):
    dheads = self.split(dy @ self.output.weight.data.T)
    return right.projections(self, *map(self.merge, attention_backward(dheads, cache.attention)), cache)


def query_projection_skipped(self, dy, cache):
    dq, dk, dv = map(self.merge, right.head_gradients(self, dy, cache))
    return (dq @ self.query.weight.data.T, self.key.backward(dk, cache.key), self.value.backward(dv, cache.value))


def key_with_cache_of_value(self, dy, cache):
    dq, dk, dv = map(self.merge, right.head_gradients(self, dy, cache))
    return (self.query.backward(dq, cache.query), self.key.backward(dk, cache.value), self.value.backward(dv, cache.value))


def values_twice(self, dy, cache):
    dquery, dkey, dvalue = right.projections(self, *map(self.merge, right.head_gradients(self, dy, cache)), cache)
    return dquery, dkey, 2 * dvalue


def self_without_values(self, dy, cache):
    dquery, dkey, _ = MultiHeadAttention.backward(self, dy, cache)
    return dquery + dkey


def self_queries_only(self, dy, cache):
    return MultiHeadAttention.backward(self, dy, cache)[0]


def self_values_twice(self, dy, cache):
    dquery, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return dquery + dvalue + dvalue + dkey


def self_keys_subtracted(self, dy, cache):
    dquery, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return dquery - dkey + dvalue


def cross_without_keys(self, dy, cache):
    dquery, _, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return dquery, dvalue


def cross_memory_last(self, dy, cache):
    dquery, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    dmemory = dkey + dvalue
    dmemory[:, :-1] = 0
    return dquery, dmemory


def cross_query_lost(self, dy, cache):
    dquery, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return np.zeros_like(dquery), dkey + dvalue


OUTPUT = ("output", "W_O")

MISTAKES = [
    makers.heads("merged-without-transpose", merged_without_transpose, TURN),
    makers.heads("split-without-transpose", split_without_transpose, TURN),
    makers.heads("first-only", first_head_only, ("head",), ("first", "only", *MISSING)),
    makers.heads("averaged", heads_averaged, ("head",), ("averag", "mean", "same")),
    makers.heads("output-twice", output_twice, OUTPUT, TWICE),
    makers.heads("output-weight-skipped", output_weight_skipped, OUTPUT, MISSING),
    makers.heads("query-projection-skipped", query_projection_skipped, QUERY, MISSING),
    makers.heads("key-with-cache-of-value", key_with_cache_of_value, KEY, ("value", "cache", "wrong input"), in_model="",
         comment="where key and value are one sequence it is right"),
    makers.heads("values-twice", values_twice, VALUE, TWICE),
    makers.self_attention("without-values", self_without_values, VALUE, MISSING),
    makers.self_attention("queries-only", self_queries_only, ("key", "value", "only", "three"), (*MISSING, "only")),
    makers.self_attention("values-twice", self_values_twice, VALUE, TWICE),
    makers.self_attention("keys-subtracted", self_keys_subtracted, KEY, (*SIGN, "subtract")),
    makers.cross_attention("without-keys", cross_without_keys, KEY, MISSING),
    makers.cross_attention("last-position-only", cross_memory_last, ("memory", "key"), ("last", "position", "only", *MISSING)),
    makers.cross_attention("query-lost", cross_query_lost, ("query", "queries", "dx"), MISSING),
]
