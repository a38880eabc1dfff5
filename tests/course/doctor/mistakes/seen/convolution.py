"""Mistakes in convolutions, gates, and the rivals' attention."""

from tests.course.doctor.mistakes.makers import CONVOLUTIONAL, RECURRENT, edited
from tests.course.doctor.mistakes.words import MISSING, SIGN, SWAPPED

CONVOLUTION = CONVOLUTIONAL + "convolution:Convolution.backward"
SEPARABLE = CONVOLUTIONAL + "separable:SeparableConvolution.backward"
STATE = RECURRENT + "attentional_state:AttentionalState.backward"
CONV, ATTENDING = dict(in_model="convolutional-model"), dict(in_model="lstm-attention-model")
MISTAKES = [
    edited("windows-flipped", "windows_backward", "dy[:, :, k]", "dy[:, :, size - 1 - k]", "convolution", ("flip", "revers"),
           **CONV),
    edited("windows-shifted", "windows_backward", "left:left + length", ":length", "convolution", ("shift", "cut off"), **CONV),
    edited("windows-assigned", "windows_backward", "] += dy", "] = dy", "convolution", ("=", "only"), **CONV),
    edited("windows-one-place", "windows_backward", "range(size)", "range(1, size)", "convolution", ("first",), MISSING, **CONV),
    edited("windows-dilation", "windows_backward", "dilation * k:dilation * k + length", "k:k + length", "convolution",
           ("dilation",), in_model=""),
    edited("convolution-kernel-gradient-flipped", "convolution_backward", "dweight.reshape(weight.shape)",
           "dweight.reshape(weight.shape)[::-1]", "convolution", ("flip", "revers"), **CONV),
    edited("convolution-kernel-flipped", "convolution_backward", "@ weight.reshape", "@ weight[::-1].reshape", "convolution",
           ("flip", "revers"), **CONV),
    edited("convolution-kernel-averaged", "convolution_backward", "rows.T @ drows", "rows.T @ drows / len(rows)", "convolution",
           ("divided", "averag"), **CONV),
    edited("convolution-mask-forgotten", CONVOLUTION, "dx if cache.mask is None else dx * cache.mask", "dx", "convolution",
           ("mask", "padding"), MISSING, **CONV),
    edited("convolution-bias-forgotten", CONVOLUTION, "self.bias.grad +=", "0 *", "convolution", ("bias",), MISSING, **CONV),
    edited("separable-kernel-flipped", "depthwise_convolution_backward", "dweight\n", "dweight[::-1]\n", "separable-convolution",
           ("flip", "revers"), in_model=""),
    edited("separable-mask-forgotten", SEPARABLE, "dx if cache.mask is None else dx * cache.mask", "dx", "separable-convolution",
           ("mask", "padding"), MISSING, in_model=""),
    edited("glu-gate-derivative", "glu_backward", "* gate * (1 - gate)", "", "glu", ("sigmoid",), MISSING, **CONV),
    edited("glu-a-forgotten", "glu_backward", "dy * a * gate", "dy * gate", "glu", ("a",), MISSING, **CONV),
    edited("glu-gate-forgotten", "glu_backward", "[dy * gate", "[dy", "glu", ("gate",), MISSING, **CONV),
    edited("glu-halves", "glu_backward", "[dy * gate, dy * a * gate * (1 - gate)]", "[dy * a * gate * (1 - gate), dy * gate]",
           "glu", SWAPPED, **CONV),
    edited("glu-sign", "glu_backward", "dy * a * gate", "-dy * a * gate", "glu", SIGN, **CONV),
    edited("gated-convolution-dropout", CONVOLUTIONAL + "gated:GatedConvolution.backward", "dropout_backward(dh, cache.dropout)",
           "dh", "gated-convolution", ("dropout",), MISSING, in_model=""),
    edited("tanh-forgotten", STATE, " * (1 - cache.tanh * cache.tanh)", "", "attentional-state", ("tanh",), MISSING, **ATTENDING),
    edited("additive-tanh-forgotten", "additive_attention_backward", "(1 - tanh * tanh) * weight", "weight + 0 * tanh",
           "additive-attention", ("tanh",), MISSING, **ATTENDING),
    edited("additive-softmax-forgotten", "additive_attention_backward", "softmax_backward(dp, softmax)", "dp", "additive-attention",
           ("softmax",), MISSING, **ATTENDING),
    edited("additive-weight-forgotten", "additive_attention_backward", "* weight *", "*", "additive-attention", ("weight", "w"),
           MISSING, **ATTENDING),
    edited("dot-product-scaled", "minitransformer.zoo.attention.unscaled:DotProductAttention.backward", " * math.sqrt(dy.shape[2])", "",
           "dot-product-attention", ("sqrt", "square root"), in_model="lstm-dot-attention-model"),
    edited("attentional-state-direct-path", STATE, "dh[..., d_memory:] + dx", "dx", "attentional-state", ("direct", "path"),
           MISSING, **ATTENDING),
    edited("attentional-state-dropout", STATE, "dropout_backward(dy, cache.dropout)", "dy", "attentional-state", ("dropout",),
           MISSING, in_model=""),
]
