"""The Penn Treebank (Marcus et al. 1993, https://aclanthology.org/J93-2004): its sample, and trees
as it writes them.
"""

import re
import zipfile
from io import BytesIO
from typing import Any

from research.experiments.parsing.brackets import MAX_DEPTH, NotATree, Tree
from minitransformer.data.registry import Corpus
from minitransformer.data.text_files import read_text, split_lines
from minitransformer.errors import InputError, counted

ROOTS = ("", "TOP", "ROOT", "S1")  # outermost labels that say only that a tree begins
EMPTY = "-NONE-"  # the tag of an element without a word, such as a trace
EXAMPLE = "(S (NP (DT the) (NN cat)) (VP (VBD sat)))"


def read_trees(path, read=read_text) -> list[Tree]:
    """The trees of a file, plain or .gz, whose text is `read(path)`, reduced to what this kind of
    parser should produce.

    Empty elements are left out, function tags and indices are cut off (NP-SBJ-1 is NP), and an
    outermost bracket without a label, or with TOP, ROOT or S1, is removed. A tree may cover several
    lines. Raises InputError, with the file and the line, for what is not a tree, and if there is
    none.
    """
    found: list[Any] = []
    stack: list[list] = []  # the open brackets: [label if it has one, a word or trees ...]
    begins = 0
    try:
        for number, line in enumerate(split_lines(read(path)), 1):
            for token in re.findall(r"[()]|[^\s()]+", line):
                begins = begins if stack else number
                if token == "(":
                    if len(stack) > MAX_DEPTH:
                        raise NotATree(f"more than {MAX_DEPTH} brackets inside one another")
                    stack.append([])
                elif not stack:
                    raise NotATree(
                        f"{token[:40]!r} stands outside all brackets, expected trees such as {EXAMPLE}"
                    )
                elif token != ")":
                    stack[-1].append(token)
                else:
                    tree = _close(stack.pop(), outermost=not stack)
                    (stack[-1] if stack else found).append(tree)
        if stack:
            raise NotATree(
                f"the tree that begins here lacks {counted(len(stack), 'closing bracket')}"
            )
    except NotATree as reason:
        raise InputError(f"{path}, line {begins}: {reason}") from None
    if not any(found):
        raise InputError(f"{path}: no tree with a word in it, expected trees such as {EXAMPLE}")
    return [tree for tree in found if tree]


def _close(parts, outermost) -> Any:
    """The reduced Tree of a complete bracket, or None if there is no word in it. `outermost`: it is
    not part of another.
    """
    label = parts.pop(0) if parts and isinstance(parts[0], str) else ""
    if not parts:
        raise NotATree(f"the bracket ({label[:40]}) is empty, expected a word or brackets in it")
    if word := next((part for part in parts if isinstance(part, str)), None):
        if len(parts) > 1:
            raise NotATree(
                f"the word {word[:40]!r} has no tag of its own, expected a bracket such as (NN {word[:40]})"
            )
        return Tree(label, (word,)) if label != EMPTY else None
    children = tuple(part for part in parts if part)
    if outermost and label in ROOTS and len(children) <= 1:
        return children[0] if children else None
    if not label:
        raise NotATree(
            f"a bracket without a label holds {counted(len(children), 'tree')}; does another lack its closing bracket?"
        )
    return Tree(category(label), children) if children else None


def category(label) -> str:
    """NP-SBJ-1, NP=2 and NP|NX are NP."""
    return re.split("[-=|]", label)[0] or label


def split_treebank(data) -> dict[str, bytes]:
    """NLTK's treebank.zip as files of 80, 10 and 10 % of its trees in the order of the newspaper,
    reduced, one on each line.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        names = sorted(
            name
            for name in archive.namelist()
            if re.fullmatch(r"treebank/combined/wsj_\d+\.mrg", name)
        )
        trees = [
            tree
            for name in names
            for tree in read_trees(name, lambda name: archive.read(name).decode("ascii"))
        ]
    valid, test = len(trees) * 8 // 10, len(trees) * 9 // 10
    parts = {"train": trees[:valid], "valid": trees[valid:test], "test": trees[test:]}
    return {
        f"{name}.trees": "".join(f"{tree}\n" for tree in part).encode()
        for name, part in parts.items()
    }


PTB = Corpus(
    task="parse",
    base="https://raw.githubusercontent.com/nltk/nltk_data/5db857e6f7df11eabb5e5665836db9ec8df07e28/packages/corpora/",
    terms="Terms of use: for non-commercial use only. It is the sample of the Penn Treebank, (C) LDC 1995, that NLTK passes on "
    "under fair use to illustrate its tools; see https://github.com/nltk/nltk_data",
    train=("train.trees",),
    valid=("valid.trees",),
    split=split_treebank,
    sha256={"treebank.zip": "9da92d76c3666cfb6cddeaed0f7e86b344cce0f0928a286d439e555f19c37399"},
)
