"""A language model of today: SmolLM2 if its file is here, otherwise a tiny one with the same blocks and random weights."""

import os
import string
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from minitransformer.data.smollm2 import FILES
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.decoding import generate
from minitransformer.errors import InputError
from minitransformer.functional.special import SPECIAL
from minitransformer.interchange.pretrained.importing import import_model
from minitransformer.learn.plug import plugs
from minitransformer.models import LanguageModel, LanguageModelConfig
from minitransformer.training.run import Run

SMOLLM2 = LanguageModelConfig(
    vocab_size=49_152, max_length=8192, num_layers=30, d_model=576, d_ff=1536, num_heads=9, d_k=64, dropout=0.0,
    pre_norm=True, norm="rms", positions="rotary", activation="swiglu", attention="grouped", embedding="unscaled",
    attention_settings={"kv_heads": 3, "rotary_base": 100_000.0, "rotary_layout": "interleaved"})
CHARACTERS = SymbolVocabulary(string.printable[:94], joint="")
TINY = replace(SMOLLM2, vocab_size=CHARACTERS.size, max_length=512, num_layers=3, d_model=72, d_ff=192, d_k=8)
TOKENS = 40    # of an answer


class Today(NamedTuple):
    """A model with RMSNorm, rotary positions, gated units and grouped queries; `own` is {name of an exercise: a function}."""

    model: LanguageModel
    vocabulary: Any

    def prompt(self, question) -> list[int]:
        """The ids of a question, in the form in which the model was trained to chat."""
        return getattr(self.vocabulary, "encode_chat", self.vocabulary.encode)(question)

    def answer(self, question, own=None, tokens=TOKENS) -> str:
        """The likeliest token each time. The functions of `own` run in place of the library's."""
        ends = getattr(self.vocabulary, "ends", False)
        with running(own):
            try:
                ids = list(generate(self.model, self.prompt(question), tokens, np.random.default_rng(0), top_k=1, ends=ends))
            except InputError as error:    # logits that are not finite
                return f"({error})"
        return self.vocabulary.decode(ids)

    def logits(self, question, own=None) -> np.ndarray:
        """(T, V), of the token after each token of the question."""
        with running(own):
            return self.model.forward(np.array([self.prompt(question)]))[0][0]


def smollm2() -> Today:
    """The model that this page runs; says which one it is, and how to get the real one."""
    try:
        found = real()
    except InputError as error:
        found = None
        print(f"a tiny model with random weights: {error}")
    return found or Today(LanguageModel(TINY), CHARACTERS)


def real() -> Today:
    """SmolLM2, imported from its file. Raises InputError if that, or a library to read it, is not here."""
    name = next(iter(FILES))
    data = os.environ.get("MINITRANSFORMER_DATA")
    folders = [Path("data", "smollm2"), *([Path(data), Path(data, "smollm2")] if data else [])]
    path = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if path is None:
        raise InputError("no file of SmolLM2 here; `minitransformer data smollm2` downloads it (98 MB)")
    with TemporaryDirectory() as folder:
        run = Run.load(import_model(path, Path(folder, "run")).path)
    return Today(run.model, run.vocabulary)


@contextmanager
def running(own) -> Iterator[None]:
    with ExitStack() as stack, np.errstate(all="ignore"):
        for one in plugs(own or {}):
            stack.enter_context(one)
        yield
