"""A layer as text: the tree of its sub-layers, with the shapes and counts of their parameters."""

from minitransformer.layers.parameter import Parameter

SETTINGS = (bool, int, float, str)    # the types of the attributes that say how a layer computes


def as_tree(layer, members) -> str:
    """The text for a layer; members(layer): the (name, item) of its Parameters and sub-layers.

    An item that appears a second time is only named there, and equal neighbours in a list share one entry:

        FeedForward(activation='relu', dropout=0.0), 33,088 parameters
          inner: Linear, 16,640 parameters
            weight (64, 256)
            bias (256,)
          ...
    """
    return "\n".join(_lines(layer, members, {}))


def _lines(layer, members, names, prefix="") -> list[str]:
    """The lines of a layer; `names`: {id of an item already shown: its name there}."""
    count = sum(item.data.size for item in _parameters(layer, members, {}).values())
    lines = [f"{type(layer).__name__}{_settings(layer)}, {count:,} parameter{'' if count == 1 else 's'}"]
    groups = []    # [first name, last name, lines] of equal neighbours
    for name, item in members(layer):
        if id(item) in names:
            groups.append([name, name, [f"{_kind(item)}, shared with {names[id(item)]}"]])
            continue
        names[id(item)] = prefix + name
        shown = ([f"{item.shape}"] if isinstance(item, Parameter) else
                 _lines(item, members, names, f"{prefix}{name}."))
        if groups and name[-1].isdigit() and _same(groups[-1], name, shown):
            groups[-1][1] = name
        else:
            groups.append([name, name, shown])
    for first, last, (head, *rest) in groups:
        place = first if first == last else f"{first} to {last.rpartition('.')[2]}, each"
        lines.append(f"  {place} {head}" if head[0] == "(" else f"  {place}: {head}")
        lines += [f"  {line}" for line in rest]
    return lines


def _same(group, name, lines) -> bool:
    """Whether the `lines` of the item `name` repeat those of the previous group, from the same list."""
    def plain(lines, name) -> list[str]:
        return [line.replace(f"{name}.", "") for line in lines]

    first, _, shown = group
    return first.rpartition(".")[0] == name.rpartition(".")[0] and plain(shown, first) == plain(lines, name)


def _settings(layer) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in vars(layer).items()
                      if isinstance(value, SETTINGS) and not name.startswith("_"))
    return f"({given})" if given else ""


def _kind(item) -> str:
    return str(item.shape) if isinstance(item, Parameter) else type(item).__name__


def _parameters(layer, members, found) -> dict[int, Parameter]:
    """{id: Parameter} of all parameters below `layer`."""
    for _, item in members(layer):
        if isinstance(item, Parameter):
            found[id(item)] = item
        else:
            _parameters(item, members, found)
    return found
