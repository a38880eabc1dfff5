"""A layer as text: the tree of its sub-layers, with the shapes and counts of their parameters."""

from minitransformer.layers.parameter import Parameter

SETTINGS = (bool, int, float, str)    # the types of the attributes that say how a layer computes
WIDTH = 110    # characters: a layer with less text takes one line


def as_tree(layer, members) -> str:
    """The text for a layer; members(layer): the (name, item) of its Parameters and sub-layers.

    An item that appears a second time is only named there, equal neighbours share one entry, and settings that are off (0, False)
    are left out:

        EncoderLayer, 49,984 parameters
          self_attention: SelfAttention(num_heads=4): query, key, value, output: Linear (64, 64), (64,)
          ...
    """
    return "\n".join(_layer(layer, members, {}, ""))


def _layer(layer, members, names, prefix) -> list[str]:
    """The lines of a layer; `names`: {id of an item already shown: its name there}."""
    head, items = f"{type(layer).__name__}{_settings(layer)}", list(members(layer))
    if all(isinstance(item, Parameter) for _, item in items):
        shapes = [_item(name, item, members, names, prefix)[0].removeprefix(f"{name} ") for name, item in items]
        return [f"{head} {', '.join(shapes)}".rstrip()]
    count = sum(item.data.size for item in layer.parameters().values() if id(item) not in names)
    groups = []    # [names, lines without the name] of equal neighbours
    for name, item in items:
        lines = _item(name, item, members, names, prefix)
        rest = [line.removeprefix(name).replace(f"{prefix}{name}.", "") for line in lines]
        if groups and groups[-1][1] == rest and groups[-1][0][-1].rpartition(".")[0] == name.rpartition(".")[0]:
            groups[-1][0].append(name)
        else:
            groups.append(([name], rest))
    children = [[_joined(found) + first, *more] for found, (first, *more) in groups]
    one = f"{head}: " + "; ".join(lines[0] for lines in children)
    if prefix and all(len(lines) == 1 for lines in children) and len(one) <= WIDTH:
        return [one]
    return [f"{head}, {count:,} parameters", *(f"  {line}" for lines in children for line in lines)]


def _item(name, item, members, names, prefix) -> list[str]:
    if id(item) in names:
        return [f"{name} = {names[id(item)].removeprefix(prefix)}"]
    names[id(item)] = prefix + name
    if isinstance(item, Parameter):
        return [f"{name} {item.shape}"]
    first, *rest = _layer(item, members, names, f"{prefix}{name}.")
    return [f"{name}: {first}", *rest]


def _joined(names) -> str:
    """layers.0, layers.1, ... as one."""
    if len(names) > 1 and names[0][-1].isdigit():
        return f"{names[0]} to {names[-1].rpartition('.')[2]}, each"
    return ", ".join(names)


def _settings(layer) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in vars(layer).items()
                      if isinstance(value, SETTINGS) and value and not name.startswith("_"))
    return f"({given})" if given else ""
