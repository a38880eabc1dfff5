"""The residual: post-norm dx = dz and dh = dropout(dz) with dz = norm(dy); pre-norm dx = dy and dh = dropout(dy)."""

from minitransformer_course.doctor.mistakes import teach

PATHS = "dropout_sum_backward(dy, cache.dropout)"
DROPPED = f"{PATHS}[1]"
teach("Residual", {
    "the dropout is skipped in the residual's backward: its mask is not applied": (PATHS, "(dy, dy)"),
    "the dropout mask is applied twice in the residual's backward":
        (PATHS, f"(dy, dropout_sum_backward({DROPPED}, cache.dropout)[1])"),
    "the dropout mask is applied to the residual path (skip connection, shortcut) too, not only to the sub-layer's":
        (PATHS, f"({DROPPED}, {DROPPED})"),
    "the residual path (skip connection, shortcut) takes dy before the LayerNorm's backward, not after it: the norm is missing on it":
        ("if not self.pre_norm:", "upstream = dy\n        if not self.pre_norm:", PATHS, f"(upstream, {DROPPED})")})


def step(name, returned="dh") -> str:
    """The lines of an EncoderLayer's or DecoderLayer's backward that go through one sub-layer and its residual."""
    return (f"dx, dh = self.{name}_residual.backward(dx, cache.{name}_residual)\n"
            f"        {returned} = self.{name}.backward(dh, cache.{name})\n"
            f"        dx = dx + self.{name}_residual.enter_backward(dh, cache.{name}_entered)")


for layer, names in {"EncoderLayer": ("self_attention", "feed_forward"),
                     "DecoderLayer": ("self_attention", "cross_attention", "feed_forward")}.items():
    for name in names:
        said, mask = name.replace("_", "-"), f"cache.{name}_residual.dropout"
        through, summed = f"self.{name}.backward(dh, cache.{name})", step(name).splitlines()[-1].strip()
        received = "dy" if name == "feed_forward" else "dx"    # feed-forward is the first in backward
        lines = step(name, "dh, dmemory" if name == "cross_attention" else "dh").replace("(dx", f"({received}", 1)
        teach(layer, {
            f"the backward of {name} and {name}_residual is not called (skipped): the gradient that they should receive is passed on as "
            "it is, without their derivative": (lines, f"dx = {received}"),
            f"the gradient that comes out of {name} and {name}_residual is not used (it is lost): what comes before them gets the dy that "
            f"{name}_residual received": (lines, f"before = {received}\n        {lines}\n        dx = before"),
            f"dy is added to the gradient that comes out of {name}_residual, as if there were a residual path (skip connection) around "
            f"{name}_residual": (lines, f"before = {received}\n        {lines}\n        dx = dx + before"),
            f"the residual path (skip connection, shortcut) around the {said} goes through the LayerNorm's backward too, but it goes "
            "around it": (summed, summed.replace("dx + ", "").replace("dh,", "dx + dh,")),
            f"the dropout mask is applied after the {said}'s backward, not before it: the wrong order":
                (through, through.replace("dh", "dx"), f"enter_backward(dh, cache.{name}",
                 f"enter_backward(dh * (1 if {mask}.mask is None else {mask}.mask), cache.{name}")})
