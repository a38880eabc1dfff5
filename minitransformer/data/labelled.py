"""Batches of labelled sentences, and the files they come from."""

import unicodedata
from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_shape, check_whole
from minitransformer.data.batches import check_sentences, pad, split_rows, trim
from minitransformer.data.text_files import read_text, split_lines
from minitransformer.errors import InputError
from minitransformer.functional.special import PAD


class LabelledBatch(NamedTuple):
    """Like Batch, for sentences and their classes."""

    ids: Array      # (B, T), then padding
    labels: Array   # (B,) 0 .. C-1

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

    def split(self, n) -> list["LabelledBatch"]:
        return [LabelledBatch(trim(self.ids[rows]), self.labels[rows]) for rows in split_rows(self, n)]


def make_labelled_batch(examples) -> LabelledBatch:
    """The LabelledBatch of a list of (ids, class). Raises InputError like make_batch."""
    try:
        examples = [(ids, label) for ids, label in examples]
    except (TypeError, ValueError):
        raise InputError("make_labelled_batch: expected a list of pairs (ids, class)") from None
    if not examples:
        raise InputError("make_labelled_batch: no examples, expected at least one")
    check_sentences("make_labelled_batch", [ids for ids, _ in examples])
    for _, label in examples:
        check_whole("make_labelled_batch: a class", label, 0)
    return LabelledBatch(pad([ids for ids, _ in examples]), np.array([label for _, label in examples]))


def sentence_length(example) -> tuple[int]:
    """The sort key of a labelled sentence: its length."""
    ids, _ = example
    return (len(ids),)


def read_labelled(path, name, read=read_text) -> list[tuple[str, str]]:
    """[(sentence, label as text)] from a file with a sentence, a tab and its label on each line, plain or .gz.

    A first line "sentence<TAB>label" is a header. Raises InputError, with the line, if there are not two columns or
    no sentence; `name` is the option that named the file. `read(path)` returns its text.
    """
    examples = []
    for number, line in enumerate(split_lines(read(path)), 1):
        columns = [unicodedata.normalize("NFC", column.strip()) for column in line.split("\t")]
        if (number == 1 and columns == ["sentence", "label"]) or not line.strip():
            continue
        if len(columns) > 2:
            raise InputError(f"{path}, line {number}: {len(columns)} columns, expected two: a sentence, a tab and its label")
        if len(columns) < 2 or not columns[0] or not columns[1]:
            raise InputError(f"{path}, line {number}: expected a sentence, a tab and its label")
        examples.append((columns[0], columns[1]))
    if not examples:
        raise InputError(f"{name} {path}: no sentences, expected a sentence, a tab and its label on each line")
    return examples
