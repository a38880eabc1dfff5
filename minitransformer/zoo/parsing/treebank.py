"""Reading trees as the Penn Treebank writes them (Marcus et al. 1993, https://aclanthology.org/J93-2004)."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from minitransformer.data.text_files import read_text, split_lines
from minitransformer.errors import InputError
from minitransformer.zoo.parsing.tree import MAX_DEPTH, Tree

ROOTS = ("", "TOP", "ROOT", "S1")    # outermost labels that say only that a tree begins
EMPTY = "-NONE-"                     # the tag of an element without a word, such as a trace
EXAMPLE = "(S (NP (DT the) (NN cat)) (VP (VBD sat)))"


class Placed(NamedTuple):
    line: int    # in which the tree begins
    tree: Tree


def read_trees(path, read=read_text) -> list[Placed]:
    """The trees of a file, plain or .gz, whose text is `read(path)`, reduced to what this kind of parser should produce.

    Empty elements are left out, function tags and indices are cut off (NP-SBJ-1 is NP), and an outermost bracket
    without a label, or with TOP, ROOT or S1, is removed. A tree may cover several lines.
    Raises InputError, with the file and the line, for what is not a tree, and if there is none.
    """
    found = [Placed(line, cleaned) for line, tree in _read(read(path), path) if (cleaned := _cleaned(tree))]
    if not found:
        raise InputError(f"{path}: no tree with a word in it, expected trees such as {EXAMPLE}")
    return found


def _read(text, path) -> list[Placed]:
    """The trees as they are written, without the outermost bracket of ROOTS."""
    found: list[Placed] = []
    stack: list[tuple[int, list]] = []    # of the open brackets: (line, [label if it has one, children ...])
    for number, line in enumerate(split_lines(text), 1):
        def refuse(reason, number=number) -> InputError:
            return InputError(f"{path}, line {number}: {reason}")

        for token in re.findall(r"[()]|[^\s()]+", line):
            if token == "(":
                if len(stack) > 1 and not stack[-1][1]:
                    raise refuse("a bracket without a label; does the tree that begins in line "
                                 f"{stack[0][0]} lack a closing bracket?")
                if len(stack) > MAX_DEPTH:
                    raise refuse(f"more than {MAX_DEPTH} brackets inside one another")
                stack.append((number, []))
            elif not stack:
                raise refuse("a closing bracket without its opening one" if token == ")" else
                             f"{token[:40]!r} stands outside all brackets, expected trees such as {EXAMPLE}")
            elif token != ")":
                stack[-1][1].append(token)
            else:
                begin, parts = stack.pop()
                tree = _close(parts, bool(stack), refuse)
                if stack:
                    stack[-1][1].append(tree)
                else:
                    found.append(Placed(begin, tree))
    if stack:
        raise InputError(f"{path}, line {stack[0][0]}: the tree that begins here lacks {len(stack)} closing "
                         f"bracket{'' if len(stack) == 1 else 's'}")
    return found


def _close(parts, inside, refuse: Callable) -> Tree:
    """The tree of a complete bracket; `inside`: whether it is part of another."""
    label = parts.pop(0) if parts and isinstance(parts[0], str) else ""
    children = tuple(parts)
    if not children:
        raise refuse(f"the bracket ({label}) is empty, expected a word or brackets in it")
    if len(children) > 1 and (word := next((child for child in children if isinstance(child, str)), None)):
        raise refuse(f"the word {word[:40]!r} has no tag of its own, expected a bracket such as (NN {word[:40]})")
    if not inside and label in ROOTS and len(children) == 1 and isinstance(children[0], Tree):
        return children[0]
    if not label:
        raise refuse(f"a bracket without a label holds {len(children)} trees, expected 1")
    return Tree(label, children)


def _cleaned(tree) -> Any:
    """The Tree without empty elements and the phrases that hold nothing else, each label cut to its category; or None."""
    if tree.is_tag:
        return None if tree.label == EMPTY else tree
    children = tuple(child for child in map(_cleaned, tree.children) if child)
    return Tree(category(tree.label), children) if children else None


def category(label) -> str:
    """NP-SBJ-1, NP=2 and NP|NX are NP."""
    return re.split("[-=|]", label)[0] or label
