"""Mistakes in multi-head attention: heads, projections, and the paths of self- and cross-attention."""

from minitransformer.functional import attention_backward
from minitransformer.layers.attention import MultiHeadAttention
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import AVERAGED, MISSING, RAISES, SWAPPED, TWICE


def _heads(self, dy, cache):
    return attention_backward(self.split(self.output.backward(dy, cache.output)), cache.attention)


def _projections(self, dq, dk, dv, cache):
    """From (B, T, H d)."""
    return self.query.backward(dq, cache.query), self.key.backward(dk, cache.key), self.value.backward(dv, cache.value)


def _unturned(x):
    batch, heads, length, d = x.shape
    return x.reshape(batch, length, heads * d)


def queries_merged_without_transpose(self, dy, cache):
    dq, dk, dv = _heads(self, dy, cache)
    return _projections(self, _unturned(dq), self.merge(dk), self.merge(dv), cache)


def heads_interleaved(self, dy, cache):
    dheads = self.output.backward(dy, cache.output)
    batch, length, width = dheads.shape
    dheads = dheads.reshape(batch, length, width // self.num_heads, self.num_heads).transpose(0, 3, 1, 2)
    return _projections(self, *map(self.merge, attention_backward(dheads, cache.attention)), cache)


def merge_without_transpose(self, x):
    return _unturned(x)


def time_lost(self, dy, cache):
    dheads = self.output.backward(dy, cache.output)
    dheads = dheads.reshape(len(dheads), self.num_heads, 1, -1)
    return _projections(self, *map(self.merge, attention_backward(dheads, cache.attention)), cache)


def divided_by_heads(self, dy, cache):
    return _projections(self, *(self.merge(d) / self.num_heads for d in _heads(self, dy, cache)), cache)


def projections_not_undone(self, dy, cache):
    return tuple(map(self.merge, _heads(self, dy, cache)))


def value_before_key(self, dy, cache):
    dquery, dkey, dvalue = _projections(self, *map(self.merge, _heads(self, dy, cache)), cache)
    return dquery, dvalue, dkey


def query_through_key(self, dy, cache):
    dq, dk, dv = map(self.merge, _heads(self, dy, cache))
    return (self.key.backward(dq, cache.query), self.key.backward(dk, cache.key), self.value.backward(dv, cache.value))


def one_sum(self, dy, cache):
    dquery, dkey, dvalue = _projections(self, *map(self.merge, _heads(self, dy, cache)), cache)
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


ATTENTION = "minitransformer.layers.attention:"
MHA = "MultiHeadAttention.backward"
TURN = ("transpos", "heads", "merge", "swapaxes", "axes", "axis", "split", "reshap")
VALUE = ("value",)
KEY = ("key",)
QUERY = ("query", "queries")
ONE_THIRD = ("third", "/ 3", "1/3", "0.33", "averag", "mean", "divid", "three")
NUMBER = ("three", "3 ", "too many", "tuple", "one gradient", "number of", "unpack", "returns", *RAISES)


def _mha(name, wrong, *says, replaces=MHA, **more):
    return Mistake("heads-" + name, replaces, wrong, "multi-head-attention", says, **more)


def _self(name, wrong, *says, **more):
    return Mistake("self-attention-" + name, ATTENTION + "SelfAttention.backward", wrong, "self-attention", says, **more)


def _cross(name, wrong, *says, **more):
    return Mistake("cross-attention-" + name, ATTENTION + "CrossAttention.backward", wrong, "cross-attention", says, **more)


MISTAKES = [
    _mha("queries-merged-without-transpose", queries_merged_without_transpose, QUERY, TURN),
    _mha("interleaved", heads_interleaved, ("head", "interleav", "split", "order", *TURN)),
    _mha("merge-both-ways-without-transpose", merge_without_transpose, TURN, replaces="MultiHeadAttention.merge"),
    _mha("time-lost", time_lost, ("length", "shape", "axis", "time", *RAISES), comment="numpy-ml: the time axis is gone in a reshape"),
    _mha("divided", divided_by_heads, ("head",), AVERAGED),
    _mha("projections-not-undone", projections_not_undone, ("projection", "linear", "shape", "query", "W_Q", *RAISES)),
    _mha("value-before-key", value_before_key, SWAPPED, in_model="", comment="where key and value are one sequence it is right"),
    _mha("query-through-key", query_through_key, QUERY, ("key",)),
    _mha("one-sum", one_sum, ("key", "value"), ("sum", "both", "added", "plus", *TWICE)),
    _self("without-keys", self_without_keys, KEY, MISSING),
    _self("without-queries", self_without_queries, QUERY, MISSING),
    _self("averaged", self_averaged, ONE_THIRD),
    _self("three-gradients", self_three_gradients, NUMBER),
    _cross("without-values", cross_without_values, VALUE, MISSING),
    _cross("averaged", cross_averaged, ("half", "averag", "mean", "halv", "0.5", "1/2", "divid", "factor 2", "twice")),
    _cross("swapped", cross_swapped, SWAPPED),
]
