"""Find the source of NaN or infinity: repeat the step and inspect every block."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minitransformer.backend import module_of
from minitransformer.layers.hooks import hooked
from minitransformer.layers.parameter import Parameter
from minitransformer.models.model import AnyBatch, Model
from minitransformer.training.step import add_gradients
from minitransformer.training.workers import OneWorker


def locate_non_finite(
    model: Model,
    workers: OneWorker,
    batches: Sequence[AnyBatch],
    seed: Sequence[int] | None,
    smoothing: float,
) -> tuple[str, str]:
    """The first block that turns finite values into NaN or infinity, in any process of `workers`.

    The gradients are zero afterwards. Returns (path, "forward" or "backward"), such as
    ("decoder.layers.0.feed_forward.inner", "forward"); ("the loss", "backward") if no block is the
    cause. The innermost block is named.
    """
    found, layers, shares = [], model.sublayers(), workers.shard(batches, seed)

    def look(
        path: str, direction: str, method: Callable[..., Any], *arguments: Any, **options: Any
    ) -> Any:
        gradients = [
            item.grad for item in vars(layers[path]).values() if isinstance(item, Parameter)
        ]
        received = _all_finite([*arguments, *gradients])
        result = method(*arguments, **options)
        # caches are not arrays
        made = [*(result if isinstance(result, tuple) else (result,)), *gradients]
        if not found and received and not _all_finite(made):
            found.append((path, direction))
        return result

    model.zero_grad()
    terms = sum(batch.terms for _, part, _ in shares for batch in part)
    with hooked(model, look):
        for _, part, rng in shares:  # all on this model: a replica has the same weights
            add_gradients(model, part, rng, terms=terms, smoothing=smoothing)
    model.zero_grad()
    found = [place for places in workers.gather(found[:1]) for place in places]
    return found[0] if found else ("the loss", "backward")


def _all_finite(values: Iterable[Any]) -> bool:
    """Arrays, including those in tuples of several outputs, but not those in caches, which are
    NamedTuples.
    """
    return all(
        _all_finite(value) if type(value) is tuple else module_of(value).isfinite(value).all()
        for value in values
        if type(value) is tuple or hasattr(value, "dtype")
    )
