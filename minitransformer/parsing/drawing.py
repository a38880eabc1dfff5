"""A tree as a drawing in text."""


def draw_tree(tree) -> str:
    """A line for each phrase, its parts below it; one that holds words only has them beside it.

        S
        ├─ NP  the cat
        └─ VP
           ├─ sat
           └─ PP ...
    """
    return "\n".join(_lines(tree))


def _lines(tree) -> list[str]:
    if tree.is_tag:
        return [tree.children[0]]
    if all(child.is_tag for child in tree.children):
        return [f"{tree.label}  {' '.join(tree.words)}"]
    lines = [tree.label]
    for child in tree.children:
        last = child is tree.children[-1]
        first, *rest = _lines(child)
        lines += [f"{'└─' if last else '├─'} {first}", *(f"{'  ' if last else '│ '} {line}" for line in rest)]
    return lines
