"""Cross-entropy: dlogits = (p - q) dloss, and 0 at padding; q has 1 - s on the target and s / V everywhere."""

from collections.abc import Callable

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake
from minitransformer.diagnosis.terms import terms


def gradient(dloss, cache, target=None, spread=None, real=None, p=None, targets=None) -> Array:
    """The right gradient with its parts replaced: the amounts subtracted at the target and everywhere."""
    size, s = cache.p.shape[-1], cache.smoothing
    target = 1 - s if target is None else target
    spread = s / size if spread is None else spread
    real = cache.real if real is None else real
    hot = np.arange(size) == (cache.targets if targets is None else targets)[..., None]
    return ((cache.p if p is None else p) - spread - target * hot) * real[..., None] * dloss


def everywhere(cache) -> Array:
    return np.ones_like(cache.real)


def sized(factor) -> Callable:
    return lambda dloss, c: gradient(dloss, c) * factor(c)


def smoothed(where) -> Callable:
    """Smoothing spread over the V - 1 other classes only."""
    return lambda dloss, c: gradient(dloss, c, spread=c.smoothing / (c.p.shape[-1] - 1), target=where(c.smoothing, c.p.shape[-1]))


for sentence, wrong in (
        ("the target is not subtracted: dlogits = p, not p - q (the one-hot is missing)",
         lambda d, c: gradient(d, c, 0, 0)),
        ("1 is not subtracted at the target: only the smoothing s / V is", lambda d, c: gradient(d, c, 0)),
        ("the label smoothing is forgotten: dlogits = p - one-hot", lambda d, c: gradient(d, c, 1, 0)),
        ("the label smoothing is forgotten everywhere but at the target: s / V is not subtracted",
         lambda d, c: gradient(d, c, spread=0)),
        ("the label smoothing is forgotten at the target: 1 is subtracted there, not 1 - s",
         lambda d, c: gradient(d, c, target=1)),
        ("the label smoothing is spread over V - 1 classes, not over V: s / (V - 1) on all",
         lambda d, c: gradient(d, c, spread=c.smoothing / (c.p.shape[-1] - 1))),
        ("the label smoothing is spread over V - 1 classes, all but the target: s / (V - 1), not over V",
         smoothed(lambda s, size: 1 - s - s / (size - 1))),
        ("the label smoothing is not divided by V: s is subtracted everywhere",
         lambda d, c: gradient(d, c, spread=c.smoothing)),
        ("the label smoothing is added, not subtracted (wrong sign)",
         lambda d, c: gradient(d, c, spread=-c.smoothing / c.p.shape[-1])),
        ("the label smoothing is swapped: s on the target and 1 - s spread",
         lambda d, c: gradient(d, c, target=c.smoothing, spread=(1 - c.smoothing) / c.p.shape[-1])),
        ("the label smoothing scales the whole gradient by 1 - s, and nothing is spread over the classes: p is not to "
         "be scaled",
         lambda d, c: (1 - c.smoothing) * gradient(d, c, 1, 0)),
        ("the label smoothing is applied twice (2 s)",
         lambda d, c: gradient(d, c, 1 - 2 * c.smoothing, 2 * c.smoothing / c.p.shape[-1])),
        ("padding is counted: it gets a gradient (the padding mask is missing)",
         lambda d, c: gradient(d, c, real=everywhere(c))),
        ("the padding mask is inverted: only padding gets a gradient", lambda d, c: gradient(d, c, real=~c.real)),
        ("the padding mask is applied to the one-hot only, not to p: padding gets a gradient",
         lambda d, c: gradient(d, c) + c.p * ~c.real[..., None] * d),
        ("the upstream gradient dloss is ignored (missing)", lambda d, c: gradient(1.0, c)),
        ("the upstream gradient dloss is applied twice (squared)", lambda d, c: gradient(d * d, c)),
        ("the gradient is divided by the number of real tokens (count): a mean, but the loss is a sum",
         sized(lambda c: 1 / int(c.count))),
        ("the gradient is divided by the number of real tokens (count) twice (squared)",
         sized(lambda c: 1 / int(c.count) ** 2)),
        ("the gradient is divided by all tokens, padding included (a mean), but the loss is a sum",
         sized(lambda c: 1 / c.targets.size)),
        ("the gradient is divided by the batch (averaged over sentences), but the loss is a sum",
         sized(lambda c: 1 / len(c.targets))),
        ("the gradient is divided by the length (averaged over positions), but the loss is a sum",
         sized(lambda c: 1 / c.targets.shape[-1])),
        ("the gradient is divided by the vocabulary's size V (a mean over classes)",
         sized(lambda c: 1 / c.p.shape[-1])),
        ("the gradient is multiplied by the number of real tokens (count)", sized(lambda c: int(c.count))),
        ("the wrong sign: q - p, not p - q (the gradient is the negative of the true one)", sized(lambda c: -1)),
        ("the softmax backward is applied to p - q once more (twice): p - q is already the gradient of the logits",
         lambda d, c: c.p * (gradient(d, c) - (gradient(d, c) * c.p).sum(axis=-1, keepdims=True))),
        ("the gradient of log p is used as that of the logits: -q / p, without the softmax",
         lambda d, c: (gradient(d, c) - c.p * c.real[..., None] * d) / c.p),
        ("the gradient is only at the target: the other classes get none",
         lambda d, c: gradient(d, c) * (np.arange(c.p.shape[-1]) == c.targets[..., None])),
        ("the gradient is only at the other classes: the target gets none",
         lambda d, c: gradient(d, c) * (np.arange(c.p.shape[-1]) != c.targets[..., None])),
        ("p is missing: dlogits = -q", lambda d, c: gradient(d, c, p=0)),
        ("p is multiplied into the gradient once more: p (p - q)", lambda d, c: c.p * gradient(d, c)),
        ("the targets are shifted by one position (off by one)",
         lambda d, c: gradient(d, c, targets=np.roll(c.targets, -1, -1))),
        ("the targets are shifted by one position the other way (off by one)",
         lambda d, c: gradient(d, c, targets=np.roll(c.targets, 1, -1))),
        ("the ids are off by one: 1 is subtracted at the class after the target",
         lambda d, c: gradient(d, c, targets=(c.targets + 1) % c.p.shape[-1])),
        ("the ids are off by one: 1 is subtracted at the class before the target",
         lambda d, c: gradient(d, c, targets=(c.targets - 1) % c.p.shape[-1])),
        ("the most likely class (argmax) is used as the target",
         lambda d, c: gradient(d, c, targets=c.p.argmax(axis=-1))),
        ("the target is added, not subtracted (wrong sign): p + q",
         lambda d, c: 2 * c.p * c.real[..., None] * d - gradient(d, c)),
        ("the gradient is counted twice (doubled): that of a squared error, 2 (p - q)", sized(lambda c: 2))):
    mistake("cross_entropy", sentence)(wrong)


def joint(dx=1.0, dweight=1.0) -> Callable:
    def wrong(dloss, cache) -> tuple[Array, Array]:
        x, weight, loss, _ = cache
        dlogits = gradient(dloss, loss).reshape(-1, len(weight))
        return dx * (dlogits @ weight).reshape(x.shape), dweight * (dlogits.T @ x.reshape(-1, x.shape[-1]))
    return wrong


for sentence, wrong in (
        ("the gradient of the weight (dweight) is missing: it is zero", joint(dweight=0)),
        ("the gradient of the hidden states (dx) is missing: it is zero", joint(dx=0)),
        ("the gradient of the weight (dweight) has the wrong sign", joint(dweight=-1)),
        ("the gradient of the hidden states (dx) has the wrong sign", joint(dx=-1)),
        ("the gradient of the weight (dweight) is counted twice (doubled)", joint(dweight=2)),
        ("the gradient of the hidden states (dx) is counted twice (doubled)", joint(dx=2))):
    mistake("linear_cross_entropy", sentence)(wrong)


@terms("cross_entropy")
def parts(dloss, cache) -> dict[str, dict[str, Array]]:
    size, s, real = cache.p.shape[-1], cache.smoothing, cache.real[..., None] * dloss
    hot = np.arange(size) == cache.targets[..., None]
    return {"logits": {"p": cache.p * real, "- (1 - s) at the target": -(1 - s) * hot * real,
                       "- s / V of the label smoothing": np.full(cache.p.shape, -s / size) * real}}
