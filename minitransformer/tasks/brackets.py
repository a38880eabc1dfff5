"""The toy task brackets: are they balanced? Classification with nothing to download."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.data.labelled import make_labelled_batch
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.errors import InputError
from minitransformer.tasks.classification import Classification
from minitransformer.tasks.task import EXAMPLES, Data
from minitransformer.tables import setting
from minitransformer.tasks.toy import TEST, TOY_TRAINING, VALID, is_held_out

MAX_PAIRS = 10    # pairs of brackets in a text
_VOCABULARY = CharacterVocabulary("()")


@dataclass(frozen=True, kw_only=True)
class Brackets(Classification):
    name: ClassVar[str] = "brackets"
    description: ClassVar[str] = "tell whether brackets are balanced: (())() -> balanced"
    defaults: ClassVar[dict] = {**TOY_TRAINING, "steps": 1000, "smoothing": 0.0, "pre_norm": True}
    labels: ClassVar[tuple] = ("balanced", "unbalanced")
    make_batch: ClassVar = staticmethod(make_labelled_batch)
    is_held_out: ClassVar = staticmethod(is_held_out)

    batch: int = setting("examples in a batch", 128)

    def draw(self, rng) -> tuple[list[str], str]:
        """(brackets, label): half the texts are balanced; the others differ from a balanced text in one or two brackets."""
        brackets = draw_balanced(rng, 1 + int(MAX_PAIRS * rng.random() ** 0.5))    # there are only a few short ones
        if rng.random() < 0.5:
            return brackets, "balanced"
        while is_balanced(brackets):
            for place in rng.integers(len(brackets), size=rng.integers(1, 3)):
                brackets[place] = ")" if brackets[place] == "(" else "("
        return brackets, "unbalanced"

    def make_vocabulary(self) -> CharacterVocabulary:
        return _VOCABULARY

    def encode(self, brackets, label) -> tuple[list[int], int]:
        return _VOCABULARY.encode("".join(brackets)), self.labels.index(label)

    def read(self, run, texts) -> list[list[int]]:
        brackets = ["".join(text.split()) for text in texts]
        for number, text in enumerate(brackets, 1):
            if other := text.strip("()"):
                raise InputError(f"line {number}: {other[0]!r} is not a bracket, expected ( or )")
        return super().read(run, brackets)

    def data(self, vocabulary, training) -> Data:
        held_out = draw_held_out(self, VALID, seed=1)
        return self.make_data(DrawnBatches(self, self.batch, training.seed), held_out,
                              [(vocabulary.decode(ids), self.labels[label]) for ids, label in held_out[:EXAMPLES]])

    def evaluate(self, run, search) -> dict[str, Any]:
        """Accuracy on held-out examples, the same ones every time."""
        return self.scores(run.model, draw_held_out(self, TEST))

    def summary(self, run) -> str:
        scores = self.evaluate(run, self.search)
        return (f"accuracy {scores['accuracy']:.1%} on {scores['examples']:,} examples never trained on "
                f"(always predicting the most common class: {scores['majority']:.1%})")


def draw_balanced(rng, pairs) -> list[str]:
    """A balanced list of `pairs` pairs of brackets, split at random between the inside of the first pair and what follows it."""
    if not pairs:
        return []
    inside = int(rng.integers(pairs))
    return ["(", *draw_balanced(rng, inside), ")", *draw_balanced(rng, pairs - 1 - inside)]


def is_balanced(brackets) -> bool:
    """Whether every bracket is opened before it is closed, and none stays open."""
    depths = [0, *accumulate(1 if bracket == "(" else -1 for bracket in brackets)]
    return min(depths) == depths[-1] == 0
