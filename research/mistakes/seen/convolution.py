"""Mistakes in convolutions, and in the attention of recurrent models."""

from research.mistakes.makers import CONVOLUTIONAL, RECURRENT, edited
from research.mistakes.words import MISSING

CONVOLUTION = CONVOLUTIONAL + "convolution:Convolution.backward"
STATE = RECURRENT + "attentional_state:AttentionalState.backward"
ALONE, ATTENDING = dict(in_model=""), dict(in_model="lstm-attention-model")
MISTAKES = [
    edited("windows-flipped", "windows_backward", "dy[:, :, k]", "dy[:, :, size - 1 - k]", "convolution",
           ("flip", "revers", "wrong way round"), **ALONE),
    edited("windows-shifted", "windows_backward", "left:left + length", ":length", "convolution",
           ("shift", "cut off", "left is ignored"), **ALONE),
    edited("windows-assigned", "windows_backward", "] += dy", "] = dy", "convolution", ("=", "only"), **ALONE),
    edited("windows-one-place", "windows_backward", "range(size)", "range(1, size)", "convolution", ("first",), MISSING, **ALONE),
    edited("windows-dilation", "windows_backward", "dilation * k:dilation * k + length", "k:k + length", "convolution",
           ("dilation",), in_model=""),
    edited("convolution-kernel-gradient-flipped", "convolution_backward", "dweight.reshape(weight.shape)",
           "dweight.reshape(weight.shape)[::-1]", "convolution", ("flip", "revers"), **ALONE),
    edited("convolution-kernel-flipped", "convolution_backward", "@ weight.reshape", "@ weight[::-1].reshape", "convolution",
           ("flip", "revers"), **ALONE),
    edited("convolution-kernel-averaged", "convolution_backward", "rows.T @ drows", "rows.T @ drows / len(rows)", "convolution",
           ("divided", "averag"), **ALONE),
    edited("convolution-bias-forgotten", CONVOLUTION, "self.bias.grad +=", "0 *", "convolution", ("bias",), MISSING, **ALONE),
    edited("separable-kernel-flipped", "depthwise_convolution_backward", "dweight\n", "dweight[::-1]\n", "separable-convolution",
           ("flip", "revers"), in_model=""),
    edited("tanh-forgotten", STATE, " * (1 - cache.tanh * cache.tanh)", "", "attentional-state", ("tanh",), MISSING, **ATTENDING),
    edited("additive-tanh-forgotten", "additive_attention_backward", "(1 - tanh * tanh) * weight", "(weight + 0 * tanh)",
           "additive-attention", ("tanh",), MISSING, **ATTENDING),
    edited("additive-softmax-forgotten", "additive_attention_backward", "softmax_backward(dp, softmax)", "dp", "additive-attention",
           ("softmax",), MISSING, **ATTENDING),
    edited("additive-weight-forgotten", "additive_attention_backward", "* weight *", "*", "additive-attention", ("weight", "w"),
           MISSING, **ATTENDING),
    edited("attentional-state-direct-path", STATE, "dh[..., d_memory:] + dx", "dx", "attentional-state", ("direct", "path", "term dh"),
           MISSING, **ATTENDING),
    edited("attentional-state-dropout", STATE, "dropout_backward(dy, cache.dropout)", "dy", "attentional-state", ("dropout",),
           MISSING, in_model=""),
]
