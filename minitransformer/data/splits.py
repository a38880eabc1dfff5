"""Splitting a corpus that comes in one piece, always in the same way: how many of its texts are for training."""

import re
import zipfile
from io import BytesIO

TRAIN_SHARE = 0.9


def split_characters(data) -> list[bytes]:
    """[the first 90 % of the characters of a text, the rest]."""
    text = data.decode()
    end = int(TRAIN_SHARE * len(text))
    return [text[:end].encode(), text[end:].encode()]


def split_treebank(data) -> list[bytes]:
    """NLTK's treebank.zip as [80 %, 10 %, 10 %] of its trees in the order of the newspaper, one on each line."""
    trees = []
    with zipfile.ZipFile(BytesIO(data)) as archive:
        for name in sorted(name for name in archive.namelist() if re.fullmatch(r"treebank/combined/wsj_\d+\.mrg", name)):
            trees += one_line_trees(archive.read(name).decode("ascii"))
    valid, test = len(trees) * 8 // 10, len(trees) * 9 // 10
    return ["".join(f"{tree}\n" for tree in part).encode() for part in (trees[:valid], trees[valid:test], trees[test:])]


def one_line_trees(text) -> list[str]:
    """Trees over several lines as one line each, with the same brackets, labels and words."""
    trees, depth = [""], 0
    for token in re.findall(r"[()]|[^\s()]+", text):
        joined = token == ")" or not trees[-1] or (trees[-1].endswith("(") and token != "(")
        trees[-1] += token if joined else f" {token}"
        depth += {"(": 1, ")": -1}.get(token, 0)
        if not depth:
            trees.append("")
    return trees[:-1]
