"""What tasks and runs know of a vocabulary."""

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Protocol


class Vocabulary(Protocol):
    """Translates between text and token ids; the special ones come first."""

    file_name: ClassVar[str]  # of its file in a run folder

    @property
    def size(self) -> int:
        """The number of tokens."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, without special tokens."""

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The token of each id, special ones included."""

    def to_json(self) -> str:
        """What `load` reads."""

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """The vocabulary in a file."""
