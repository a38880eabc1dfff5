"""Whether the tokens of a text are that text: if a tokenizer loses some of it, every number of its
model is meaningless.
"""

from pathlib import Path

from minitransformer.errors import InputError
from minitransformer.zoo.pretrained.vocabulary import PretrainedVocabulary

PIECES = 2000  # tokens of whose text the text is made
SPACES = str.maketrans("", "", " \t\n\r\u2581")  # SentencePiece's sign for a space, too


def check_decodes(vocabulary: PretrainedVocabulary, path: Path) -> list[str]:
    """Compare a text made of the vocabulary's own tokens with what its tokens decode to.

    Returns a line if the tokenizer changes spaces, or rewrites letters, by its own rules. Raises
    InputError if anything else is lost.
    """
    every = [vocabulary.decode([i]) for i in range(vocabulary.size)]
    letters = {piece for piece in every if len(piece) == 1} - {"\ufffd"} | {" "}
    changed, spaced = [], []
    for piece in every[:: max(1, vocabulary.size // PIECES)]:
        if not piece.strip() or not letters.issuperset(piece):
            continue
        text = f"{piece} {piece}"  # one at a time, so that the line can show where it happens
        try:
            found = vocabulary.decode(vocabulary.encode(text))
        except InputError as error:
            raise InputError(f"{path}: its tokenizer loses text: {error}") from None
        if found.translate(SPACES) not in (
            text.translate(SPACES),
            vocabulary.normalised(text).translate(SPACES),
        ):
            raise InputError(
                f"{path}: its tokenizer loses text: the tokens of {text!r:.60} decode to {found!r:.60}"
            )
        if found.translate(SPACES) != text.translate(SPACES):
            changed.append((text, found))
        elif found != text:
            spaced.append((text, found))
    return [
        f"its tokenizer rewrites {what} by its own rules: {cases[0][0]!r:.60} becomes {cases[0][1]!r:.60}"
        for cases, what in ((changed, "letters"), (spaced, "spaces"))
        if cases
    ]
