"""What the tasks that sort sentences into classes have in common."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minitransformer.attention_map import Attended
from minitransformer.backend import to_host
from minitransformer.data.batches import by_length
from minitransformer.data.labelled import make_labelled_batch, sentence_length
from minitransformer.errors import InputError
from minitransformer.evaluation import BATCH_TOKENS, mean_loss
from minitransformer.functional import softmax_forward
from minitransformer.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Classification(Task):
    """A classifier names the class of a sentence. A subclass has `labels`, the classes' names, and encode_text."""

    model: ClassVar[str] = "classifier"
    command: ClassVar[str] = "classify"

    def encode_text(self, vocabulary, text):
        """The ids that the model reads. Raises InputError for a text that it cannot."""
        raise NotImplementedError

    def model_sizes(self, vocabulary):
        return {"vocab_size": vocabulary.size, "num_classes": len(self.labels)}

    def probabilities(self, run, texts):
        """(N, C), for the classes in the order of `labels`."""
        examples = [(self.encode_text(run.vocabulary, text), 0) for text in texts]
        return predict(run.model, examples)

    def answer(self, run, texts, search=None):
        return [self.labels[i] for i in self.probabilities(run, texts).argmax(axis=1)]

    def attention(self, run, text):
        ids = self.encode_text(run.vocabulary, text)
        tokens = run.vocabulary.tokens(ids)
        return {"encoder": Attended(run.model.attention_weights(np.array([ids]))["encoder"], tokens, tokens)}

    def scores(self, model, examples):
        """{"accuracy", "majority": of always naming the commonest class, ...} over (ids, class)."""
        labels = [label for _, label in examples]
        ((_, most),) = Counter(labels).most_common(1)
        return {"accuracy": accuracy(model, examples), "majority": most / len(labels), "examples": len(labels),
                "nats": mean_loss(model, labelled_batches(examples))}


def labelled_batches(examples):
    """Batches that hold all (ids, class) once, for `mean_loss`."""
    return [make_labelled_batch(chunk) for chunk in by_length(examples, BATCH_TOKENS, lengths=sentence_length)]


def accuracy(model, examples):
    """The share of (ids, class) whose class the model finds the most probable."""
    return float((predict(model, examples).argmax(axis=1) == [label for _, label in examples]).mean())


def predict(model, examples):
    """(N, C) the model's probabilities for (ids, class), whatever class stands there."""
    if not examples:
        return np.zeros((0, model.config.num_classes))
    order = sorted(range(len(examples)), key=lambda i: len(examples[i][0]))
    found = []
    for chunk in by_length([examples[i] for i in order], BATCH_TOKENS, lengths=sentence_length):
        logits, _ = model.forward(make_labelled_batch(chunk).ids)
        found.append(to_host(softmax_forward(logits)[0]))
    probabilities = np.concatenate(found)
    if not np.isfinite(probabilities).all():
        raise InputError("the model's logits are not finite numbers; its weights are unusable")
    return probabilities[np.argsort(order, kind="stable")]
