"""Batches of labelled sentences, and the files they come from."""

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_shape
from minitransformer.data.batches import check_sentences, pad, split_rows, trim
from minitransformer.data.text_files import Read, read_text, split_lines
from minitransformer.errors import InputError, counted
from minitransformer.data.special import PAD
from minitransformer.stderr import stderr

TEXT = ("sentence", "text", "document", "review", "comment")  # names of columns
LABEL = ("label", "class", "category", "sentiment")


Labelled = tuple[Sequence[int], int]  # ids, class


class LabelledBatch(NamedTuple):
    """Like Batch, for sentences and their classes."""

    ids: Array  # (B, T), then padding
    labels: Array  # (B,) 0 .. C-1

    @property
    def inputs(self) -> tuple[np.ndarray]:
        return (self.ids,)

    @property
    def terms(self) -> int:
        check_shape("a batch's labels", self.labels, "B")
        return len(self.labels)

    @property
    def num_tokens(self) -> int:
        return int((self.ids != PAD).sum())

    def split(self, n: int) -> list["LabelledBatch"]:
        return [
            LabelledBatch(trim(self.ids[rows]), self.labels[rows]) for rows in split_rows(self, n)
        ]


def make_labelled_batch(examples: Iterable[Labelled]) -> LabelledBatch:
    """The LabelledBatch of a list of (ids, class). Raises InputError like make_batch."""
    examples = [(ids, label) for ids, label in examples]
    if not examples:
        raise InputError("make_labelled_batch: no examples, expected at least one")
    check_sentences("make_labelled_batch", [ids for ids, _ in examples])
    return LabelledBatch(
        pad([ids for ids, _ in examples]), np.array([label for _, label in examples])
    )


def sentence_length(example: Labelled) -> tuple[int]:
    """The sort key of a labelled sentence: its length."""
    ids, _ = example
    return (len(ids),)


def read_labelled(path: str | Path, name: str, read: Read = read_text) -> list[tuple[str, str]]:
    """[(sentence, label as text)] from a file with a sentence, a tab and its label on each line,
    plain or .gz.

    A first line with a name of TEXT and one of LABEL is a header: it says which two columns these
    are, and lines that lack one of the two are left out. Raises InputError, with the line, if there
    are not two columns or no sentence; `name` is the option that named the file. `read(path)`
    returns its text.
    """
    lines = split_lines(read(path))
    header = [column.strip().lower() for column in lines[0].split("\t")] if lines else []
    at = [
        places[0]
        for names in (TEXT, LABEL)
        if len(places := [i for i, one in enumerate(header) if one in names]) == 1
    ]
    width, named = (len(header), at) if len(at) == 2 else (2, [])
    examples, without = [], 0
    for number, line in enumerate(lines, 1):
        columns = [unicodedata.normalize("NFC", column.strip()) for column in line.split("\t")]
        if (number == 1 and named) or not line.strip():
            continue
        if len(columns) != width and (named or len(columns) > 2):
            expected = (
                f"{width}, as in the first line"
                if named
                else "two: a sentence, a tab and its label, or a first line that names them, such as id, document, label"
            )
            raise InputError(
                f"{path}, line {number}: {counted(len(columns), 'column')}, expected {expected}"
            )
        text, label = (columns[i] for i in named) if named else (*columns, "")[:2]
        if text and label:
            examples.append((text, label))
        elif named:
            without += 1
        else:
            raise InputError(f"{path}, line {number}: expected a sentence, a tab and its label")
    if without:
        print(
            f"{path}: {counted(without, 'line')} without a {header[named[0]]} or a {header[named[1]]}, left out",
            file=stderr,
        )
    if not examples:
        raise InputError(
            f"{name} {path}: no sentences, expected a sentence, a tab and its label on each line"
        )
    return examples
