"""Report characters that a vocabulary has no token for: the model reads <unk> instead."""

from minitransformer.data.vocabularies.vocabulary import Vocabulary
from minitransformer.errors import some
from minitransformer.stderr import stderr

SHOWN = 12


def count_unknown(vocabulary: Vocabulary, ids: list[int]) -> int:
    """The number of unknown tokens in `ids`. Most vocabularies have no such token and refuse the
    text instead.
    """
    return 0 if (unknown := getattr(vocabulary, "unknown_id", None)) is None else ids.count(unknown)


def warn_of_unknown(vocabulary: Vocabulary, text: str, ids: list[int], name: str) -> None:
    """Report on stderr which characters of `text`, called `name`, are unknown tokens in its `ids`."""
    if not count_unknown(vocabulary, ids):
        return
    unknown = vocabulary.unknown_characters(text)  # type: ignore[attr-defined]  # it has <unk>
    found = list(dict.fromkeys(unknown))
    print(
        f"{name}: not in the vocabulary, read as <unk>: {some(map(repr, found), SHOWN)}",
        file=stderr,
    )
