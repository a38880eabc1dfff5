"""The toy tasks copy, reverse and sort, and the common part of all toy tasks: examples are drawn,
and nothing is downloaded.

One example in ten is held out, chosen by a checksum of its source text, so no seed can ever put a
test example into training.
"""

import string
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

from minitransformer.backend import Generator
from minitransformer.data.batches import make_batch
from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.decoding.translation import Search
from minitransformer.tasks.evaluation import exact_match, mean_loss, pair_batches, perplexity
from minitransformer.tasks.task import EXAMPLES, Data
from minitransformer.tasks.text_to_text import TextToText

if TYPE_CHECKING:
    from minitransformer.runs.config import TrainingConfig
    from minitransformer.runs.run import Run

MAX_LETTERS = 12
VALID, TEST = 200, 1000  # number of held-out examples for validation and the test
TOY_TRAINING = dict(config="toy", steps=500, warmup=50, rate_factor=0.3)


def is_held_out(source: Sequence[str]) -> bool:
    """Whether an example with this source, a list of symbols, is held out from training."""
    return crc32(" ".join(source).encode()) % 10 == 0


class ToyTask(TextToText):
    """A task that turns random symbols into their answer. A subclass has `draw(rng) -> (source,
    target)`, lists of symbols.
    """

    draw: ClassVar[Callable[..., tuple[list[str], list[str]]]]
    defaults: ClassVar[dict] = TOY_TRAINING
    make_batch: ClassVar = staticmethod(make_batch)
    is_held_out: ClassVar = staticmethod(is_held_out)

    def sizes(self) -> dict[str, int]:
        return {"batch": self.batch}

    def encode(self, source: Sequence[str], target: Sequence[str]) -> tuple[list[int], list[int]]:
        vocabulary = self.make_vocabulary()
        return vocabulary.encode_symbols(source), vocabulary.encode_symbols(target)

    def data(self, vocabulary: SymbolVocabulary, training: "TrainingConfig") -> Data:
        pairs = draw_held_out(self, VALID, seed=1)
        return Data(
            DrawnBatches(self, self.batch, training.seed),
            pair_batches(pairs),
            lambda model: {
                "valid_exact_match": exact_match(model, pairs, threads=training.threads)
            },
            [
                (" ".join(vocabulary.tokens(source)), vocabulary.decode(target))
                for source, target in pairs[:EXAMPLES]
            ],
        )

    def evaluate(self, run: "Run", search: Search) -> dict[str, Any]:
        """Exact match and perplexity on held-out examples, the same ones every time."""
        pairs = draw_held_out(self, TEST)
        return {
            "exact_match": exact_match(run.model, pairs, search),
            "examples": len(pairs),
            "perplexity": perplexity(mean_loss(run.model, pair_batches(pairs))),
        }

    def summary(self, run: "Run") -> str:
        scores = self.evaluate(run, self.search)
        return f"exact match {scores['exact_match']:.1%} on {scores['examples']:,} examples never trained on"


_LETTERS = SymbolVocabulary(string.ascii_lowercase)


class LetterTask(ToyTask):
    """Maps 1 to 12 letters, such as "c a b", to the result of `transform`."""

    transform: ClassVar[Callable]  # takes a list of letters

    def draw(self, rng: Generator) -> tuple[list[str], list[str]]:
        letters = rng.integers(26, size=rng.integers(1, MAX_LETTERS + 1))
        source = [string.ascii_lowercase[i] for i in letters]
        return source, self.transform(source)

    def make_vocabulary(self) -> SymbolVocabulary:
        return _LETTERS


class Copy(LetterTask):
    name: ClassVar[str] = "copy"
    description: ClassVar[str] = "copy letters: c a b -> c a b"
    defaults: ClassVar[dict] = {**TOY_TRAINING, "steps": 350}
    transform: ClassVar = staticmethod(list)


class Reverse(LetterTask):
    name: ClassVar[str] = "reverse"
    description: ClassVar[str] = "reverse letters: c a b -> b a c"
    transform: ClassVar = staticmethod(lambda letters: letters[::-1])


class Sort(LetterTask):
    name: ClassVar[str] = "sort"
    description: ClassVar[str] = "sort letters: c a b -> a b c"
    defaults: ClassVar[dict] = {**TOY_TRAINING, "steps": 3000, "rate_factor": 0.2}
    transform: ClassVar = staticmethod(sorted)
