"""A constituency tree as a sequence of brackets, and back (Vinyals et al. 2015,
https://arxiv.org/abs/1412.7449, section 2.3).
"""

from typing import Any, NamedTuple

WORD = "XX"  # stands for each word, whatever its tag
MAX_DEPTH = (
    200  # brackets inside one another; the deepest tree of the Penn Treebank has a sixth of them
)


class NotATree(ValueError):
    """Brackets that are not a tree; the message says why."""


class Tree(NamedTuple):
    """A phrase with its parts, or a tag with its word: Tree("NP", (Tree("DT", ("the",)), Tree("NN",
    ("cat",)))).
    """

    label: str
    children: tuple[Any, ...]  # Trees; of a tag: (word,)

    @property
    def is_tag(self) -> bool:
        return isinstance(self.children[0], str)

    @property
    def leaves(self) -> list["Tree"]:
        """The tags with their words, in the order of the sentence."""
        return [self] if self.is_tag else [leaf for child in self.children for leaf in child.leaves]

    @property
    def words(self) -> list[str]:
        return [leaf.children[0] for leaf in self.leaves]

    @property
    def tags(self) -> list[str]:
        return [leaf.label for leaf in self.leaves]

    def __str__(self) -> str:
        """As the Penn Treebank writes it, on one line: (NP (DT the) (NN cat))."""
        return f"({self.label} {' '.join(map(str, self.children))})"


def linearise(tree, tags=False) -> list[str]:
    """The cat sat: (S (NP XX XX )NP (VP XX )VP )S as a list of symbols; with `tags` (S (NP DT NN
    )NP (VP VBD )VP )S.
    """
    if tree.is_tag:
        return [tree.label if tags else WORD]
    inside = [symbol for child in tree.children for symbol in linearise(child, tags)]
    return [f"({tree.label}", *inside, f"){tree.label}"]


def build_tree(symbols, words, tags) -> Tree:
    """The Tree of a sequence of symbols over `words` with their `tags`.

    Raises NotATree unless the brackets match and one other symbol stands for each of the words.
    """
    stack: list[tuple[str, list]] = [
        ("", [])
    ]  # (label, children) of the open brackets, after one for the whole
    place = 0
    for symbol in symbols:
        label, children = stack[-1]
        if symbol[0] not in "()":
            if place == len(words):
                raise NotATree(f"it has more than the {len(words)} words of its sentence")
            children.append(Tree(tags[place], (words[place],)))
            place += 1
        elif symbol[0] == "(":
            if len(stack) > MAX_DEPTH:
                raise NotATree(f"it has more than {MAX_DEPTH} brackets inside one another")
            stack.append((symbol[1:], []))
        elif len(stack) == 1:
            raise NotATree(f"{symbol} closes a bracket that was never opened")
        elif symbol[1:] != label:
            raise NotATree(f"{symbol} closes ({label}")
        elif not children:
            raise NotATree(f"({label} {symbol} holds nothing")
        else:
            stack.pop()
            stack[-1][1].append(Tree(label, tuple(children)))
    if len(stack) > 1:
        raise NotATree(f"({stack[-1][0]} is never closed")
    if place < len(words):
        raise NotATree(f"it has {place} words, its sentence {len(words)}")
    if len(stack[0][1]) != 1:
        raise NotATree(f"it is {len(stack[0][1])} trees, not one")
    return stack[0][1][0]
