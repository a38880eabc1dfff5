"""Language modelling: each token of a text is predicted from the tokens before it."""

import math
import unicodedata
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minitransformer.data.text_files import Read
from minitransformer.data.unknown import count_unknown, warn_of_unknown
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.data.vocabularies.vocabulary import Vocabulary
from minitransformer.data.windows import WindowBatches, check_length, consecutive_windows
from minitransformer.decoding import generate
from minitransformer.decoding.translation import Search
from minitransformer.errors import InputError, counted
from minitransformer.tasks.evaluation import mean_loss, perplexity
from minitransformer.tasks.files import FromFiles, only_file
from minitransformer.tasks.task import Attended, Data
from minitransformer.tables import setting

if TYPE_CHECKING:
    from minitransformer.runs.config import TrainingConfig
    from minitransformer.runs.run import Run

# in the report: the number of texts, and the tokens of each prompt and continuation
EXAMPLES, PROMPT, CONTINUATION = 3, 40, 120
VOCABULARIES = {
    "characters": lambda text, size: CharacterVocabulary.learn(text),
    "subwords": lambda text, size: SubwordVocabulary.learn([text], size, sentences=False),
}


@dataclass(frozen=True, kw_only=True)
class Language(FromFiles):
    name: ClassVar[str] = "language"
    description: ClassVar[str] = "predict the next character or subword of a text"
    model: ClassVar[str] = "language-model"
    command: ClassVar[str] = "generate"
    defaults: ClassVar[dict] = dict(
        config="tiny",
        steps=2500,
        warmup=100,
        smoothing=0.0,
        schedule="inverse-sqrt",
        peak_rate=0.002,
        pre_norm=True,
        dropout=0.0,
    )
    presets: ClassVar[dict] = {
        # For two cores and 20 minutes: 2,048 characters per update, 14 passes over the text.
        "tinyshakespeare": dict(
            config="tiny",
            d_ff=512,
            window=256,
            batch=8,
            dropout=0.1,
            schedule="constant",
            peak_rate=0.003,
            warmup=100,
            cooldown=0.6,
            steps=7000,
            validate_every=1000,
        ),
    }
    evaluate_options: ClassVar[tuple] = ("test",)
    files_option: ClassVar[dict] = dict(nargs=1, metavar="FILE", help="text file, plain or .gz")

    batch: int = setting("windows in a batch", 32)
    vocabulary: str = setting("what a token is", "characters", tuple(VOCABULARIES))
    vocab_size: int = setting("subwords learned on the training text", 1000)
    window: int = setting("tokens that the model reads at once", 128)

    @classmethod
    def add_arguments(cls, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--from",
            dest="base",
            metavar="RUN",
            help="begin with the weights of this run: its vocabulary and the sizes of its model stay",
        )

    def read_files(self, files: list[str], name: str, read: Read) -> str:
        return _normalised(read(only_file(files, name, "one text file")))

    def make_vocabulary(self) -> Any:
        return VOCABULARIES[self.vocabulary](self.texts["train"], self.vocab_size)

    def remarks(self, vocabulary: Vocabulary) -> list[str]:
        if self.vocabulary == "subwords":
            return super().remarks(vocabulary)
        asked, found = self.vocab_size, counted(vocabulary.size, "token")
        return (
            []
            if asked == type(self).vocab_size
            else [f"--vocab-size {asked} is for subwords; the characters make {found}"]
        )

    def sizes(self) -> dict[str, int]:
        return {"batch": self.batch, "window": self.window}

    def model_sizes(self, vocabulary: Vocabulary) -> dict[str, int]:
        return {"vocab_size": vocabulary.size, "max_length": self.window}

    def check_base(self, run: "Run") -> None:
        """Raise InputError unless a training run of this task can begin with the model of `run`."""
        if run.task.name != self.name:
            raise InputError(
                f"--from {run.path}: a run of the task {run.task.name}, expected {self.name}"
            )
        if self.window > run.model.config.max_length:
            raise InputError(
                f"window is {self.window}, but the model of {run.path} reads at most "
                f"{counted(run.model.config.max_length, 'token')}"
            )

    def data(self, vocabulary: Vocabulary, training: "TrainingConfig") -> Data:
        ids = {
            name: self.encode_text(vocabulary, text, getattr(self, name)[0])
            for name, text in self.texts.items()
        }
        for name, found in ids.items():
            check_length(
                found,
                self.window,
                f"--{name} {getattr(self, name)[0]}",
                "give more text, or a smaller --window",
            )
        valid = consecutive_windows(ids["valid"], self.window, self.batch)
        return Data(
            WindowBatches(ids["train"], self.window, self.batch, training.seed),
            valid,
            None,
            _examples(vocabulary, ids["valid"], self.window),
        )

    def encode_text(self, vocabulary: Vocabulary, text: str, name: str = "the text") -> list[int]:
        """The token ids of a text, read as if from a file; characters that are not in the
        vocabulary are reported on stderr.

        Raises InputError, with `name` and the line, for a vocabulary without an unknown token.
        """
        text = _normalised(text)
        try:
            ids = vocabulary.encode(text)
        except InputError as error:
            of_characters = isinstance(vocabulary, CharacterVocabulary)
            hint = "; a model with --vocabulary subwords reads it as <unk>" if of_characters else ""
            raise InputError(f"{name}, {error}{hint}") from None
        warn_of_unknown(vocabulary, text, ids, name)
        return ids

    def answer(self, run: "Run", texts: Sequence[str], search: Search | None = None) -> list[str]:
        """The model's continuation of each text, drawn at temperature 0.8 from a fixed seed."""
        self.check_no_search(search)
        rng = np.random.default_rng(0)
        return [
            run.vocabulary.decode(
                list(
                    generate(
                        run.model, self.encode_text(run.vocabulary, text), CONTINUATION, rng, 0.8
                    )
                )
            )
            for text in texts
        ]

    def evaluate(
        self, run: "Run", search: Search | None, test: list[str] | None = None
    ) -> dict[str, Any]:
        """Perplexity and nats per token, and bits per character, over a complete text in windows
        that do not overlap.

        For a character that is not in the vocabulary, the model had to predict <unk>; the result
        says how many there are.
        """
        files, text = self.to_measure(run, test)
        ids = self.encode_text(run.vocabulary, text, files[0])
        check_length(ids, 1, files[0])
        window = min(self.window, len(ids) - 1)  # a short text is one window
        nats = mean_loss(run.model, consecutive_windows(ids, window, self.batch))
        predicted = len(ids) - 1
        characters = len(text) - len(run.vocabulary.decode(ids[:1]))
        return {
            "perplexity": perplexity(nats),
            "nats_per_token": nats,
            "bits_per_character": nats * predicted / characters / math.log(2),
            "tokens": predicted,
            "characters": characters,
            "unknown_characters": count_unknown(run.vocabulary, ids),
        }

    def attention(self, run: "Run", text: str) -> dict[str, Attended]:
        ids = self.encode_text(run.vocabulary, text)
        if not ids:
            raise InputError("the text is empty, expected a text to read")
        tokens = run.vocabulary.tokens(ids)
        weights = run.model.attention_weights(np.array([ids]))["decoder"]
        # what follows the text is unknown
        return {"decoder": Attended(weights, tokens, tokens, [*tokens[1:], "…"])}


def _normalised(text: str) -> str:
    """A text in Unicode's composed form (NFC), in which subwords are learned and characters
    counted, with \\n as line end.
    """
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n"))


def _examples(vocabulary: Vocabulary, ids: list[int], window: int) -> list[tuple[str, str]]:
    """[(the beginning of a passage, its continuation)]."""
    # half a window: the decoded text may encode to a few more subwords
    read = max(1, min(PROMPT, window // 2))
    length = read + CONTINUATION
    starts = np.linspace(0, max(0, len(ids) - length), EXAMPLES).astype(int)
    return [
        (vocabulary.decode(ids[i : i + read]), vocabulary.decode(ids[i + read : i + length]))
        for i in starts
    ]
