"""The residual: post-norm dx = dz + sublayer(dropout(dz)) with dz = norm(dy); pre-norm dx = dy + norm(sublayer(dropout(dy)))."""

from minitransformer.backend import Array
from minitransformer.functional import dropout_backward
from minitransformer_course.doctor.mistakes import teach
from minitransformer_course.doctor.terms import terms

PATHS = "dropout_sum_backward(dy, cache.dropout)"
teach("Residual", {
    "the dropout is skipped in the residual's backward: its mask is not applied": (PATHS, "(dy, dy)"),
    "the dropout mask is applied twice in the residual's backward": ("self.sublayer.backward(dh", (
        "self.sublayer.backward(dropout_sum_backward(dh, cache.dropout)[1]")),
    "the dropout mask is applied to the residual path (skip connection, shortcut) too, not only to the sub-layer's":
        ("dh = self.sublayer", "dy = dh\n        dh = self.sublayer"),
    "the dropout mask is applied after the sub-layer's backward, not before it: the wrong order":
        (PATHS, "(dy, dy)", "else (dh,)", "else (dh,)\n        dh = dropout_sum_backward(dh, cache.dropout)[1]"),
    "the residual path (skip connection, shortcut) takes dy before the LayerNorm's backward, not after it: the norm is missing on it":
        ("if not self.pre_norm:", "upstream = dy\n        if not self.pre_norm:", "dx = dy + dh", "dx = upstream + dh"),
    "the residual path (skip connection, shortcut) goes through the LayerNorm's backward too, but it goes around it":
        ("dh = self.norm.backward(dh, cache.norm)", "dh = self.norm.backward(dh + dy, cache.norm) - dy"),
    "pre-norm and post-norm are mixed up: the LayerNorm's backward is in the wrong place": ("self.pre_norm", "(not self.pre_norm)")})


@terms("Residual")
def parts(self, dy, cache) -> dict[str, dict[str, Array]]:
    if not self.pre_norm:
        dy = self.norm.backward(dy, cache.norm)
    dh = self.sublayer.backward(dropout_backward(dy, cache.dropout), cache.sublayer)
    dh = dh[0] if isinstance(dh, tuple) else dh
    if self.pre_norm:
        dh = self.norm.backward(dh, cache.norm)
    return {"x": {"dy (the residual path, skip connection, shortcut)": dy, "of the sub-layer's path": dh}}
