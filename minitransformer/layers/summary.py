"""A layer as text: the tree of its sub-layers, with the shapes and counts of their parameters."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from minitransformer.errors import counted
from minitransformer.layers.parameter import Parameter

if TYPE_CHECKING:
    from minitransformer.layers.layer import Layer

SETTINGS = (bool, int, float, str)    # the types of the attributes that say how a layer computes


Members = Callable[["Layer"], Iterable[tuple[str, "Parameter | Layer"]]]


def as_tree(layer: "Layer", members: Members) -> str:
    """The text for a layer; members(layer): the (name, item) of its Parameters and sub-layers.

    An item that appears a second time is only named there, of equal neighbours in a list the first one is shown, and settings that
    are off (0, False) are left out:

        EncoderLayer, 49,984 parameters
          self_attention: SelfAttention(num_heads=4), 16,640 parameters
            query: Linear (64, 64), (64,)
            ...
    """
    return "\n".join(_layer(layer, members, {}, ""))


def _layer(layer: "Layer", members: Members, names: dict[int, str], prefix: str) -> list[str]:
    """The lines of a layer; `names`: {id of an item already shown: its name there}."""
    settings = ", ".join(f"{name}={value!r}" for name, value in vars(layer).items()
                         if isinstance(value, SETTINGS) and value and not name.startswith("_"))
    head, items = type(layer).__name__ + (f"({settings})" if settings else ""), list(members(layer))
    count = sum(item.data.size for item in layer.parameters().values() if id(item) not in names)
    found: dict[str, list[str]] = {}    # {name: its lines}
    for name, item in items:
        shown = names.setdefault(id(item), prefix + name)
        if shown != prefix + name:
            lines = [f"= {shown}"]
        else:
            lines = [str(item.shape)] if isinstance(item, Parameter) else _layer(item, members, names, f"{prefix}{name}.")
        stem, _, number = name.rpartition(".")
        before = next((one for one in reversed(found) if one.startswith(f"{stem}.")), "") if number.isdigit() else ""
        if found.get(before) == lines:
            found[f"{before.partition(' ')[0]} to {number}, each"] = found.pop(before)
        else:
            found[name] = lines
    if all(isinstance(item, Parameter) for _, item in items):
        return [f"{head} {', '.join(first for first, in found.values())}".rstrip()]
    return [f"{head}, {counted(count, 'parameter')}", *(f"  {line}" for name, (first, *rest) in found.items()
                                               for line in (f"{name}{': ' if first[0].isalpha() else ' '}{first}", *rest))]
