"""Mistakes in multi-head attention: heads, projections, and the paths of self- and cross-attention."""

from minitransformer.layers.attention import MultiHeadAttention
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import changed, multi_head
from tests.course.doctor.mistakes.seen.shapes_and_heads import unturned
from tests.course.doctor.mistakes.words import AVERAGED, KEY, MISSING, QUERY, RAISES, SWAPPED, TURN, TWICE, VALUE


def split_interleaved(self, x):
    batch, length, width = x.shape
    return x.reshape(batch, length, width // self.num_heads, self.num_heads).transpose(0, 3, 1, 2)


merge_without_transpose = lambda self, x: unturned(x)
queries_merged_without_transpose = multi_head(merge=lambda self, q, k, v: (unturned(q), self.merge(k), self.merge(v)))
divided_by_heads = multi_head(merge=lambda self, *ds: [self.merge(d) / self.num_heads for d in ds])
value_before_key = changed(multi_head(), lambda dq, dk, dv, *_: (dq, dv, dk))
query_through_key = multi_head(project=lambda self, dq, dk, dv, cache: (
    self.key.backward(dq, cache.query), self.key.backward(dk, cache.key), self.value.backward(dv, cache.value)))
one_sum = changed(multi_head(), lambda dq, dk, dv, *_: (dq, dk + dv, dk + dv))

self_without_keys = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: dq + dv)
self_without_queries = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: dk + dv)
self_averaged = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (dq + dk + dv) / 3)
self_three_gradients = lambda self, dy, cache: MultiHeadAttention.backward(self, dy, cache)
cross_without_values = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (dq, dk))
cross_averaged = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (dq, (dk + dv) / 2))
cross_swapped = changed(MultiHeadAttention.backward, lambda dq, dk, dv, *_: (dk + dv, dq))

ONE_THIRD = ("third", "/ 3", "1/3", "0.33", "averag", "mean", "divid", "three")
NUMBER = ("three", "3 ", "too many", "tuple", "one gradient", "number of", "unpack", "returns", *RAISES)

MISTAKES = [
    makers.heads("heads-queries-merged-without-transpose", queries_merged_without_transpose, QUERY, TURN),
    makers.heads("heads-interleaved", multi_head(split=split_interleaved), ("head", "interleav", "split", "order", *TURN)),
    Mistake("heads-merge-both-ways-without-transpose", "MultiHeadAttention.merge", merge_without_transpose, "multi-head-attention",
            (TURN,)),
    makers.heads("heads-time-lost", multi_head(split=lambda self, d: d.reshape(len(d), self.num_heads, 1, -1)),
            ("length", "shape", "axis", "time", *RAISES), comment="numpy-ml: the time axis is gone in a reshape"),
    makers.heads("heads-divided", divided_by_heads, ("head",), AVERAGED),
    makers.heads("heads-projections-not-undone", multi_head(project=lambda self, dq, dk, dv, cache: (dq, dk, dv)),
            ("projection", "linear", "shape", "query", "W_Q", *RAISES)),
    makers.heads("heads-value-before-key", value_before_key, SWAPPED, in_model="",
            comment="where key and value are one sequence it is right"),
    makers.heads("heads-query-through-key", query_through_key, QUERY, ("key",)),
    makers.heads("heads-one-sum", one_sum, ("key", "value"), ("sum", "both", "added", "plus", *TWICE)),
    makers.self_attention("self-attention-without-keys", self_without_keys, KEY, MISSING),
    makers.self_attention("self-attention-without-queries", self_without_queries, QUERY, MISSING),
    makers.self_attention("self-attention-averaged", self_averaged, ONE_THIRD),
    makers.self_attention("self-attention-three-gradients", self_three_gradients, NUMBER),
    makers.cross_attention("cross-attention-without-values", cross_without_values, VALUE, MISSING),
    makers.cross_attention("cross-attention-averaged", cross_averaged,
            ("half", "averag", "mean", "halv", "0.5", "1/2", "divid", "factor 2", "twice")),
    makers.cross_attention("cross-attention-swapped", cross_swapped, SWAPPED),
]
