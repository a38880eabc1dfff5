"""What vocabularies that list their tokens have in common."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from minitransformer.checks import is_integer
from minitransformer.errors import InputError, one_line
from minitransformer.data.special import SPECIAL


def check_tokens(ids: Iterable[int], size: int) -> list[int]:
    """`ids` as a list. Raises InputError unless each is the id of one of `size` tokens."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InputError(
            f"the ids to decode are a {type(ids).__name__}, expected a list of token ids"
        )
    ids = list(ids)
    for i in ids:
        if not is_integer(i, 0) or i >= size:
            raise InputError(
                f"{one_line(repr(i))} is not the id of a token, expected a whole number from 0 to {size - 1}"
            )
    return ids


class ListedVocabulary:
    """The special tokens, then the listed ones: a token's id is its position. A subclass encodes
    texts.
    """

    file_name: ClassVar[str] = "vocabulary.json"
    joint = " "  # what separates two tokens of a text

    def __init__(self, tokens: Sequence[str], **stored: Any):
        """stored: the arguments of the subclass, as JSON, from which `load` recreates it."""
        self.listed = [*SPECIAL, *tokens]
        # no text contains a special one
        self.ids = {token: i for i, token in enumerate(tokens, len(SPECIAL))}
        self._stored = stored

    @property
    def size(self) -> int:
        return len(self.listed)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The token of each id, special ones included."""
        return [self.listed[i] for i in check_tokens(ids, self.size)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`, without special tokens."""
        return self.joint.join(
            self.listed[i] for i in check_tokens(ids, self.size) if i >= len(SPECIAL)
        )

    def to_json(self) -> str:
        return json.dumps(self._stored, ensure_ascii=False, indent=1)

    @classmethod
    def load(cls, path: Path) -> Any:
        return cls(**json.loads(path.read_text(encoding="utf-8")))
