"""From a source to a target, one token after another, each chosen from the model's own output."""

import numpy as np

from minitransformer.backend import blas_threads, to_host
from minitransformer.data.batches import pad
from minitransformer.data.vocabulary import BOS, EOS
from minitransformer.errors import InputError
from minitransformer.functional import PAD

EXTRA_LENGTH = 50   # an output is at most this much longer than its source (section 6.1 of the paper)
BATCH = 100         # sentences decoded together


def greedy(model, source):
    """The likeliest next token, again and again: source (B, T_k) ids -> B lists of ids up to EOS.

    Each output is cut off at its own source's length (EOS included) + 50, and where the learned
    positions end.
    """
    memory, _ = model.encode(source)
    target = np.full((len(source), 1), BOS)
    limit = (source != PAD).sum(axis=1) + EXTRA_LENGTH
    if model.config.positions == "learned":
        limit = np.minimum(limit, model.config.max_length)
    ended = np.zeros(len(source), bool)
    while not ended.all():
        y, _ = model.decode(target, memory, source)
        logits, _ = model.output.forward(y[:, -1])
        choice = np.where(ended, EOS, to_host(logits.argmax(axis=-1)))
        target = np.concatenate([target, choice[:, None]], axis=1)
        ended |= (choice == EOS) | (target.shape[1] > limit)
    return [row[: row.index(EOS)] if EOS in row else row for row in target[:, 1:].tolist()]


def decode_all(model, sources):
    """Greedy outputs for id lists of any lengths, in their order; an empty source gives an empty output."""
    outputs = [[] for _ in sources]
    order = sorted((i for i, source in enumerate(sources) if source), key=lambda i: len(sources[i]))
    for start in range(0, len(order), BATCH):
        places = order[start:start + BATCH]
        source = pad([[*sources[i], EOS] for i in places])
        with blas_threads(model.config.d_model):
            answers = greedy(model, source)
        for i, output in zip(places, answers):
            outputs[i] = output
    return outputs


def encode(vocabulary, texts, max_length):
    """Id lists of source texts, [] for an empty one. Raises InputError for one of more than `max_length` tokens."""
    for number, text in enumerate(texts, 1):
        if not text.isprintable() and any("\ud800" <= character <= "\udfff" for character in text):
            raise InputError(f"line {number} is not UTF-8 text")
    sources = [vocabulary.encode(text.strip()) for text in texts]
    for number, source in enumerate(sources, 1):
        if len(source) > max_length:
            raise InputError(f"line {number} has {len(source)} tokens, at most {max_length} are allowed "
                             "(--max-length of the training)")
    return sources


def translate(model, vocabulary, texts, max_length):
    """The output text for each of `texts`. Raises InputError for one of more than `max_length` tokens."""
    return [vocabulary.decode(output) for output in decode_all(model, encode(vocabulary, texts, max_length))]
