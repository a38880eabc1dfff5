"""One self-contained page about a model and one text: figure 1 of its configuration, every number
in it, and every gradient.
"""

import json
import unicodedata
from base64 import b64encode
from dataclasses import MISSING, dataclass, fields, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from minitransformer.backend import to_host
from minitransformer.checks import check_kind
from minitransformer.data.batches import Batch, make_batch
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.data.windows import WindowBatch
from minitransformer.decoding import GREEDY, decode_all
from minitransformer.errors import InputError, one_line, span
from minitransformer.interchange.weights import check_arrays
from minitransformer.models import LanguageModel, Transformer
from minitransformer.pictures.boxes import Map
from minitransformer.runs.snapshots import load_snapshot, snapshot_steps
from minitransformer.runs.run import Run
from minitransformer_course.explorer.recorded import record
from minitransformer_course.explorer.sentences import translated, words
from minitransformer_course.messages import _, language

ENGINE = [
    f"engine/{name}"
    for name in (
        "tensor",
        "terms",
        "layer",
        "linear",
        "embedding",
        "positions",
        "input",
        "masks",
        "softmax",
        "attention",
        "layer_norm",
        "feed_forward",
        "residual",
        "encoder",
        "decoder",
        "output",
        "cross_entropy",
        "transformer",
        "adam",
    )
]
PAGE = [
    f"page/{name}"
    for name in (
        "data",
        "measure",
        "places",
        "mistakes",
        "heat",
        "map",
        "arrays",
        "open",
        "why",
        "view",
        "ask",
        "tour",
        "main",
    )
]
MODELS = (Transformer, LanguageModel)
LONGEST = 60  # tokens of a text: each is a row of the heat maps
LIVE = 400_000  # parameters: the page of a larger model holds recorded numbers
NUMBERS = 1_000_000  # of all weights of the time slider together
READ = (
    "num_layers",
    "num_heads",
    "activation",
    "pre_norm",
    "norm_epsilon",
    "share_embeddings",
    "share_output",
)  # by the engine
SHAPES = (
    "d_model",
    "d_ff",
    "d_k",
    "d_v",
    "max_length",
    "source_vocab",
    "target_vocab",
    "vocab_size",
)  # of the weights
KNOWN = {
    "activation": ("relu", "gelu"),
    "positions": ("sinusoidal", "learned"),
}  # of any other field only its default
VOCABULARIES = {CharacterVocabulary: "characters", SymbolVocabulary: "symbols"}


@dataclass(frozen=True)
class Page:
    """A page as text: `html`. A notebook shows it in a cell."""

    html: str

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" style="width: 100%; height: 60em; border: 0"></iframe>'


def explore(run, text, target=None) -> Page:
    """The Page of a run for one text, with a target or, without one, with what the model writes.

    Raises InputError for a text that is empty, too long or has unknown tokens, and for a model that
    the engine does not know.
    """
    check_kind(isinstance(run, Run), "explore: the run", run, "a Run, such as Run.load(folder)")
    engine_config(run.model)
    if target is not None and run.task.command != "translate":
        raise InputError(f"target is of no use to the task {run.task.name}; leave it out")
    smoothing = run.settings.training.smoothing if run.settings.training else 0.0
    batch = batch_of(run.model, run.vocabulary, text, target, run.task.search)
    title = " ".join(
        dict.fromkeys([run.path.name, run.task.name])
    )  # the run's folder is often called as its task
    return make_page(run.model, run.vocabulary, batch, smoothing, title, *_stops(run))


def engine_config(model) -> dict[str, Any]:
    """What the engine reads of a model's configuration. Raises InputError for anything that it does
    not know, by name.
    """
    if type(model) not in MODELS:
        raise InputError(
            f"a page shows Transformers and language models, not a {type(model).__name__}"
        )
    for one in fields(model.config):
        value, default = (
            getattr(model.config, one.name),
            one.default if one.default_factory is MISSING else one.default_factory(),
        )
        read = one.name in (*READ, *SHAPES) or one.name.endswith("dropout")
        known = KNOWN.get(one.name, (value if read else default,))
        if value not in known:
            raise InputError(
                f"{one.name} is {value!r}, but a page shows only models with {' or '.join(map(repr, known))}"
            )
    for layer in model.sublayers().values():
        if not type(layer).__module__.startswith("minitransformer.layers."):
            raise InputError(
                f"a page shows models made of the paper's layers, not of {type(layer).__name__}"
            )
    return {name: getattr(model.config, name, None) for name in READ}


def batch_of(model, vocabulary, text, target=None, search=GREEDY) -> Batch | WindowBatch:
    """The batch of one text: a language model predicts all tokens but the first, any other model
    the target or its own output.
    """
    most = _longest(model)
    if isinstance(model, LanguageModel):
        ids = _ids(vocabulary, text, "the text", 2, most)
        return WindowBatch(np.array([ids[:-1]]), np.array([ids[1:]]), len(ids) - 1)
    source = _ids(vocabulary, text, "the text", 1, most)
    if target is not None:
        return make_batch([(source, _ids(vocabulary, target, "the target", 0, most))])
    ((best, *_),) = decode_all(model, [source], replace(search, max_length=most))
    return make_batch([(source, best.ids)])


def _longest(model) -> int:
    """The largest number of tokens in a text: a Transformer also reads its end, a language model
    only predicts the last one.
    """
    if isinstance(model, LanguageModel):
        return min(LONGEST, model.config.max_length + 1)
    return min(LONGEST, model.source_input.positions.max_length - 1)


def _ids(vocabulary, text, name, least, most) -> list[int]:
    """The ids of a text. Raises InputError for one that cannot be encoded, or that has fewer or
    more tokens.
    """
    check_kind(isinstance(text, str), f"explore: {name}", text, "a str")
    text = unicodedata.normalize("NFC", text)
    ids = vocabulary.encode(text if isinstance(vocabulary, CharacterVocabulary) else text.strip())
    if getattr(vocabulary, "unknown_id", None) in ids:
        raise InputError(
            f"{name} has characters that are not in the vocabulary: {' '.join(vocabulary.unknown_characters(text))}"
        )
    if not least <= len(ids) <= most:
        found = f"has {len(ids)} token{'' if len(ids) == 1 else 's'}" if ids else "is empty"
        raise InputError(
            f"{name} {found}, expected {span(least, most)}: the page draws each of them"
        )
    return ids


def _stops(run) -> tuple[dict[str, dict[str, Any]], list[int]]:
    """{when: weights} for the time slider: some snapshots of training, and the trained model; and
    the steps that it leaves out.
    """
    trained = {name: parameter.data for name, parameter in run.model.parameters().items()}
    steps, most = (
        run.settings.training.steps if run.settings.training else 0,
        NUMBERS // run.model.num_parameters() - 1,
    )
    kept = [
        step for step in snapshot_steps(run.path) if step != steps
    ]  # the last one is, unless averaged, the trained model
    chosen = np.linspace(0, len(kept) - 1, max(0, min(most, len(kept)))).astype(int)
    found = {f"step {kept[i]:,}": load_snapshot(run.path, kept[i]) for i in chosen}
    for arrays in found.values():
        check_arrays(arrays, {name: array.shape for name, array in trained.items()})
    return {**found, "the trained model": trained}, [
        step for i, step in enumerate(kept) if i not in chosen
    ]


def make_page(model, vocabulary, batch, smoothing, title, weights, left_out=()) -> Page:
    """The Page of a model for one Batch or WindowBatch; weights: {when: {name: array}}, for the
    time slider.

    left_out: the steps of the snapshots for which the page has no room, which it names.
    """
    config, parameters = model.config, model.parameters()
    live, both = model.num_parameters() <= LIVE, isinstance(model, Transformer)
    tokens, joint, found = (
        vocabulary.tokens(range(vocabulary.size)),
        getattr(vocabulary, "joint", " "),
        Map(config),
    )
    data = {
        "kind": type(model).__name__,
        "config": engine_config(model),
        "vocabulary": {
            "tokens": tokens,
            "joint": joint,
            "kind": VOCABULARIES.get(type(vocabulary), "pieces"),
        },
        "batch": {name: getattr(batch, name)[0].tolist() for name in batch._fields[:-1]},
        "smoothing": smoothing,
        "limit": _longest(model),
        "sizes": [config.source_vocab, config.target_vocab] if both else [config.vocab_size],
        "map": {
            "boxes": [box._asdict() for box in found.boxes],
            "lines": [line._asdict() for line in found.lines],
            "height": found.height,
        },
    }
    if live:
        dtype = next(iter(parameters.values())).data.dtype.name
        data |= {
            "dtype": dtype,
            "shapes": {name: parameter.shape for name, parameter in parameters.items()},
            "weights": [
                {"name": when, "data": packed([arrays[name] for name in parameters], dtype)}
                for when, arrays in weights.items()
            ],
            "left_out": list(left_out),
        }
    else:
        data["recorded"] = _recorded(model.to("numpy").astype("float64"), batch, smoothing)
    read = batch.source[0, :-1] if both else [*batch.ids[0], batch.next_target[0, -1]]
    text, target = (
        escape(joint.join(tokens[i] for i in ids)).replace("\n", "↵")
        for ids in (read, batch.target[0, 1:] if both else [])
    )
    scripts = "\n".join(f"<script>\n{script(name)}</script>" for name in (*ENGINE, *PAGE))
    data["words"] = words(scripts)
    as_json = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )  # no text ends the script
    html = translated(script("page/page.html", "")).format(
        language=language(),
        title=escape(one_line(title)),
        source=_("Source") if both else _("Text"),
        text=text,
        target=target,
        style=script("page/page.css", ""),
        data=as_json,
        scripts=scripts,
    )
    return Page(html)


def script(name, suffix=".js") -> str:
    return Path(__file__).parent.joinpath(name + suffix).read_text(encoding="utf-8")


def packed(arrays, dtype) -> str:
    """The numbers of all arrays in base64."""
    numbers = np.concatenate([to_host(array).ravel() for array in arrays]).astype(
        np.dtype(dtype).newbyteorder("<")
    )
    return b64encode(numbers.tobytes()).decode()


def _recorded(model, batch, smoothing) -> dict[str, Any]:
    """What the page of a larger model holds: every value and gradient of `record`, and the norms of
    the parameters' gradients.
    """
    loss, arrays = record(model, batch, smoothing)
    both = {
        f"{path} {name}": array
        for path, pair in arrays.items()
        for name, array in zip(("y", "dy"), pair)
    }
    return {
        "loss": loss,
        "paths": list(arrays),
        "shapes": {name: array.shape for name, array in both.items()},
        "data": packed(both.values(), "float32"),
        "norms": {
            name: float(np.linalg.norm(parameter.grad))
            for name, parameter in model.parameters().items()
        },
    }
