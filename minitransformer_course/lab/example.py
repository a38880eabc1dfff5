"""The running example: a small trained Transformer that writes a word backwards;
tutorials/drawkcab/train.py makes its weights.
"""

import string

import numpy as np

from minitransformer import Transformer, TransformerConfig, greedy, load_weights
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.data.special import BOS, EOS
from minitransformer.pictures.attention_map import Attended
from minitransformer.tasks.text_to_text import attended
from minitransformer_course.judge.course import folder_of_chapters

LETTERS = SymbolVocabulary(string.ascii_lowercase, joint="")
CONFIG = TransformerConfig(
    num_layers=1,
    d_model=32,
    num_heads=4,
    d_ff=128,
    dropout=0.0,
    source_vocab=LETTERS.size,
    target_vocab=LETTERS.size,
)


def drawkcab() -> tuple[Transformer, SymbolVocabulary]:
    """(model, vocabulary) of the running example: a new model at each call, so change its weights
    as you like.
    """
    model = Transformer(CONFIG)
    load_weights(model, folder_of_chapters() / "drawkcab" / "weights.safetensors")
    return model, LETTERS


def write(model, vocabulary, word) -> str:
    """What the model writes, token by token, after it has read `word`. Raises InputError for what
    is not in the vocabulary.
    """
    return vocabulary.decode(greedy(model, np.array([[*vocabulary.encode(word), EOS]]))[0])


def accuracy(model, batch) -> float:
    """The share of letters that the model predicts when it is given the right ones before; the end
    of a word does not count.
    """
    logits, _cache = model.forward(batch.source, batch.target)
    letters = batch.next_target > EOS
    return float((logits.argmax(axis=-1) == batch.next_target)[letters].mean())


def attention_of(model, vocabulary, word, kind="cross") -> Attended:
    """The attention of the last layer while the model reads `word` and writes its answer: weights
    (H, T_q, T_k) and the tokens.

    kind: "encoder", "decoder" or "cross".
    """
    found = attended(model, vocabulary, vocabulary.encode(word))[kind]
    return found._replace(weights=found.weights[-1][0])


def steps_of(model, vocabulary, word) -> np.ndarray:
    """The logits (T, V) of each step while the model writes `word` backwards, each time the most
    likely letter.
    """
    source, written = (
        np.array([[*vocabulary.encode(word), EOS]]),
        vocabulary.encode(write(model, vocabulary, word)),
    )
    return model.forward(source, np.array([[BOS, *written]]))[0][0].astype("float64")
