"""What vocabularies have in common that list their tokens."""

import json
from typing import Any

from minitransformer.functional.special import SPECIAL


class ListedVocabulary:
    """The special tokens, then the listed ones: a token's id is its place. A subclass encodes texts."""

    file_name = "vocabulary.json"
    joint = " "    # what stands between two tokens of a text

    def __init__(self, tokens, **stored):
        """stored: the arguments of the subclass, as JSON, from which `load` makes it again."""
        self.listed = [*SPECIAL, *tokens]
        self.ids = {token: i for i, token in enumerate(tokens, len(SPECIAL))}    # no text contains a special one
        self._stored = stored

    @property
    def size(self) -> int:
        return len(self.listed)

    def tokens(self, ids) -> list[str]:
        """The token of each id, special ones included."""
        return [self.listed[i] for i in ids]

    def decode(self, ids) -> str:
        """The text of `ids`, without special tokens."""
        return self.joint.join(self.listed[i] for i in ids if i >= len(SPECIAL))

    def to_json(self) -> str:
        return json.dumps(self._stored, ensure_ascii=False, indent=1)

    @classmethod
    def load(cls, path) -> Any:
        return cls(**json.loads(path.read_text(encoding="utf-8")))
