"""The common part of the tasks with a source and a target text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from minitransformer.backend import Array
from minitransformer.decoding import GREEDY, decode_all, encode, translate
from minitransformer.errors import InputError
from minitransformer.data.special import BOS, EOS
from minitransformer.data.vocabularies.vocabulary import Vocabulary
from minitransformer.decoding.state import Decodable
from minitransformer.decoding.translation import Search
from minitransformer.tasks.task import Attended, Task

if TYPE_CHECKING:
    from minitransformer.runs.run import Run


@dataclass(frozen=True, kw_only=True)
class TextToText(Task):
    """An encoder-decoder reads a source and writes a target; both share one vocabulary."""

    models: ClassVar[tuple] = ("transformer", "rnn", "gru", "lstm", "lstm-attention")
    evaluate_options: ClassVar[tuple] = ("beam", "length_penalty", "min_length", "max_length")

    max_length: int = 256  # the longest source, in tokens

    def model_sizes(self, vocabulary: Vocabulary) -> dict[str, int]:
        return {"vocab_size": vocabulary.size}

    def answer(self, run: "Run", texts: Sequence[str], search: Search | None = None) -> list[str]:
        return translate(run.model, run.vocabulary, texts, self.max_length, search or self.search)

    def hypotheses(
        self, run: "Run", texts: Sequence[str], search: Search | None = None
    ) -> list[list[tuple[float, str]]]:
        """For each of `texts` [(score, output text)], the best first; a text that is too long is
        reported on stderr.
        """
        sources = encode(run.vocabulary, texts, self.max_length)
        return [
            [(hypothesis.score, run.vocabulary.decode(hypothesis.ids)) for hypothesis in found]
            for found in decode_all(run.model, sources, search or self.search)
        ]

    def attention(self, run: "Run", text: str) -> dict[str, Attended]:
        (source,) = encode(run.vocabulary, [text], self.max_length)
        if not source:
            raise InputError("the text is empty, expected a source text")
        return attended(run.model, run.vocabulary, source, self.search)


class Attentive(Decodable, Protocol):
    """A model that writes and shows where it looks."""

    def attention_weights(self, source: Array, target: Array) -> dict[str, list[Array]]: ...


def attended(
    model: Attentive, vocabulary: Vocabulary, source: list[int], search: Search = GREEDY
) -> dict[str, Attended]:
    """{kind: Attended} while the model reads a list of ids and writes the answer that it finds
    best.
    """
    ((best, *_),) = decode_all(model, [source], search)
    source, target = [*source, EOS], [BOS, *best.ids]
    weights = model.attention_weights(np.array([source]), np.array([target]))
    read, written = vocabulary.tokens(source), vocabulary.tokens(target)
    predicted = vocabulary.tokens([*best.ids, EOS])
    sides = {
        "cross": (written, read, predicted),
        "encoder": (read, read),
        "decoder": (written, written, predicted),
    }
    return {
        kind: Attended(weights[kind], *tokens) for kind, tokens in sides.items() if kind in weights
    }
