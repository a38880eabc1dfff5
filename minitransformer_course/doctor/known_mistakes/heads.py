"""Multi-head attention, and its use as self-attention and cross-attention."""

from minitransformer.backend import Array
from minitransformer.layers import MultiHeadAttention
from minitransformer_course.doctor.mistakes import teach
from minitransformer_course.doctor.terms import terms

OUTPUT = "self.output.backward(dy, cache.output)"
SPLIT, PARTS = f"self.split({OUTPUT})", "self.attend_backward(dheads, cache.attention)"
UNTRANSPOSED = f"{OUTPUT}.reshape(len(dy), self.num_heads, dy.shape[1], -1)"
INTERLEAVED = f"{OUTPUT}.reshape(*dy.shape[:2], -1, self.num_heads).transpose(0, 3, 1, 2)"


def merged(change) -> tuple[str, ...]:
    """The change of each of the three merges; of the head `d`."""
    return tuple(text for name in "qkv" for text in (f"self.merge(d{name})", change.replace("d.", f"d{name}.")))


AS_ROWS = merged("d.reshape(len(dy), d.shape[2], -1)")
MIXED = merged("d.transpose(0, 2, 3, 1).reshape(len(dy), d.shape[2], -1)")
teach("MultiHeadAttention", {
    "the heads are merged in the wrong order of axes: heads and positions are not swapped back (the transpose is missing) before the "
    "reshape": AS_ROWS,
    "the heads are split in the wrong order of axes: heads and positions are not swapped (the transpose is missing) after the reshape":
        (SPLIT, UNTRANSPOSED),
    "the heads are split and merged in the wrong order of axes: the transpose of heads and positions is missing in both":
        (SPLIT, UNTRANSPOSED, *AS_ROWS),
    "the heads are split interleaved in backward: (d, H) in place of (H, d) in the reshape, the wrong order of axes":
        (SPLIT, INTERLEAVED),
    "the heads are merged interleaved in backward: (d, H) in place of (H, d) in the reshape, the wrong order of axes": MIXED,
    "the heads are split and merged interleaved in backward: (d, H) in place of (H, d), the wrong order of axes":
        (SPLIT, INTERLEAVED, *MIXED),
    "the heads are merged in reverse order in backward": (PARTS, f"(one[:, ::-1] for one in {PARTS})"),
    "the gradients of query and key are swapped between the heads and the linear layers": ("dq, dk, dv =", "dk, dq, dv ="),
    "the gradients of key and value are swapped between the heads and the linear layers": ("dq, dk, dv =", "dq, dv, dk ="),
    "every head gets the gradient averaged over the heads":
        (PARTS, f"(0 * one + one.mean(axis=1, keepdims=True) for one in {PARTS})"),
    **{f"only the {which} head gets a gradient":
       (PARTS, f"(one * (np.arange(self.num_heads) == {place})[:, None, None] for one in {PARTS})")
       for which, place in (("first", "0"), ("last", "self.num_heads - 1"))},
    "the gradients of key and value are added up, and their sum is returned for both":
        ("return dquery, dkey, dvalue", "return dquery, dkey + dvalue, dkey + dvalue"),
    "the sum of all three gradients is returned for each of query, key and value":
        ("return dquery, dkey, dvalue", "return (dquery + dkey + dvalue,) * 3")})
RETURNED = "return dquery, dkey + dvalue"
teach("CrossAttention", {
    "the gradient of x (dquery, the path through the query) is missing: it is zero": (RETURNED, "return 0 * dquery, dkey + dvalue"),
    "the memory's gradient (dkey + dvalue, the paths through key and value) is missing: it is zero": (RETURNED, "return dquery, 0 * dkey"),
    "the query's gradient goes to the memory and the key's to x: they are swapped": (RETURNED, "return dkey, dquery + dvalue")})


@terms("SelfAttention")
def parts(self, dy, cache) -> dict[str, dict[str, Array]]:
    dquery, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return {"x": {"dquery (the path through the query)": dquery, "dkey (the path through the key)": dkey,
                  "dvalue (the path through the value)": dvalue}}


@terms("CrossAttention")
def memory_parts(self, dy, cache) -> dict[str, dict[str, Array]]:
    _, dkey, dvalue = MultiHeadAttention.backward(self, dy, cache)
    return {"memory": {"dkey (the path through the key)": dkey, "dvalue (the path through the value)": dvalue}}
