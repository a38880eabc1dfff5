"""Cross-entropy: dlogits = (p - q) dloss, and 0 at padding; q has 1 - s on the target and s / V everywhere."""

import numpy as np

from minitransformer.backend import Array
from minitransformer_course.doctor.mistakes import teach
from minitransformer_course.doctor.terms import terms

SPREAD, TARGET, IDS, REAL = "smoothing / size", "-= 1 - smoothing", "targets.reshape(-1)", "real.reshape(-1, 1) *"
ROWS = "dlogits.reshape(p.shape)"
HOT = f"(np.arange(size) == {IDS}[:, None])"
teach("cross_entropy", {
    "the target is not subtracted: dlogits = p, not p - q (the one-hot is missing)": (SPREAD, "0", TARGET, "-= 0"),
    "the label smoothing is forgotten: dlogits = p - one-hot": (SPREAD, "0", TARGET, "-= 1"),
    "the label smoothing is forgotten at the target: 1 is subtracted there, not 1 - s": (TARGET, "-= 1"),
    "the label smoothing is spread over V - 1 classes, all but the target: s / (V - 1), not over V":
        (SPREAD, "smoothing / (size - 1)", TARGET, "-= 1 - smoothing - smoothing / (size - 1)"),
    "the label smoothing is swapped: s on the target and 1 - s spread": (SPREAD, "(1 - smoothing) / size", TARGET, "-= smoothing"),
    "the label smoothing scales the whole gradient by 1 - s, and nothing is spread over the classes: p is not to be scaled":
        (SPREAD, "0", TARGET, "-= 1", REAL, f"(1 - smoothing) * {REAL}"),
    "the label smoothing is applied twice (2 s)": (SPREAD, "2 * smoothing / size", TARGET, "-= 1 - 2 * smoothing"),
    "padding is counted: it gets a gradient (the padding mask is missing)": (REAL, ""),
    "the padding mask is inverted: only padding gets a gradient": (REAL, f"~{REAL}"),
    "the padding mask is applied to the one-hot only, not to p: padding gets a gradient":
        (ROWS, f"({ROWS} + p * ~real[..., None] * dloss)"),
    "the softmax backward is applied to p - q once more (twice): p - q is already the gradient of the logits":
        (ROWS, f"p * ({ROWS} - ({ROWS} * p).sum(axis=-1, keepdims=True))"),
    "the gradient of log p is used as that of the logits: -q / p, without the softmax":
        (ROWS, f"({ROWS} - p * real[..., None] * dloss) / p"),
    "the gradient is only at the target: the other classes get none": (ROWS, f"(dlogits * {HOT}).reshape(p.shape)"),
    "the gradient is only at the other classes: the target gets none": (ROWS, f"(dlogits * ~{HOT}).reshape(p.shape)"),
    "p is multiplied into the gradient once more: p (p - q)": (ROWS, f"p * {ROWS}"),
    "the targets are shifted by one position (off by one)": (IDS, "np.roll(targets, -1, -1).reshape(-1)"),
    "the targets are shifted by one position the other way (off by one)": (IDS, "np.roll(targets, 1, -1).reshape(-1)"),
    "the ids are off by one: 1 is subtracted at the class after the target": (IDS, f"({IDS} + 1) % size"),
    "the ids are off by one: 1 is subtracted at the class before the target": (IDS, f"({IDS} - 1) % size"),
    "the most likely class (argmax) is used as the target": (IDS, "p.argmax(axis=-1).reshape(-1)"),
    "the target is added, not subtracted (wrong sign): p + q": (ROWS, f"(2 * p * real[..., None] * dloss - {ROWS})")})


@terms("cross_entropy")
def parts(dloss, cache) -> dict[str, dict[str, Array]]:
    size, s, real = cache.p.shape[-1], cache.smoothing, cache.real[..., None] * dloss
    hot = np.arange(size) == cache.targets[..., None]
    return {"logits": {"p": cache.p * real, "- (1 - s) at the target": -(1 - s) * hot * real,
                       "- s / V of the label smoothing": np.full(cache.p.shape, -s / size) * real}}
