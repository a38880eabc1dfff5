"""Parallel text: two aligned files, plain or .gz, or one file of two tab-separated columns."""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from minitransformer.data.text_files import Read, read_text, split_lines
from minitransformer.data.vocabularies.subwords import MAX_WORD, SubwordVocabulary
from minitransformer.errors import InputError, counted
from minitransformer.stderr import stderr

MAX_CHARACTERS = MAX_WORD  # in a sentence

FORMS = {  # of a line in a TSV that may have meant something else: how it is read
    r".*\t.*\t": "more than two columns: only the first two are read",
    r'(.*\t)?"([^"\t]|"")*"(\t|$)': "a column in quotes, as of a spreadsheet: read as text",
}


def read_pairs(
    paths: Sequence[str | Path], name: str = "files", read: Read = read_text
) -> list[tuple[str, str]]:
    """[(source, target)] from [SOURCE, TARGET], aligned line by line, or from one [TSV].

    Unicode is normalised (NFC), and outer spaces are removed; further columns of a TSV
    (attribution) are ignored. Raises InputError if the files have different lengths, a line has no
    second column or is too long, or there are more than two files; the message gives `name` as
    their origin. `read(path)` returns the text of a file.
    """
    if len(paths) > 2:
        raise InputError(
            f"{name}: {counted(len(paths), 'file')}, expected SOURCE TARGET or one two-column TSV"
        )
    sides = [split_lines(read(path)) for path in paths]
    if len(sides) == 1:
        pairs = [_columns(paths[0], number, line) for number, line in enumerate(sides[0], 1)]
        _report_other_forms(paths[0], sides[0])
    elif len(sides[0]) != len(sides[1]):
        raise InputError(
            f"{paths[0]} has {counted(len(sides[0]), 'line')} and {paths[1]} has {len(sides[1]):,}; "
            "expected aligned files, line by line"
        )
    else:
        pairs = list(zip(*sides))
    pairs = [(_normalised(source), _normalised(target)) for source, target in pairs]
    for number, pair in enumerate(pairs, 1):
        if max(map(len, pair)) > MAX_CHARACTERS:
            raise InputError(
                f"{' / '.join(map(str, paths))}, line {number}: {max(map(len, pair)):,} characters, "
                f"expected at most {MAX_CHARACTERS:,} in a sentence"
            )
    return pairs


def _normalised(side: str) -> str:
    return unicodedata.normalize("NFC", side.strip())


def _columns(path: str | Path, number: int, line: str) -> tuple[str, str]:
    columns = line.split("\t")
    if len(columns) < 2 and line.strip():
        raise InputError(
            f"{path}, line {number}: one column, expected source and target separated by a tab"
        )
    return (columns[0], columns[1]) if len(columns) > 1 else ("", "")


def _report_other_forms(path: str | Path, lines: list[str]) -> None:
    """Say on stderr what else a TSV may have meant, and the first such line."""
    for form, said in FORMS.items():
        number = next((i for i, line in enumerate(lines, 1) if re.match(form, line)), None)
        if number:
            print(f"{path}, line {number:,}: {said}", file=stderr)


def encode_pairs(
    vocabulary: SubwordVocabulary, texts: Sequence[tuple[str, str]], max_length: int, name: str
) -> list[tuple[list[int], list[int]]]:
    """Pairs of id lists for pairs of texts; pairs with an empty side are left out.

    Raises InputError for a sentence of more than `max_length` tokens, and if no pair remains;
    the message gives `name` as the texts' origin.
    """
    sources, targets = (vocabulary.encode_all([text[side] for text in texts]) for side in (0, 1))
    for line, pair in enumerate(zip(sources, targets), 1):
        longest = max(map(len, pair))
        if longest > max_length:
            raise InputError(
                f"{name}, line {line}: a sentence of {counted(longest, 'token')}, expected at most {max_length:,}; "
                "shorten it, leave it out, or train with a larger --max-length"
            )
    pairs = [(source, target) for source, target in zip(sources, targets) if source and target]
    if not pairs:
        raise InputError(f"{name}: no line with text on both sides")
    return pairs
