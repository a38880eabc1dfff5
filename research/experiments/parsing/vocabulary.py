"""A vocabulary for parsing: the words of the sentences, and the brackets of the trees."""

from collections import Counter

from research.experiments.parsing.brackets import WORD, linearise
from minitransformer.data.vocabularies.listed import ListedVocabulary
from minitransformer.errors import InputError
from minitransformer.data.special import SPECIAL

LEAST = 2  # how often a word must occur to get a token of its own
# the Penn Treebank's label for what has no better one; replaces labels not seen in training
OTHER = "X"
ENDINGS = (
    "ing",
    "ion",
    "ity",
    "ers",
    "est",
    "ed",
    "ly",
    "er",
    "al",
    "es",
    "s",
    "y",
    "",
)  # the first that fits
CLASSES = [
    "<number>",
    *(
        f"<{case}{hyphen}{ending}>"
        for case in ("Word", "word")
        for hyphen in ("", "-")
        for ending in ENDINGS
    ),
]


class TreebankVocabulary(ListedVocabulary):
    """Ids: the special tokens, XX, the tags, both brackets of each label, the classes of rare
    words, the frequent words.

    A target has only ids below `target_size`: a model needs no logits for words.
    """

    def __init__(self, words, labels, tags):
        if not all(isinstance(entry, str) and entry for entry in (*words, *labels, *tags)):
            raise InputError("a treebank vocabulary needs its words, labels and tags as strings")
        self.words, self.labels, self.tags = list(words), list(labels), list(tags)
        symbols = [
            WORD,
            *self.tags,
            *(bracket + label for label in self.labels for bracket in "()"),
        ]
        self.target_size = len(SPECIAL) + len(symbols)
        super().__init__(
            [*symbols, *CLASSES, *self.words], words=self.words, labels=self.labels, tags=self.tags
        )
        self._symbols = {symbol: i for i, symbol in enumerate(symbols, len(SPECIAL))}
        self._words = {word: i for i, word in enumerate([*CLASSES, *self.words], self.target_size)}

    @classmethod
    def learn(cls, trees) -> "TreebankVocabulary":
        """The labels and tags of `trees`, and the words that occur in them at least twice."""
        counts = Counter(word for tree in trees for word in tree.words)
        tags = {tag for tree in trees for tag in tree.tags} - {WORD}
        return cls(
            sorted(word for word, count in counts.items() if count >= LEAST),
            sorted({*_labels(trees), OTHER}),
            sorted(tags),
        )

    def encode(self, text) -> list[int]:
        """The ids of the words in `text`, which are separated by spaces; a word without a token is
        read as its class.
        """
        return self.encode_words(text.split())

    def encode_words(self, words) -> list[int]:
        return [self._words.get(word) or self._words[word_class(word)] for word in words]

    def encode_symbols(self, symbols) -> list[int]:
        """The ids of the symbols of a linearised tree; an unknown label is read as X, an unknown
        tag as XX.
        """
        return [
            self._symbols.get(symbol)
            or self._symbols[symbol[0] + OTHER if symbol[0] in "()" else WORD]
            for symbol in symbols
        ]

    def unknown_labels(self, trees) -> set[str]:
        return _labels(trees) - set(self.labels)


def word_class(word) -> str:
    """What the form of a rare word reveals: whether it is a number, has a capital, a hyphen or a
    common ending.
    """
    if any(character.isdigit() for character in word):
        return "<number>"
    ending = next(ending for ending in ENDINGS if word.lower().endswith(ending))
    return f"<{'Word' if word[:1].isupper() else 'word'}{'-' if '-' in word else ''}{ending}>"


def _labels(trees) -> set[str]:
    return {symbol[1:] for tree in trees for symbol in linearise(tree) if symbol != WORD}
