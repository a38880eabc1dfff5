"""Dropout: dx = dy mask, where the mask is 0 for dropped elements and 1 / (1 - rate) for the others."""

from minitransformer_course.doctor.mistakes import teach

RIGHT, SCALE, KEPT = "dy * cache.mask", "cache.mask.max(initial=1)", "(cache.mask > 0)"
teach("dropout", {sentence: (RIGHT, wrong) for sentence, wrong in {
    "the dropout mask is not applied in backward: dx = dy (the mask is forgotten, dropout is skipped)": "dy",
    "the dropout's scale is inverted: multiplied by 1 - rate, not divided by it": f"dy * {KEPT} / {SCALE}",
    "the dropout mask is not applied in backward, only its scale 1 / (1 - rate)": f"dy * {SCALE}",
    "the dropout mask is inverted: dropped elements get the gradient, kept ones get none, with the scale": f"dy * ~{KEPT} * {SCALE}",
    "the dropout mask is inverted (complement): dropped elements get the gradient, kept ones get none": f"dy * ~{KEPT}",
    "the scale is 1 / rate, not 1 / (1 - rate)": f"dy * {KEPT} / max(1 - 1 / {SCALE}, 1e-9)",
    "the scale is the rate, not 1 / (1 - rate)": f"dy * {KEPT} * (1 - 1 / {SCALE})",
    "one mask is shared by the whole batch: the first sentence's dropout mask is used for every one": f"{RIGHT}[:1]",
    "one mask is shared by the whole batch: the last sentence's dropout mask is used for every one": f"{RIGHT}[-1:]",
    "one mask is shared by all positions: the first position's dropout mask is used for every one": f"{RIGHT}[..., :1, :]",
    "the dropout mask is reversed or flipped along the last axis": f"{RIGHT}[..., ::-1]",
    "dropout is scaled by sqrt(1 / (1 - rate)), not 1 / (1 - rate)": f"{RIGHT} / {SCALE} ** 0.5"}.items()})
teach("dropout", {"the exact rate scales the gradient in backward, but the forward's mask has the rounded scale 256 / (256 - k)": (
    RIGHT, f"dy * {KEPT} / (1 - dropout_rate)")}, "dropout_rate")
