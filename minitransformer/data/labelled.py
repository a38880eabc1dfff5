"""Batches of labelled sentences, and the files they come from."""

import unicodedata
from typing import Any, NamedTuple

import numpy as np

from minitransformer.data.batches import pad, split_rows, trim
from minitransformer.data.text_files import read_text, split_lines
from minitransformer.errors import InputError
from minitransformer.special import PAD


class LabelledBatch(NamedTuple):
    """As Batch, of sentences and their classes."""

    ids: Any      # (B, T), then padding
    labels: Any   # (B,) 0 .. C-1

    @property
    def inputs(self):
        return (self.ids,)

    @property
    def terms(self):
        return len(self.labels)

    @property
    def num_tokens(self):
        return int((self.ids != PAD).sum())

    def split(self, n):
        return [LabelledBatch(trim(self.ids[rows]), self.labels[rows]) for rows in split_rows(len(self.ids), n)]


def make_labelled_batch(examples):
    """The LabelledBatch of a list of (ids, class)."""
    return LabelledBatch(pad([ids for ids, _ in examples]), np.array([label for _, label in examples]))


def sentence_length(example):
    """By what labelled sentences are sorted: their length."""
    ids, _ = example
    return (len(ids),)


def read_labelled(path, name):
    """[(sentence, label as text)] of a file with a sentence, a tab and its label on each line, plain or .gz.

    A first line "sentence<TAB>label" is a header. Raises InputError, with the line, where there is no second column, or
    no sentence; `name` says which option the file came from.
    """
    examples = []
    for number, line in enumerate(split_lines(read_text(path)), 1):
        columns = [unicodedata.normalize("NFC", column.strip()) for column in line.split("\t")]
        if (number == 1 and columns == ["sentence", "label"]) or not line.strip():
            continue
        if len(columns) < 2 or not columns[0] or not columns[1]:
            raise InputError(f"{path}, line {number}: expected a sentence, a tab and its label")
        examples.append((columns[0], columns[1]))
    if not examples:
        raise InputError(f"{name} {path}: no sentence, expected one on each line with a tab and its label")
    return examples
