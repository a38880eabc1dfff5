"""The map that opens every chapter: you are here, and what of it is the reader's own."""


import matplotlib.pyplot as plt

from minitransformer.pictures import architecture
from minitransformer_course.judge.progress import PASSED, Progress

PARTS = {    # {part of the map: the exercises that make it the reader's own}
    "linear": ["linear_backward"],
    "embedding": ["embedding_backward"],
    "positions": ["sinusoids"],
    "softmax": ["softmax", "softmax_backward"],
    "attention": ["attention", "attention_backward"],
    "masks": ["causal_mask", "three_masks"],
    "heads": ["split_heads", "merge_heads"],
    "residual": ["residual_backward"],
    "layer_norm": ["layer_norm", "layer_norm_backward"],
    "feed_forward": ["feed_forward_backward"],
    "dropout": ["dropouts_backward"],
    "encoder": ["attention_backward", "residual_backward", "layer_norm_backward", "feed_forward_backward", "dropouts_backward",
                "post_norm_backward"],
    "decoder": ["decoder_layer", "memory_backward"],
    "loss": ["cross_entropy_backward", "smoothed_targets"],
    "adam": ["adam_step"],
    "decoding": ["nucleus", "beam_step", "ranked", "cached_step"],
}


def you_are_here(*parts) -> None:
    """Draw the map with this chapter's parts outlined, and those filled whose exercises pass in the current folder."""
    progress = Progress(".")
    own = [part for part, names in PARTS.items() if all(progress.of(name)["state"] == PASSED for name in names)]
    figure = plt.figure()
    axes = figure.add_axes((0, 0, 1, 1))
    architecture.draw(axes, here=parts, own=own)
    figure.set_size_inches(architecture.WIDTH, axes.get_ylim()[1])    # one unit is an inch
