"""A vocabulary in which each character is a token, including spaces and line breaks."""

import json

from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.errors import InputError
from minitransformer.functional.special import SPECIAL


@VOCABULARIES.register("characters")
class CharacterVocabulary:
    """The special tokens, then the characters of a text, ordered by code point."""

    file_name = "vocabulary.json"

    def __init__(self, characters):
        if not isinstance(characters, str) or len(set(characters)) != len(characters):
            raise InputError("a character vocabulary needs a string that contains each character once")
        self.characters = characters
        self._ids = {character: i for i, character in enumerate(characters, len(SPECIAL))}

    @classmethod
    def learn(cls, text) -> "CharacterVocabulary":
        return cls("".join(sorted(set(text))))

    @property
    def size(self) -> int:
        return len(SPECIAL) + len(self.characters)

    def encode(self, text) -> list[int]:
        """The id of each character. Raises InputError for one that is not in the vocabulary."""
        unknown = next((character for character in text if character not in self._ids), None)
        if unknown is not None:
            line = text[:text.index(unknown)].count("\n") + 1
            raise InputError(f"line {line}: the character {unknown!r} is not in the vocabulary, which consists of the "
                             f"{len(self.characters)} characters of the training text")
        return [self._ids[character] for character in text]

    def tokens(self, ids) -> list[str]:
        """The character of each id, special tokens included."""
        return [SPECIAL[i] if i < len(SPECIAL) else self.characters[i - len(SPECIAL)] for i in ids]

    def decode(self, ids) -> str:
        """The text of `ids`, without special tokens."""
        return "".join(self.characters[i - len(SPECIAL)] for i in ids if i >= len(SPECIAL))

    def to_json(self) -> str:
        return json.dumps({"characters": self.characters}, ensure_ascii=False, indent=1)

    @classmethod
    def load(cls, path) -> "CharacterVocabulary":
        return cls(**json.loads(path.read_text(encoding="utf-8")))
