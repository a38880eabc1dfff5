"""The residual: post-norm dx = dz + sublayer(dropout(dz)) with dz = norm(dy); pre-norm dx = dy + norm(sublayer(dropout(dy)))."""

from collections.abc import Callable

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake
from minitransformer.diagnosis.terms import terms
from minitransformer.functional import dropout_backward


def residual(shortcut=1, branch=1, norm=True, dropout=1, others=1, unnormed=False, shortcut_dropout=False,
             shortcut_normed=False, other_order=False) -> Callable:
    """A backward of Residual with some of its steps left out, doubled or moved."""
    def wrong(self, dy, cache) -> Array | tuple:
        upstream = dy
        pre_norm = self.pre_norm != other_order
        if not pre_norm and norm:
            dy = self.norm.backward(dy, cache.norm)
        dh = dy
        for _ in range(dropout):
            dh = dropout_backward(dh, cache.dropout)
        direct = upstream if unnormed else dh if shortcut_dropout else dy
        dh = self.sublayer.backward(dh, cache.sublayer)
        dh, *dothers = dh if isinstance(dh, tuple) else (dh,)
        if pre_norm and norm:
            if shortcut_normed:
                return _returned(self.norm.backward(dh + direct, cache.norm), dothers)
            dh = self.norm.backward(dh, cache.norm)
        return _returned(shortcut * direct + branch * dh, [others * d for d in dothers])
    return wrong


def _returned(dx, others) -> Array | tuple:
    return (dx, *others) if others else dx


for sentence, wrong in (
        ("the residual path (skip connection, shortcut) is missing: dx lacks dy itself, only the sub-layer's gradient "
         "is returned", residual(shortcut=0)),
        ("the residual path (skip connection, shortcut) is counted twice (doubled): dy is added two times",
         residual(shortcut=2)),
        ("the residual path (skip connection, shortcut) has the wrong sign: dy is subtracted, not added",
         residual(shortcut=-1)),
        ("the sub-layer's gradient does not reach dx: only the residual path (skip connection, shortcut) is returned",
         residual(branch=0)),
        ("the sub-layer's gradient is counted twice (doubled) in dx", residual(branch=2)),
        ("the sub-layer's gradient has the wrong sign: it is subtracted from the residual path, not added",
         residual(branch=-1)),
        ("the residual's two paths are averaged, not added: divided by 2 (halved)", residual(shortcut=0.5, branch=0.5)),
        ("the LayerNorm is skipped in the residual's backward", residual(norm=False)),
        ("the dropout is skipped in the residual's backward: its mask is not applied", residual(dropout=0)),
        ("the dropout mask is applied twice in the residual's backward", residual(dropout=2)),
        ("the dropout mask is applied to the residual path (skip connection, shortcut) too, not only to the "
         "sub-layer's", residual(shortcut_dropout=True)),
        ("the residual path (skip connection, shortcut) takes dy before the LayerNorm's backward, not after it: the "
         "norm is missing on it", residual(unnormed=True)),
        ("the residual path (skip connection, shortcut) goes through the LayerNorm's backward too, but it goes around "
         "it", residual(shortcut_normed=True)),
        ("pre-norm and post-norm are mixed up: the LayerNorm's backward is in the wrong place",
         residual(other_order=True)),
        ("the gradients of the sub-layer's other inputs (the memory) are missing: zero", residual(others=0)),
        ("the gradients of the sub-layer's other inputs (the memory) are counted twice (doubled)", residual(others=2))):
    mistake("Residual", sentence)(wrong)


@mistake("Residual", "the dropout mask is applied after the sub-layer's backward, not before it: the wrong order")
def dropout_last(self, dy, cache) -> Array | tuple:
    if not self.pre_norm:
        dy = self.norm.backward(dy, cache.norm)
    dh = self.sublayer.backward(dy, cache.sublayer)
    dh, *dothers = dh if isinstance(dh, tuple) else (dh,)
    dh = dropout_backward(dh, cache.dropout)
    if self.pre_norm:
        dh = self.norm.backward(dh, cache.norm)
    return _returned(dy + dh, dothers)


@mistake("Residual", "the LayerNorm's backward is called twice: the second call adds to gamma and beta again")
def norm_twice(self, dy, cache) -> Array | tuple:
    if not self.pre_norm:
        self.norm.backward(dy, cache.norm)
    return residual()(self, dy, cache)


@terms("Residual")
def parts(self, dy, cache) -> dict[str, dict[str, Array]]:
    if not self.pre_norm:
        dy = self.norm.backward(dy, cache.norm)
    dh = self.sublayer.backward(dropout_backward(dy, cache.dropout), cache.sublayer)
    dh = dh[0] if isinstance(dh, tuple) else dh
    if self.pre_norm:
        dh = self.norm.backward(dh, cache.norm)
    return {"x": {"dy (the residual path, skip connection, shortcut)": dy, "of the sub-layer's path": dh}}
