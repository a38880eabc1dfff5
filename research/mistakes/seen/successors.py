"""Mistakes in RMSNorm, SiLU, rotary positions and grouped queries."""

from research.mistakes.makers import edited
from research.mistakes.words import MISSING, SIGN

MODEL = dict(in_model="language-model-modern")
MISTAKES = [
    edited("rms-norm-mean-of-layer-norm", "rms_norm_backward", "(dn - normed", "(dn - dn.mean(axis=-1, keepdims=True) - normed",
           "rms-norm", ("LayerNorm",), **MODEL),
    edited("rms-norm-scale-constant", "rms_norm_backward", "dn - normed * through_scale", "dn", "rms-norm", ("n mean(dn * n)",),
           MISSING, **MODEL),
    edited("silu-product-rule", "silu_backward", "(1 + x * (1 - sigmoid))", "1", "silu", ("product rule", "derivative"), MISSING,
           in_model=""),
    edited("silu-sign", "silu_backward", "(1 + x", "(1 - x", "silu", SIGN, in_model=""),
    edited("rotary-turned-twice", "rotary_backward", "-sin", "sin", "rotary", ("forward",), **MODEL),
    edited("rotary-forgotten", "rotary_backward", "_turned(dy, cos, -sin, layout)", "dy", "rotary", ("rotation",), MISSING,
           in_model=""),
    edited("grouped-averaged", "grouped_attention_backward", "dkey, dvalue\n", "dkey / 3, dvalue / 3\n", "grouped-attention",
           ("averag", "divided"), in_model=""),
]
