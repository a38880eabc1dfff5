"""Watching a model run changes nothing."""

import numpy as np

from minitransformer.layers.hooks import hooked
from tests.library.models.test_transformer import make


def test_watching_leaves_nothing_behind():
    model, seen = make(), []
    before = {path: dict(vars(layer)) for path, layer in model.sublayers().items()}
    with hooked(model, lambda path, _, method, *arguments, **more: seen.append(path) or method(*arguments, **more)):
        model.encode(np.array([[3, 4]]))
    assert "encoder.layers.0.self_attention.query" in seen
    assert {path: dict(vars(layer)) for path, layer in model.sublayers().items()} == before
