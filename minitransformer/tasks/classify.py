"""Sentence classification, learned from a file of labelled sentences."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minitransformer.backend import to_host
from minitransformer.data.batches import by_length
from minitransformer.data.epochs import EpochBatches
from minitransformer.data.labelled import (
    Labelled,
    make_labelled_batch,
    read_labelled,
    sentence_length,
)
from minitransformer.data.text_files import Read
from minitransformer.data.unknown import warn_of_unknown
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.data.vocabularies.vocabulary import Vocabulary
from minitransformer.decoding import encode
from minitransformer.decoding.hypothesis import check_numbers
from minitransformer.decoding.translation import Search
from minitransformer.errors import InputError, counted, one_line, some
from minitransformer.functional import softmax_forward
from minitransformer.models.classifier import POOLINGS
from minitransformer.models.model import Model
from minitransformer.stderr import stderr
from minitransformer.tables import setting
from minitransformer.tasks.files import PARTS, FromSentences, only_file
from minitransformer.tasks.task import EXAMPLES, Attended, Data
from minitransformer.tasks.evaluation import BATCH_TOKENS, mean_loss, pair_batches

if TYPE_CHECKING:
    from minitransformer.runs.config import TrainingConfig
    from minitransformer.runs.run import Run

MAX_LABELS = 1000
SHOWN = 12  # labels in a message


@dataclass(frozen=True, kw_only=True)
class Classify(FromSentences):
    name: ClassVar[str] = "classify"
    description: ClassVar[str] = (
        "classify sentences: a file with a sentence, a tab and its label on each line"
    )
    model: ClassVar[str] = "classifier"
    command: ClassVar[str] = "classify"
    defaults: ClassVar[dict] = dict(
        config="tiny",
        steps=2500,
        warmup=200,
        schedule="inverse-sqrt",
        peak_rate=0.001,
        pre_norm=True,
        dropout=0.3,
    )
    presets: ClassVar[dict] = {
        # Three passes over the 60,614 phrases and sentences; with more passes, or less dropout, it
        # memorises them.
        "sst2": dict(
            config="tiny",
            num_layers=2,
            vocab_size=8000,
            dropout=0.3,
            embedding_dropout=0.4,
            schedule="constant",
            peak_rate=0.001,
            warmup=150,
            cooldown=0.8,
            steps=1000,
            validate_every=250,
        ),
    }
    evaluate_options: ClassVar[tuple] = ("test",)
    files_option: ClassVar[dict] = dict(
        nargs=1,
        metavar="FILE.tsv",
        help="a sentence, a tab and its label on each line, or columns that the first line names; "
        "plain or .gz",
    )

    vocab_size: int = setting("subwords learned on the training sentences", 6000)
    pooling: str = setting(
        "what represents a sentence: the mean over its positions, or the first of them",
        "mean",
        POOLINGS,
    )
    labels: list = field(default_factory=list)  # the classes' names, as in the training file

    def read_files(self, files: list[str], name: str, read: Read) -> list[tuple[str, str]]:
        file = only_file(files, name, "one file of labelled sentences")
        return read_labelled(file, name, read)

    def begin(self) -> "Classify":
        begun = super().begin()
        texts = begun.texts["train"]
        labels = sorted({label for _, label in texts})
        if len({text for text, _ in texts}) < len(labels):
            raise InputError(
                f"--train {self.train[0]}: more labels than sentences; expected a sentence, a tab and its label on "
                f"each line, but {texts[0][1]!r:.60} would be a label"
            )
        if not 2 <= len(labels) <= MAX_LABELS:
            raise InputError(
                f"--train {self.train[0]}: the label column has {counted(len(labels), 'class')}, "
                f"expected 2 to {MAX_LABELS:,}"
            )
        return replace(begun, labels=labels)

    def make_vocabulary(self) -> SubwordVocabulary:
        return SubwordVocabulary.learn((text for text, _ in self.texts["train"]), self.vocab_size)

    def model_sizes(self, vocabulary: Vocabulary) -> dict[str, Any]:
        return {
            "vocab_size": vocabulary.size,
            "num_classes": len(self.labels),
            "pooling": self.pooling,
        }

    def remarks(self, vocabulary: SubwordVocabulary) -> list[str]:
        texts = self.texts["train"]
        counts = Counter(label for _, label in texts)
        classes = some((f"{one_line(label)} ({counts[label]:,})" for label in self.labels), SHOWN)
        return [
            f"{self.train[0]}: {counted(len(texts), 'sentence')}, such as {texts[0][0]!r:.60} with the label {texts[0][1]!r}; "
            f"classes: {classes}",
            *super().remarks(vocabulary),
        ]

    def data(self, vocabulary: SubwordVocabulary, training: "TrainingConfig") -> Data:
        texts = self.texts
        train, valid = (
            self._encode(vocabulary, getattr(self, name)[0], texts[name]) for name in PARTS
        )
        return Data(
            EpochBatches(train, self.batch, training.seed, make_labelled_batch, sentence_length),
            pair_batches(valid, make_labelled_batch, sentence_length),
            lambda model: {"valid_accuracy": accuracy(model, valid)},
            texts["valid"][:EXAMPLES],
        )

    def probabilities(self, run: "Run", texts: Sequence[str]) -> list[np.ndarray | None]:
        """For each text the probabilities (C,) of the classes, in the order of `labels`; None for
        an empty text.

        Truncated texts and characters that are not in the vocabulary are reported on stderr.
        """
        ids = encode(run.vocabulary, texts, self.max_length)
        found = iter(predict(run.model, [(one, 0) for one in ids if one]))
        return [next(found) if one else None for one in ids]

    def answer(self, run: "Run", texts: Sequence[str], search: Search | None = None) -> list[str]:
        """The predicted class of each text; "" for an empty one."""
        self.check_no_search(search)
        return [
            "" if p is None else self.labels[int(p.argmax())]
            for p in self.probabilities(run, texts)
        ]

    def attention(self, run: "Run", text: str) -> dict[str, Attended]:
        (ids,) = encode(run.vocabulary, [text], self.max_length)
        if not ids:
            raise InputError("the text is empty, expected a text to classify")
        tokens = run.vocabulary.tokens(ids)
        return {
            "encoder": Attended(
                run.model.attention_weights(np.array([ids]))["encoder"], tokens, tokens
            )
        }

    def evaluate(
        self, run: "Run", search: Search | None, test: list[str] | None = None
    ) -> dict[str, Any]:
        """The accuracy, that of always predicting the most common class, and the mean negative
        log-likelihood.
        """
        files, texts = self.to_measure(run, test)
        examples = self._encode(run.vocabulary, files[0], texts)
        labels = [label for _, label in examples]
        ((_, most),) = Counter(labels).most_common(1)
        return {
            "accuracy": accuracy(run.model, examples),
            "majority": most / len(labels),
            "examples": len(labels),
            "nats": mean_loss(
                run.model, pair_batches(examples, make_labelled_batch, sentence_length)
            ),
        }

    def _encode(
        self, vocabulary: SubwordVocabulary, file: str, texts: Sequence[tuple[str, str]]
    ) -> list[tuple[list[int], int]]:
        """[(ids, class)]. Raises InputError for a label that the training file does not have."""
        places = {label: i for i, label in enumerate(self.labels)}
        unknown = next((label for _, label in texts if label not in places), None)
        if unknown is not None:
            raise InputError(
                f"{file}: the label {unknown!r} is not in the training file, which has {some(self.labels, SHOWN)}"
            )
        sentences = vocabulary.encode_all([text for text, _ in texts])
        warn_of_unknown(
            vocabulary,
            " ".join(text for text, _ in texts),
            [i for ids in sentences for i in ids],
            file,
        )
        if long := sum(len(ids) > self.max_length for ids in sentences):
            print(
                f"{file}: {long:,} sentence{'s are' if long > 1 else ' is'} longer than "
                f"{counted(self.max_length, 'token')}: what follows "
                f"is not read (--max-length in training)",
                file=stderr,
            )
        return [
            (ids[: self.max_length], places[label])
            for ids, (_, label) in zip(sentences, texts)
            if ids
        ]


def accuracy(model: Model, examples: Sequence[Labelled]) -> float:
    """The fraction of (ids, class) for which the model's most probable class is the right one."""
    return float(
        (predict(model, examples).argmax(axis=1) == [label for _, label in examples]).mean()
    )


def predict(model: Model, examples: Sequence[Labelled]) -> np.ndarray:
    """(N, C) the model's probabilities for the ids in (ids, class); the class is ignored."""
    if not examples:
        return np.zeros((0, model.config.num_classes))
    probabilities = np.empty((len(examples), model.config.num_classes))
    for places in by_length(
        range(len(examples)), BATCH_TOKENS, lengths=lambda i: sentence_length(examples[i])
    ):
        logits, _ = model.forward(make_labelled_batch([examples[i] for i in places]).ids)
        probabilities[places] = to_host(softmax_forward(logits)[0])
    check_numbers(np.isfinite(probabilities))
    return probabilities
