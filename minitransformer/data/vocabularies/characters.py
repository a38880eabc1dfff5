"""A vocabulary in which each character is a token, including spaces and line breaks."""

from collections.abc import Iterable

from minitransformer.data.vocabularies.listed import ListedVocabulary
from minitransformer.errors import InputError, counted


class CharacterVocabulary(ListedVocabulary):
    """The special tokens, then the characters of a text, ordered by code point."""

    joint = ""

    def __init__(self, characters: Iterable[str]):
        if not isinstance(characters, str) or len(set(characters)) != len(characters):
            raise InputError(
                "a character vocabulary needs a string that contains each character once"
            )
        super().__init__(characters, characters=characters)
        self.characters = characters

    @classmethod
    def learn(cls, text: str) -> "CharacterVocabulary":
        return cls("".join(sorted(set(text))))

    def encode(self, text: str) -> list[int]:
        """The id of each character. Raises InputError for one that is not in the vocabulary."""
        unknown = next((character for character in text if character not in self.ids), None)
        if unknown is not None:
            line = text[: text.index(unknown)].count("\n") + 1
            raise InputError(
                f"line {line}: the character {unknown!r} is not in the vocabulary, which consists of the "
                f"{counted(len(self.characters), 'character')} of the training text"
            )
        return [self.ids[character] for character in text]
