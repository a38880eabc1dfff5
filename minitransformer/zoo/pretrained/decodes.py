"""Whether the tokens of a text are that text: if a tokenizer loses some of it, every number of its model is meaningless."""

from minitransformer.errors import InputError

PIECES = 2000      # tokens of whose text the text is made
SPACES = str.maketrans("", "", " \t\n\r\u2581")    # SentencePiece's sign for a space, too


def check_decodes(vocabulary, path) -> None:
    """Raise InputError if texts made of the vocabulary's own tokens decode to others.

    A tokenizer may change spaces, or rewrite letters, by its own rules.
    """
    every = [vocabulary.decode([i]) for i in range(vocabulary.size)]
    letters = {piece for piece in every if len(piece) == 1} - {"\ufffd"} | {" "}
    for piece in every[::max(1, vocabulary.size // PIECES)]:
        if not piece.strip() or not letters.issuperset(piece):
            continue
        text = f"{piece} {piece}"
        try:
            found = vocabulary.decode(vocabulary.encode(text))
        except InputError as error:
            raise InputError(f"{path}: its tokenizer loses text: {error}") from None
        if found.translate(SPACES) not in (text.translate(SPACES), vocabulary.normalised(text).translate(SPACES)):
            raise InputError(f"{path}: its tokenizer loses text: the tokens of {text!r:.60} decode to {found!r:.60}")
