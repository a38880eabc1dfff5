"""Mistakes in multi-head attention: heads, projections, and the paths of self- and cross-attention."""

from minitransformer.functional import attention_backward
from minitransformer.layers.attention import MultiHeadAttention
from tests.diagnosis.mistakes import makers, right
from tests.diagnosis.mistakes.words import AVERAGED, KEY, MISSING, QUERY, RAISES, SWAPPED, TURN, TWICE, VALUE


def _unturned(x):
    batch, heads, length, d = x.shape
    return x.reshape(batch, length, heads * d)


def queries_merged_without_transpose(self, dy, cache):
    dq, dk, dv = right.head_gradients(self, dy, cache)
    return right.projections(self, _unturned(dq), self.merge(dk), self.merge(dv), cache)


def heads_interleaved(self, dy, cache):
    dheads = self.output.backward(dy, cache.output)
    batch, length, width = dheads.shape
    dheads = dheads.reshape(batch, length, width // self.num_heads, self.num_heads).transpose(0, 3, 1, 2)
    return right.projections(self, *map(self.merge, attention_backward(dheads, cache.attention)), cache)


def merge_without_transpose(self, x):
    return _unturned(x)


def time_lost(self, dy, cache):
    dheads = self.output.backward(dy, cache.output)
    dheads = dheads.reshape(len(dheads), self.num_heads, 1, -1)
    return right.projections(self, *map(self.merge, attention_backward(dheads, cache.attention)), cache)


def divided_by_heads(self, dy, cache):
    return right.projections(self, *(self.merge(d) / self.num_heads for d in right.head_gradients(self, dy, cache)), cache)


def projections_not_undone(self, dy, cache):
    return tuple(map(self.merge, right.head_gradients(self, dy, cache)))


def value_before_key(self, dy, cache):
    dquery, dkey, dvalue = right.projections(self, *map(self.merge, right.head_gradients(self, dy, cache)), cache)
    return dquery, dvalue, dkey


def query_through_key(self, dy, cache):
    dq, dk, dv = map(self.merge, right.head_gradients(self, dy, cache))
    return (self.key.backward(dq, cache.query), self.key.backward(dk, cache.key), self.value.backward(dv, cache.value))


def one_sum(self, dy, cache):
    dquery, dkey, dvalue = right.projections(self, *map(self.merge, right.head_gradients(self, dy, cache)), cache)
    return dquery, dkey + dvalue, dkey + dvalue


def self_without_keys(self, dy, cache):
    dquery, _, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return dquery + dvalue


def self_without_queries(self, dy, cache):
    _, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return dkey + dvalue


def self_averaged(self, dy, cache):
    return sum(MultiHeadAttention.backward(self, dy, cache)) / 3


def self_three_gradients(self, dy, cache):
    return MultiHeadAttention.backward(self, dy, cache)


def cross_without_values(self, dy, cache):
    dquery, dkey, _ = MultiHeadAttention.backward(self, dy, cache)
    return dquery, dkey


def cross_averaged(self, dy, cache):
    dquery, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return dquery, (dkey + dvalue) / 2


def cross_swapped(self, dy, cache):
    dquery, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return dkey + dvalue, dquery


ONE_THIRD = ("third", "/ 3", "1/3", "0.33", "averag", "mean", "divid", "three")
NUMBER = ("three", "3 ", "too many", "tuple", "one gradient", "number of", "unpack", "returns", *RAISES)


MISTAKES = [
    makers.heads("queries-merged-without-transpose", queries_merged_without_transpose, QUERY, TURN),
    makers.heads("interleaved", heads_interleaved, ("head", "interleav", "split", "order", *TURN)),
    makers.heads("merge-both-ways-without-transpose", merge_without_transpose, TURN, replaces="MultiHeadAttention.merge"),
    makers.heads("time-lost", time_lost, ("length", "shape", "axis", "time", *RAISES), comment="numpy-ml: the time axis is gone in a reshape"),
    makers.heads("divided", divided_by_heads, ("head",), AVERAGED),
    makers.heads("projections-not-undone", projections_not_undone, ("projection", "linear", "shape", "query", "W_Q", *RAISES)),
    makers.heads("value-before-key", value_before_key, SWAPPED, in_model="", comment="where key and value are one sequence it is right"),
    makers.heads("query-through-key", query_through_key, QUERY, ("key",)),
    makers.heads("one-sum", one_sum, ("key", "value"), ("sum", "both", "added", "plus", *TWICE)),
    makers.self_attention("without-keys", self_without_keys, KEY, MISSING),
    makers.self_attention("without-queries", self_without_queries, QUERY, MISSING),
    makers.self_attention("averaged", self_averaged, ONE_THIRD),
    makers.self_attention("three-gradients", self_three_gradients, NUMBER),
    makers.cross_attention("without-values", cross_without_values, VALUE, MISSING),
    makers.cross_attention("averaged", cross_averaged, ("half", "averag", "mean", "halv", "0.5", "1/2", "divid", "factor 2", "twice")),
    makers.cross_attention("swapped", cross_swapped, SWAPPED),
]
