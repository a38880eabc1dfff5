"""What the comparisons measure with: the plain loss, gradients, and whether arrays are alike."""

import numpy as np

from library import PAD, Classifier, fast

TOLERANCE = 1e-10


def unlike(got, expected, scale=0.0) -> str:
    """Empty if the arrays are alike, relative to the largest number or to `scale`."""
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    size = max(scale, float(np.abs(expected).max(initial=0)))
    error = float(np.abs(got - expected).max(initial=0))
    return "" if error <= TOLERANCE * size else f"differs by {error / (size or 1):.1e}"


def in_modes():
    """("textbook", a context) and ("fast", a context)."""
    yield "textbook", Plain()
    yield "fast", fast()


class Plain:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def log_likelihoods(logits, targets):
    return np.take_along_axis(log_softmax(logits), targets[..., None], axis=-1)[..., 0]


def plain_loss(model, logits, batch, smoothing):
    """(loss, negative log-likelihood), both summed over the terms."""
    of_classes = isinstance(model, Classifier)
    targets = batch.labels if of_classes else batch.next_target
    real = np.ones(targets.shape, bool) if of_classes else targets != PAD
    likelihood = (log_likelihoods(logits, targets) * real).sum()
    mean = (log_softmax(logits).mean(axis=-1) * real).sum()
    return -(1 - smoothing) * likelihood - smoothing * mean, -likelihood


def generator(wanted=True):
    return np.random.default_rng(3) if wanted else None


def gradients(model, batch, scale=1.0, dropout=True, smoothing=0.1):
    """(loss, {name: gradient}) of what runs; the gradients are zero before and after."""
    model.zero_grad()
    sums, cache = model.loss_forward(batch, rng=generator(dropout), smoothing=smoothing)
    model.loss_backward(scale, cache)
    found = {name: parameter.grad.copy() for name, parameter in model.parameters().items()}
    model.zero_grad()
    return float(sums.loss), found


def unlike_gradients(what, got, expected):
    """One line for all gradients that differ."""
    if set(got) != set(expected):
        yield f"gradients {what}: other names, {sorted(set(got) ^ set(expected))[:4]}"
        return
    scale = max((float(np.abs(one).max(initial=0)) for one in expected.values()), default=0)
    wrong = {
        name: problem for name in expected if (problem := unlike(got[name], expected[name], scale))
    }
    if wrong:
        shown = "; ".join(f"{name} {problem}" for name, problem in list(wrong.items())[:3])
        yield f"gradients {what}: {len(wrong)} of {len(expected)}, {shown}"
