"""Sentence classification, learned from a file of labelled sentences."""

import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from minitransformer.data.epochs import EpochBatches
from minitransformer.data.labelled import make_labelled_batch, read_labelled, sentence_length
from minitransformer.data.unknown import warn_of_unknown
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.errors import InputError, counted, one_line
from minitransformer.models.classifier import POOLINGS
from minitransformer.tasks.classification import Classification
from minitransformer.tasks.files import FromFiles, only_file
from minitransformer.tasks.task import EXAMPLES, Data
from minitransformer.tables import setting

MAX_LABELS = 1000


@dataclass(frozen=True, kw_only=True)
class Classify(FromFiles, Classification):
    name: ClassVar[str] = "classify"
    description: ClassVar[str] = "classify sentences: a file with a sentence, a tab and its label on each line"
    defaults: ClassVar[dict] = dict(config="tiny", steps=2500, warmup=200, schedule="inverse-sqrt", peak_rate=0.001,
                                    pre_norm=True, dropout=0.3)
    presets: ClassVar[dict] = {
        # Three passes over the 60,614 phrases and sentences; with more passes, or less dropout, it memorises them.
        "sst2": dict(config="tiny", num_layers=2, vocab_size=8000, dropout=0.3, embedding_dropout=0.4, schedule="constant",
                     peak_rate=0.001, warmup=150, cooldown=0.8, steps=1000, validate_every=250),
    }
    evaluate_options: ClassVar[tuple] = ("test",)
    files_option: ClassVar[dict] = dict(nargs=1, metavar="FILE.tsv",
                                        help="a sentence, a tab and its label on each line, or columns that the first line names; "
                                             "plain or .gz")

    batch: int = setting("tokens in a batch, padding included", 2048)
    vocab_size: int = setting("subwords learned on the training sentences", 6000)
    max_length: int = setting("longest sentence, in subwords", 256)    # type: ignore[misc]    # a setting of this task
    pooling: str = setting("what represents a sentence: the mean over its positions, or the first of them", "mean", POOLINGS)
    labels: list = field(default_factory=list)    # type: ignore[misc]    # the classes' names, as in the training file

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_length + 1 > self.batch:
            raise InputError(f"batch is {self.batch} tokens, expected at least max_length + 1 = {self.max_length + 1}")

    def read_files(self, files, name, read) -> list[tuple[str, str]]:
        return read_labelled(files[0], name, read)

    def begin(self, **found) -> "Classify":
        texts = self.texts["train"]
        labels = sorted({label for _, label in texts})
        if len({text for text, _ in texts}) < len(labels):
            raise InputError(f"--train {self.train[0]}: more labels than sentences; expected a sentence, a tab and its label on "
                             f"each line, but {texts[0][1]!r:.60} would be a label")
        if not 2 <= len(labels) <= MAX_LABELS:
            raise InputError(f"--train {self.train[0]}: the label column has {len(labels):,} class"
                             f"{'' if len(labels) == 1 else 'es'}, expected 2 to {MAX_LABELS:,}")
        return super().begin(labels=labels, **found)

    def make_vocabulary(self) -> SubwordVocabulary:
        return SubwordVocabulary.learn((text for text, _ in self.texts["train"]), self.vocab_size)

    def model_sizes(self, vocabulary) -> dict[str, Any]:
        return {**super().model_sizes(vocabulary), "pooling": self.pooling}

    def remarks(self, vocabulary) -> list[str]:
        texts, counts = self.texts["train"], Counter(label for _, label in self.texts["train"])
        classes = ", ".join(f"{one_line(label)} ({counts[label]:,})" for label in self.labels[:12])
        classes += ", ..." * (len(self.labels) > 12)
        return [f"{self.train[0]}: {counted(len(texts), 'sentence')}, such as {texts[0][0]!r:.60} with the label {texts[0][1]!r}; "
                f"classes: {classes}", *super().remarks(vocabulary)]

    def data(self, vocabulary, training) -> Data:
        train, valid = (self._encode(vocabulary, getattr(self, name)[0], texts) for name, texts in self.texts.items())
        return self.make_data(EpochBatches(train, self.batch, training.seed, make_labelled_batch, sentence_length), valid,
                              self.texts["valid"][:EXAMPLES])

    def evaluate(self, run, search, test=None) -> dict[str, Any]:
        """The accuracy, and that of always predicting the most common class."""
        file = only_file(test or self.valid, "--test", "one file of labelled sentences")
        texts = read_labelled(file, "--test" if test else "validation file")
        return self.scores(run.model, self._encode(run.vocabulary, file, texts))

    def _encode(self, vocabulary, file, texts) -> list[tuple[list[int], int]]:
        """[(ids, class)]. Raises InputError for a label that the training file does not have."""
        places = {label: i for i, label in enumerate(self.labels)}
        unknown = next((label for _, label in texts if label not in places), None)
        if unknown is not None:
            raise InputError(f"{file}: the label {unknown!r} is not in the training file, which has {', '.join(self.labels[:12])}")
        sentences = vocabulary.encode_all([text for text, _ in texts])
        warn_of_unknown(vocabulary, " ".join(text for text, _ in texts), [i for ids in sentences for i in ids], file)
        if long := sum(len(ids) > self.max_length for ids in sentences):
            print(f"{file}: {long:,} sentence{'s are' if long > 1 else ' is'} longer than {self.max_length} tokens: only the first "
                  f"{self.max_length} are read (--max-length in training)", file=sys.stderr)
        return [(ids[:self.max_length], places[label]) for ids, (_, label) in zip(sentences, texts) if ids]
