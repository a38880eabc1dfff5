"""A constituency tree of a sentence, and its drawing in text."""

from collections.abc import Iterator
from typing import Any, NamedTuple

MAX_DEPTH = 200    # brackets inside one another; the deepest tree of the Penn Treebank has a sixth of them


class Tree(NamedTuple):
    """A phrase with its parts, or a tag with its word: Tree("NP", (Tree("DT", ("the",)), Tree("NN", ("cat",))))."""

    label: str
    children: tuple[Any, ...]    # Trees; of a tag: (word,)

    @property
    def is_tag(self) -> bool:
        return isinstance(self.children[0], str)

    def tags(self) -> Iterator["Tree"]:
        """The tags with their words, in the order of the sentence."""
        if self.is_tag:
            yield self
        else:
            for child in self.children:
                yield from child.tags()

    @property
    def words(self) -> list[str]:
        return [tag.children[0] for tag in self.tags()]

    def __str__(self) -> str:
        """As the Penn Treebank writes it, on one line: (NP (DT the) (NN cat))."""
        return f"({self.label} {' '.join(map(str, self.children))})"


def draw_tree(tree) -> str:
    """A line for each phrase, with its parts below it; a phrase of words alone has them beside it.

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
