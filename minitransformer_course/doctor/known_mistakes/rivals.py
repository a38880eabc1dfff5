"""Attention of the rivals: additive scores, dot products without a scale, and the state that attends."""

from minitransformer_course.doctor.mistakes import teach

teach("additive_attention", {
    "the derivative of tanh (1 - tanh^2) is missing from the gradient of the scores' network":
        ("(1 - tanh * tanh) * weight", "weight + 0 * tanh"),
    "the derivative of tanh lacks its square: 1 - tanh in place of 1 - tanh^2": ("tanh * tanh)", "tanh)"),
    "the weight w is missing from the gradients of query and key": ("(1 - tanh * tanh) * weight *", "(1 - tanh * tanh) *"),
    "the softmax is skipped in backward: dscores = dp":
        ("softmax_backward(dp, softmax)", "dp"),
    "the gradients of query and key are averaged, not summed, over the pairs":
        ("da.sum(axis=-2), da.sum(axis=-3)", "da.mean(axis=-2), da.mean(axis=-3)"),
    "the gradient of the query is a mean over the keys, not a sum": ("da.sum(axis=-2)", "da.mean(axis=-2)"),
    "the gradient of the key is a mean over the queries, not a sum": ("da.sum(axis=-3)", "da.mean(axis=-3)"),
    "the weight's gradient is made from dp, before the softmax's backward":
        ("dweight = dscores", "dweight = dp"),
    "the weight's gradient is made from the derivative of tanh, not from tanh": ("@ tanh.reshape", "@ (1 - tanh * tanh).reshape")})
teach("DotProductAttention", {
    "the scores are divided by sqrt(d_k) in backward (a scale), but these dot products have none": (" * math.sqrt(dy.shape[2])", ""),
    "the memory is key and value, but the path through the key (dkey) is missing from its gradient": ("dkey + dvalue", "dvalue"),
    "the memory is key and value, but the path through the value (dvalue) is missing from its gradient": ("dkey + dvalue", "dkey"),
    "the memory's gradient is averaged, not added: divided by 2": ("dkey + dvalue", "(dkey + dvalue) / 2")})
teach("AdditiveAttention", {
    "the memory is key and value, but the path through the key is missing from its gradient":
        ("dmemory + self.key.backward(dk, cache.key)", "self.key.backward(dk, cache.key) * 0 + dmemory"),
    "the memory is key and value, but the path through the value (dvalue) is missing from its gradient":
        ("dmemory + self.key", "self.key")})
teach("AttentionalState", {
    "the direct path of x is missing: only the path through the attention is returned": ("dh[..., d_memory:] + dx", "dx"),
    "the path of x through the attention is missing: only the direct one is returned":
        ("dh[..., d_memory:] + dx", "dh[..., d_memory:]"),
    "the derivative of tanh is skipped in backward": (" * (1 - cache.tanh * cache.tanh)", ""),
    "the dropout is skipped in backward: its mask is not applied": ("dropout_backward(dy, cache.dropout)", "dy"),
    "the halves are swapped: the context comes first, x second, and backward has them the other way round":
        ("dh[..., :d_memory]", "dh[..., -d_memory:]", "dh[..., d_memory:] + dx", "dh[..., :-d_memory] + dx")})
