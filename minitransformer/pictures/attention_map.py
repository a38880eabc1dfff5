"""Which token attends to which while a trained model reads a text and answers it."""

from typing import TYPE_CHECKING, Any, NamedTuple

from minitransformer.backend import to_host
from minitransformer.errors import InputError, span
from minitransformer.tasks.task import Attended

if TYPE_CHECKING:
    from minitransformer.runs.run import Run

KINDS = ("encoder", "decoder", "cross")


class AttentionMap(NamedTuple):
    weights: Any  # (H, T_q, T_k), on the host
    queries: list  # tokens as text
    keys: list
    predicted: Any  # the token predicted at each query's position, or None
    kind: str  # one of KINDS
    layer: int


def attention_map(
    run: "Run", text: str, kind: str | None = None, layer: int | None = None
) -> AttentionMap:
    """The AttentionMap of one layer (default: the last) of run.model; `kind`: one of the kinds that
    the model has.

    Raises InputError for an empty text, a kind or a layer that does not exist, and a model without
    attention.
    """
    found = run.task.attention(run, text) if hasattr(run.model, "attention_weights") else {}
    if not found:
        raise InputError(f"{run.path}: this model has no attention to show")
    kind = kind or next(iter(found))
    if kind not in found:
        raise InputError(f"kind is {kind}, but this model's attention is {' or '.join(found)}")
    attended = Attended(*found[kind])
    layer = len(attended.weights) - 1 if layer is None else layer
    if not 0 <= layer < len(attended.weights):
        raise InputError(f"layer is {layer}, expected {span(0, len(attended.weights) - 1)}")
    return AttentionMap(to_host(attended.weights[layer][0]), *attended[1:], kind, layer)
