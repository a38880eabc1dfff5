"""Between text and subword ids: byte-pair encoding learned on both languages together."""

from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.errors import InputError
from minitransformer.extras import require
from minitransformer.special import SPECIAL

UNKNOWN = "<unk>"
NAMES = (*SPECIAL, UNKNOWN)    # of the first ids


@VOCABULARIES.register("subwords")
class SubwordVocabulary:
    """Byte-pair encoding (Sennrich et al. 2016, https://aclanthology.org/P16-1162) by the library tokenizers.

    A word carries its leading blank as "▁" (U+2581), so decoding restores the spacing of a text that has no "▁" itself.
    """

    file_name = "tokenizer.json"

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self._tokenizer.encode_special_tokens = True    # "<pad>" in a text is text

    @classmethod
    def learn(cls, texts, size):
        """At most `size` subwords (more only if the text has more characters), from sentences of both sides."""
        tokenizers = require("tokenizers")
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=_unmergeable(UNKNOWN)))
        tokenizer.normalizer = tokenizers.normalizers.NFC()
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        tokenizer.decoder = tokenizers.decoders.Metaspace()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=size, special_tokens=[_unmergeable(name) for name in NAMES], show_progress=False)
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    @property
    def size(self):
        return self._tokenizer.get_vocab_size()

    def encode(self, text):
        """The ids of a text. Raises InputError for one that holds bytes which are not UTF-8."""
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InputError("the text is not UTF-8")
        return self._tokenizer.encode(text).ids

    def encode_all(self, texts):
        return [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]

    def tokens(self, ids):
        """The subword of each id, special ones too."""
        return [NAMES[i] if i < len(NAMES) else self._tokenizer.id_to_token(i) for i in ids]

    def decode(self, ids):
        """The text of `ids`, special tokens left out."""
        return self._tokenizer.decode(ids)

    def to_json(self):
        return self._tokenizer.to_str(pretty=True)

    @classmethod
    def load(cls, path):
        tokenizers = require("tokenizers")
        try:
            return cls(tokenizers.Tokenizer.from_file(str(path)))
        except Exception as error:    # the library raises a bare Exception
            raise InputError(f"{path}: not a tokenizer ({error})") from None


def _unmergeable(name):
    """A special token as no merge spells it: a text's blanks are "▁", so that "</s>" learned from a text is another."""
    return name + " "
