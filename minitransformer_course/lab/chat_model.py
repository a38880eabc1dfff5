"""Language models of today: a small one that has read Shakespeare and comes with the book, and
SmolLM2 if its file is here. Both have the same blocks.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from minitransformer.data.special import SPECIAL
from minitransformer.decoding import generate
from minitransformer.errors import InputError
from minitransformer.interchange.weights import load_weights
from minitransformer.models import LanguageModel, LanguageModelConfig
from minitransformer.runs.run import Run
from minitransformer.zoo.pretrained import llama
from minitransformer.zoo.pretrained.importing import import_model
from minitransformer.zoo.pretrained.smollm2 import FILES
from minitransformer_course.judge.course import folder_of_chapters
from minitransformer_course.judge.plug import plugs
from minitransformer_course.lab.pictures import show_curves
from minitransformer_course.lab.text import shakespeare

SMOLLM2 = LanguageModelConfig(
    vocab_size=49_152,
    max_length=8192,
    num_layers=30,
    d_model=576,
    d_ff=1536,
    num_heads=9,
    d_k=64,
    dropout=0.0,
    pre_norm=True,
    norm="rms",
    positions="rotary",
    activation="swiglu",
    attention="grouped",
    embedding="unscaled",
    attention_settings={"kv_heads": 3, "rotary_base": 100_000.0, "rotary_layout": "interleaved"},
)
PARAMETERS = sum(math.prod(tensor.shape) for tensor in llama.tensors(SMOLLM2))
SMALL = replace(
    SMOLLM2,
    vocab_size=65,
    max_length=96,
    num_layers=4,
    d_model=80,
    d_ff=160,
    num_heads=4,
    d_k=20,
    attention_settings={"kv_heads": 2, "rotary_base": 10_000.0, "rotary_layout": "interleaved"},
)
TOKENS = 40  # of an answer
MISSING = "SmolLM2 is not here: `minitransformer data smollm2` downloads it (98 MB)"


class Today(NamedTuple):
    """A model with RMSNorm, rotary positions, gated units and grouped queries.

    `own`, {name of an exercise: a function}, runs in place of the library's functions; all the rest
    is the textbook.
    """

    model: LanguageModel
    vocabulary: Any

    def prompt(self, question) -> list[int]:
        """The ids of a question, in the form in which the model was trained to chat."""
        return getattr(self.vocabulary, "encode_chat", self.vocabulary.encode)(question)

    def answer(self, question, own=None) -> str:
        """What follows a text or a question: 40 tokens, the likeliest one each time, and none of
        them ends it.
        """
        with running(own):
            try:
                ids = list(
                    generate(
                        self.model, self.prompt(question), TOKENS, np.random.default_rng(0), top_k=1
                    )
                )
            except InputError as error:  # logits that are not finite
                return f"({error})"
        return self.vocabulary.decode(ids)

    def logits(self, question, answer="", own=None) -> np.ndarray:
        """(T, V): row t is about token t + 1 of the question and its answer."""
        with running(own):
            return self.model.forward(
                np.array([[*self.prompt(question), *self.vocabulary.encode(answer)]])
            )[0][0]

    def sizes(self, question, own=None) -> np.ndarray:
        """The root mean square of x before each layer, (layers, T)."""
        with running(own):
            _y, cache = self.model.hidden(np.array([self.prompt(question)]))
        return np.array(
            [1 / one.self_attention_entered.inverse[0, :, 0] for one in cache.stack.layers]
        )

    @contextmanager
    def as_halves(self, columns) -> Iterator[None]:
        """Within the block, numbers i and i + d/2 of a head are a pair; its columns of W_q and W_k
        are in the order `columns`.
        """
        before = self.model.config.attention_settings["rotary_layout"]
        _arrange(self.model, "half", columns)
        try:
            yield
        finally:
            _arrange(self.model, before, np.argsort(columns))


def _arrange(model, layout, columns) -> None:
    for layer in model.stack.layers:
        attention = layer.self_attention
        attention.rotary_layout = layout
        for weight in attention.query.weight.data, attention.key.weight.data:
            heads = weight.reshape(len(weight), -1, len(columns))  # a view: (d_model, heads, d_k)
            heads[...] = heads[..., columns]


def small() -> Today:
    """The model that tutorials/small_shakespeare/train.py trains: a new one at each call."""
    model = LanguageModel(SMALL)
    load_weights(model, folder_of_chapters() / "small_shakespeare" / "weights.safetensors")
    return Today(model, shakespeare()[0])


def smollm2() -> Today | None:
    """SmolLM2; without its file, or a library to read it, None after one line that says what is
    missing.
    """
    try:
        return real()
    except InputError as error:
        print(error)
        return None


def real() -> Today:
    """SmolLM2, imported from its file. Raises InputError if that, or a library to read it, is not
    here.
    """
    name, data = next(iter(FILES)), os.environ.get("MINITRANSFORMER_DATA")
    folders = [Path("data", "smollm2"), *([Path(data), Path(data, "smollm2")] if data else [])]
    path = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if path is None:
        raise InputError(MISSING)
    with TemporaryDirectory() as folder:
        run = Run.load(import_model(path, Path(folder, "run")).path)
    return Today(run.model, run.vocabulary)


@contextmanager
def running(own) -> Iterator[None]:
    """Within the block, the functions of {name of an exercise: a function} run in place of the
    library's.
    """
    with plugs(own or {}), np.errstate(all="ignore"):
        yield


def show_sizes(sizes) -> None:
    """Draw the root mean square of x before each layer (layers, T), and that of its normalised
    rows, which is 1.
    """
    layers = range(1, len(sizes) + 1)
    _figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
    axes.semilogy(layers, sizes, color="0.8")
    axes.semilogy(
        layers, np.median(sizes, axis=1), "k", label="x: a grey line for each token, and the median"
    )
    axes.axhline(1, color="tab:green", label="n")
    axes.set(
        xlabel="layer that reads it",
        ylabel="root mean square",
        xticks=layers[:: len(sizes) // 10 + 1],
    )
    axes.legend()


def show_cache(axes, heads_of_keys) -> None:
    """Draw how many numbers the key-value cache of SmolLM2 would hold, for several numbers of heads
    of keys.
    """
    positions = np.arange(SMOLLM2.max_length + 1, step=64)
    axes.axhline(PARAMETERS / 1e6, color="0.6", label="weights")
    show_curves(
        axes,
        positions,
        {
            f"cache, {count} heads of keys": 2e-6
            * SMOLLM2.num_layers
            * count
            * SMOLLM2.d_k
            * positions
            for count in heads_of_keys
        },
        "positions",
        "millions of numbers",
    )


def show_changes(bits) -> None:
    """Draw what a character costs, {what was changed: bits}, and what guessing costs."""
    _figure, axes = plt.subplots(figsize=(8, 2.8), layout="constrained")
    axes.barh(list(bits), list(bits.values()), color="0.6")
    guessing = np.log2(SMALL.vocab_size - len(SPECIAL))
    axes.axvline(guessing, color="tab:red", linestyle="--", label="guessing")
    axes.set(xscale="log", xlabel="bits per character of the held-out text", ylabel="change")
    axes.invert_yaxis()
    axes.legend()
