"""Multi-head attention, and its use as self-attention and cross-attention."""

from collections.abc import Callable

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake
from minitransformer.diagnosis.terms import terms
from minitransformer.functional import attention_backward
from minitransformer.layers import MultiHeadAttention


def heads(split=None, merge=None, gradients=lambda dq, dk, dv: (dq, dk, dv), returned=lambda q, k, v: (q, k, v)) -> Callable:
    """A backward of MultiHeadAttention with its split, merge, the heads' or the returned gradients replaced."""
    def wrong(self, dy, cache) -> tuple[Array, Array, Array]:
        do_split, do_merge = split or type(self).split, merge or type(self).merge
        dheads = do_split(self, self.output.backward(dy, cache.output))
        dq, dk, dv = (do_merge(self, d) for d in gradients(*attention_backward(dheads, cache.attention)))
        return returned(self.query.backward(dq, cache.query), self.key.backward(dk, cache.key),
                        self.value.backward(dv, cache.value))
    return wrong


def split_untransposed(self, x) -> Array:
    batch, length, width = x.shape
    return x.reshape(batch, self.num_heads, length, width // self.num_heads)


def merge_untransposed(self, x) -> Array:
    batch, count, length, d = x.shape
    return x.reshape(batch, length, count * d)


def split_interleaved(self, x) -> Array:
    batch, length, width = x.shape
    return x.reshape(batch, length, width // self.num_heads, self.num_heads).transpose(0, 3, 1, 2)


def merge_interleaved(self, x) -> Array:
    batch, count, length, d = x.shape
    return x.transpose(0, 2, 3, 1).reshape(batch, length, count * d)


def same(*gradients) -> bool:
    """Whether they have the same shape: only then can they be swapped."""
    return len({g.shape for g in gradients}) == 1


REVERSED = (lambda self, x: MultiHeadAttention.merge(self, x[:, ::-1]))
for sentence, wrong in (
        ("the heads are merged in the wrong order of axes: heads and positions are not swapped back (the transpose is "
         "missing) before the reshape",
         heads(merge=merge_untransposed)),
        ("the heads are split in the wrong order of axes: heads and positions are not swapped (the transpose is "
         "missing) after the reshape",
         heads(split=split_untransposed)),
        ("the heads are split and merged in the wrong order of axes: the transpose of heads and positions is missing "
         "in both",
         heads(split=split_untransposed, merge=merge_untransposed)),
        ("the heads are split interleaved in backward: (d, H) in place of (H, d) in the reshape, the wrong order of "
         "axes", heads(split=split_interleaved)),
        ("the heads are merged interleaved in backward: (d, H) in place of (H, d) in the reshape, the wrong order of "
         "axes", heads(merge=merge_interleaved)),
        ("the heads are split and merged interleaved in backward: (d, H) in place of (H, d), the wrong order of axes",
         heads(split=split_interleaved, merge=merge_interleaved)),
        ("the heads are merged in reversed order in backward", heads(merge=REVERSED)),
        ("the gradients of query and key are swapped between the heads and the linear layers",
         heads(gradients=lambda dq, dk, dv: (dk, dq, dv) if same(dq, dk) else (dq, dk, dv))),
        ("the gradients of key and value are swapped between the heads and the linear layers",
         heads(gradients=lambda dq, dk, dv: (dq, dv, dk) if same(dk, dv) else (dq, dk, dv))),
        ("the gradient of the query (dquery) does not reach its linear layer: it is missing (zero)",
         heads(gradients=lambda q, k, v: (0 * q, k, v))),
        ("the gradient of the key (dkey) does not reach its linear layer: the path through the keys is missing (zero)",
         heads(gradients=lambda q, k, v: (q, 0 * k, v))),
        ("the gradient of the value (dvalue) does not reach its linear layer: the path through the values is missing "
         "(zero)", heads(gradients=lambda q, k, v: (q, k, 0 * v))),
        ("the heads' gradients are divided by the number of heads (averaged over heads)",
         heads(gradients=lambda q, k, v: tuple(g / q.shape[1] for g in (q, k, v)))),
        ("only the first head gets a gradient", heads(gradients=lambda q, k, v: tuple(_only(g, 0) for g in (q, k, v)))),
        ("only the last head gets a gradient", heads(gradients=lambda q, k, v: tuple(_only(g, -1) for g in (q, k, v)))),
        ("every head gets the gradient averaged over the heads",
         heads(gradients=lambda q, k, v: tuple(np.broadcast_to(g.mean(axis=1, keepdims=True), g.shape) for g in (q, k, v)))),
        ("the gradients of query and key are returned in the wrong order (swapped)",
         heads(returned=lambda q, k, v: (k, q, v) if same(q, k) else (q, k, v))),
        ("the gradients of key and value are returned in the wrong order (swapped)",
         heads(returned=lambda q, k, v: (q, v, k) if same(k, v) else (q, k, v))),
        ("the gradients of key and value are added up, and their sum is returned for both",
         heads(returned=lambda q, k, v: (q, k + v, k + v))),
        ("the sum of all three gradients is returned for each of query, key and value",
         heads(returned=lambda q, k, v: (q + k + v,) * 3))):
    mistake("MultiHeadAttention", sentence)(wrong)


def _only(gradient, head) -> Array:
    kept = np.zeros_like(gradient)
    kept[:, head] = gradient[:, head]
    return kept


def combined(combine) -> Callable:
    """A backward of self-attention or cross-attention that combines the three gradients differently."""
    return lambda self, dy, cache: combine(*MultiHeadAttention.backward(self, dy, cache))


def weighted(query, key, value) -> Callable:
    return lambda q, k, v: query * q + key * k + value * v


def memory_weighted(key, value) -> Callable:
    return lambda q, k, v: (q, key * k + value * v)


FACTORS = {"missing (forgotten)": 0, "counted twice (doubled)": 2, "subtracted (wrong sign)": -1}
for what, f in FACTORS.items():
    for place, name in enumerate(("query", "key", "value")):
        factors = [f if place == i else 1 for i in range(3)]
        mistake("SelfAttention",
                f"x is query, key and value, but the path through the {name} (d{name}) is {what} in the sum")(
            combined(weighted(*factors)))
    for place, name in enumerate(("key", "value")):
        factors = [f if place == i else 1 for i in range(2)]
        mistake("CrossAttention",
                f"the memory is key and value, but the path through the {name} (d{name}) is {what} in its gradient")(
            combined(memory_weighted(*factors)))
for name, only in {"query": (1, 0, 0), "key": (0, 1, 0), "value": (0, 0, 1)}.items():
    mistake("SelfAttention",
            f"x is query, key and value, but only the path through the {name} (d{name}) is returned; the two others "
            "are missing")(
        combined(weighted(*only)))
mistake("SelfAttention",
        "the three gradients are averaged, not added: divided by 3")(combined(lambda q, k, v: (q + k + v) / 3))
for sentence, combine in (
        ("the memory's gradient is averaged, not added: divided by 2", lambda q, k, v: (q, (k + v) / 2)),
        ("the memory's gradient (dkey + dvalue, the paths through key and value) is missing: it is zero",
         lambda q, k, v: (q, 0 * k)),
        ("the gradient of x (dquery, the path through the query) is missing: it is zero",
         lambda q, k, v: (0 * q, k + v)),
        ("the gradients of x and memory are swapped: returned in the wrong order",
         lambda q, k, v: (k + v, q) if same(q, k) else (q, k + v)),
        ("the query's gradient goes to the memory and the key's to x: they are swapped",
         lambda q, k, v: (k, q + v) if same(q, k) else (q, k + v))):
    mistake("CrossAttention", sentence)(combined(combine))


@mistake("SelfAttention",
         "dy is added to dx: the residual connection is not part of the attention, so its path is counted here too")
def with_residual(self, dy, cache) -> Array:
    return sum(MultiHeadAttention.backward(self, dy, cache)) + dy


@terms("SelfAttention")
def parts(self, dy, cache) -> dict[str, dict[str, Array]]:
    dquery, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return {"x": {"dquery (the path through the query)": dquery, "dkey (the path through the key)": dkey,
                  "dvalue (the path through the value)": dvalue}}


@terms("CrossAttention")
def memory_parts(self, dy, cache) -> dict[str, dict[str, Array]]:
    _, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return {"memory": {"dkey (the path through the key)": dkey, "dvalue (the path through the value)": dvalue}}
