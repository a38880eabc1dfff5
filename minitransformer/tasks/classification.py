"""The common part of the classification tasks."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitransformer.backend import to_host
from minitransformer.data.batches import by_length
from minitransformer.data.labelled import make_labelled_batch, sentence_length
from minitransformer.decoding import encode
from minitransformer.errors import InputError
from minitransformer.training.evaluation import BATCH_TOKENS, mean_loss, pair_batches
from minitransformer.functional import softmax_forward
from minitransformer.tasks.task import Attended, Data, Task


@dataclass(frozen=True, kw_only=True)
class Classification(Task):
    """Predict the class of a sentence. A subclass sets `labels`, and `max_length` if there is one."""

    model: ClassVar[str] = "classifier"
    command: ClassVar[str] = "classify"
    labels: ClassVar[Sequence[str]]            # the classes' names
    max_length: ClassVar[int] = sys.maxsize    # maximum length of a text, in tokens

    def read(self, run, texts) -> list[list[int]]:
        """The token ids that the model reads of each text, as decoding.encode makes them: [] for an empty text."""
        return encode(run.vocabulary, texts, self.max_length)

    def model_sizes(self, vocabulary) -> dict[str, Any]:
        return {"vocab_size": vocabulary.size, "num_classes": len(self.labels)}

    def probabilities(self, run, texts) -> list[np.ndarray | None]:
        """For each text the probabilities (C,) of the classes, in the order of `labels`; None for an empty text.

        Truncated texts and characters that are not in the vocabulary are reported on stderr.
        """
        ids = self.read(run, texts)
        found = iter(predict(run.model, [(one, 0) for one in ids if one]))
        return [next(found) if one else None for one in ids]

    def answer(self, run, texts, search=None) -> list[str]:
        """The predicted class of each text; "" for an empty one."""
        self.check_no_search(search)
        return ["" if p is None else self.labels[int(p.argmax())] for p in self.probabilities(run, texts)]

    def attention(self, run, text) -> dict[str, Attended]:
        (ids,) = self.read(run, [text])
        if not ids:
            raise InputError("the text is empty, expected a text to classify")
        tokens = run.vocabulary.tokens(ids)
        return {"encoder": Attended(run.model.attention_weights(np.array([ids]))["encoder"], tokens, tokens)}

    def make_data(self, batches, valid, examples) -> Data:
        """The Data of `batches` to train on; `valid`: [(ids, class)]; `examples`: [(text, label)] for the report."""
        return Data(batches, pair_batches(valid, make_labelled_batch, sentence_length),
                    lambda model: {"valid_accuracy": accuracy(model, valid)}, examples)

    def scores(self, model, examples) -> dict[str, float]:
        """{"accuracy", "majority": the accuracy of always predicting the most common class, ...} over (ids, class)."""
        labels = [label for _, label in examples]
        ((_, most),) = Counter(labels).most_common(1)
        return {"accuracy": accuracy(model, examples), "majority": most / len(labels), "examples": len(labels),
                "nats": mean_loss(model, pair_batches(examples, make_labelled_batch, sentence_length))}


def accuracy(model, examples) -> float:
    """The fraction of (ids, class) for which the model's most probable class is the right one."""
    return float((predict(model, examples).argmax(axis=1) == [label for _, label in examples]).mean())


def predict(model, examples) -> np.ndarray:
    """(N, C) the model's probabilities for the ids in (ids, class); the class is ignored."""
    if not examples:
        return np.zeros((0, model.config.num_classes))
    probabilities = np.empty((len(examples), model.config.num_classes))
    for places in by_length(range(len(examples)), BATCH_TOKENS, lengths=lambda i: sentence_length(examples[i])):
        logits, _ = model.forward(make_labelled_batch([examples[i] for i in places]).ids)
        probabilities[places] = to_host(softmax_forward(logits)[0])
    if not np.isfinite(probabilities).all():
        raise InputError("the model's logits are not finite numbers; its weights are unusable")
    return probabilities
