"""Attention beside the paper's: additive scores, and the state that attends."""

from minitransformer_course.doctor.mistakes import teach

teach("additive_attention", {
    "the derivative of tanh (1 - tanh^2) is missing from the gradient of the scores' network":
        ("(1 - tanh * tanh) * weight", "weight + 0 * tanh"),
    "the weight w is missing from the gradients of query and key": ("(1 - tanh * tanh) * weight *", "(1 - tanh * tanh) *"),
    "the softmax is skipped in backward: dscores = dp":
        ("softmax_backward(dp, softmax)", "dp")})
teach("AttentionalState", {
    "the direct path of x is missing: only the path through the attention is returned": ("dh[..., d_memory:] + dx", "dx"),
    "the derivative of tanh is skipped in backward": (" * (1 - cache.tanh * cache.tanh)", ""),
    "the dropout is skipped in backward: its mask is not applied": ("dropout_backward(dy, cache.dropout)", "dy")})
