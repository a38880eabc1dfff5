"""What a Transformer's attention sees, and which gradients reach its layers, over some batches."""

import math
import re
from typing import Any

import numpy as np

from minitransformer import PAD
from minitransformer.cores import one_blas_thread

ATTENTION = ["spread", "entropy", "similarity"]


def measure(model, batches) -> dict[str, Any]:
    """The attention of each layer and the norm of its parameters' gradient, for the mean loss over
    `batches`, without dropout.
    """
    model.zero_grad()
    seen: dict[tuple[str, int], list] = {}
    with one_blas_thread:
        for batch in batches:
            sums, cache = model.loss_forward(batch, smoothing=0.1)
            model.loss_backward(1 / sum(batch.terms for batch in batches), cache)
            encoder, decoder = (
                cache.hidden.encode.encoder.layers,
                cache.hidden.decode.decoder.layers,
            )
            for i, (below, above) in enumerate(zip(encoder, decoder)):
                for kind, one, queries in (
                    ("encoder", below.self_attention, batch.source),
                    ("decoder", above.self_attention, batch.target),
                    ("cross", above.cross_attention, batch.target),
                ):
                    seen.setdefault((kind, i), []).append(_attention(one, queries != PAD))
    layers = range(model.config.num_layers)
    attention = {
        kind: np.array([np.mean(seen[kind, i], axis=0) for i in layers]).T
        for kind in ("encoder", "decoder", "cross")
    }
    gradient = {
        stack: [_norm(model, rf"{stack}\.layers\.{i}\.") for i in layers]
        for stack in ("encoder", "decoder")
    }
    gradient["cross-attention's query and key"] = [
        _norm(model, rf"layers\.{i}\.cross_attention\.(query|key)\.") for i in layers
    ]
    found = {
        what: {kind: values[j] for kind, values in attention.items()}
        for j, what in enumerate(ATTENTION)
    } | {"gradient": gradient}
    return {
        what: {kind: [float(f"{x:.3g}") for x in values] for kind, values in kinds.items()}
        for what, kinds in found.items()
    }


def _attention(cache, real) -> tuple[float, float, float]:
    """(spread of the scores, entropy of the weights, similarity of the positions) of a batch;
    `real` (B, T_q): not padding.

    Spread: the standard deviation over a query's keys, because softmax ignores what they have in
    common; root mean square over queries. Entropy: a share of its maximum, 1 if a query attends to
    all its keys alike, 0 if to one. Similarity: the mean cosine of two positions of a sentence, in
    what the queries are made of.
    """
    q, k, p = (
        cache.attention.query,
        cache.attention.key,
        cache.attention.softmax.p,
    )  # (B, H, T, d_k), p (B, H, T_q, T_k)
    allowed = (p > 0) & real[:, None, :, None]
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    count = allowed.sum(axis=-1)
    several = count > 1
    scores, p, allowed, count = (
        scores[several],
        p[several],
        allowed[several],
        count[several],
    )  # (rows, T_k)
    mean = np.where(allowed, scores, 0).sum(axis=-1) / count
    variance = np.where(allowed, (scores - mean[:, None]) ** 2, 0).sum(axis=-1) / count
    entropy = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1) / np.log(count)
    x = cache.query.x * real[..., None]  # (B, T_q, d_model)
    x = x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + 1e-12)
    length = real.sum(axis=1)
    cosine = ((x.sum(axis=1) ** 2).sum(axis=-1) - length) / (length * (length - 1))
    return math.sqrt(variance.mean()), entropy.mean(), cosine.mean()


def _norm(model, pattern) -> float:
    return math.sqrt(
        sum(
            float((p.grad**2).sum())
            for name, p in model.parameters().items()
            if re.search(pattern, name)
        )
    )
