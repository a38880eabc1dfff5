"""One self-contained page about a model and one text: figure 1 of its configuration, every number in it, and every gradient."""

import json
from base64 import b64encode
from dataclasses import asdict, dataclass, fields, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from minitransformer.backend import to_host
from minitransformer.data.batches import Batch, make_batch
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.data.windows import WindowBatch
from minitransformer.decoding import GREEDY, decode_all
from minitransformer.errors import InputError, one_line
from minitransformer.explore.recorded import record
from minitransformer.functional.special import SPECIAL
from minitransformer.models import LanguageModel, Transformer
from minitransformer.pictures.boxes import Map

FOLDER = Path(__file__).parent
ENGINE = [f"engine/{name}" for name in (
    "tensor", "layer", "linear", "embedding", "positions", "input", "masks", "softmax", "attention", "layer_norm", "feed_forward",
    "residual", "encoder", "decoder", "output", "cross_entropy", "transformer")]
PAGE = [f"page/{name}" for name in ("data", "measure", "places", "mistakes", "heat", "map", "arrays", "open", "main")]
LONGEST = 60            # tokens of a text: each is a row of the heat maps
LIVE = 400_000          # parameters: the page of a larger model holds recorded numbers
STOPS = 4               # of the time slider
ABOUT = {True: "Everything here is computed in this page by a small engine of its own, forward and backward, in float64. Open a box "
               "to see its numbers; change the text, and all of them follow.",
         False: "This model is too large to be computed in a page, which therefore holds the numbers recorded for this one text. Open "
                "a box to see them."}


@dataclass(frozen=True)
class Page:
    """A page as text: `html`. A notebook shows it in a cell."""

    html: str

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" style="width: 100%; height: 60em; border: 0"></iframe>'


def explore(run, text, target=None) -> Page:
    """The Page of a run for one text, with a target or, without one, with what the model writes.

    Raises InputError for a text that is empty, too long or has unknown tokens, and for a model that the engine does not know.
    """
    check_model(run.model, run.path)
    if target is not None and run.task.command != "translate":
        raise InputError(f"target is of no use to the task {run.task.name}; leave it out")
    smoothing = run.settings.training.smoothing if run.settings.training else 0.0
    if isinstance(run.model, LanguageModel):
        batch = text_batch(_ids(run.vocabulary, text, "the text", run.task.window, 2))
    else:
        batch = pair_batch(run.model, run.vocabulary, text, target, run.task.search, run.task.max_length)
    return make_page(run.model, run.vocabulary, batch, smoothing, f"{run.path.name}: {run.task.name}", snapshots(run))


def check_model(model, name) -> None:
    """Raise InputError unless the engine computes what `model` computes."""
    config = model.config
    if type(model) not in (Transformer, LanguageModel) or config.attention != "scaled":
        raise InputError(f"{name}: a page can show a Transformer or a language model with the paper's attention, and this is another "
                         "model")


def pair_batch(model, vocabulary, text, target=None, search=GREEDY, most=LONGEST) -> Batch:
    """The batch of one pair; without a target, of what the model writes."""
    most = min(most, LONGEST, model.source_input.positions.max_length - 1)
    source = _ids(vocabulary, text, "the text", most)
    if target is None:
        ((best, *_),) = decode_all(model, [source], replace(search, max_length=most))
        return make_batch([(source, best.ids)])
    return make_batch([(source, _ids(vocabulary, target, "the target", most, 0, model.config.target_vocab))])


def text_batch(ids) -> WindowBatch:
    """The batch of one text, whose tokens but the first are to be predicted."""
    return WindowBatch(np.array([ids[:-1]]), np.array([ids[1:]]), len(ids) - 1)


def _ids(vocabulary, text, name, most, least=1, size=None) -> list[int]:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError(f"{name} is not UTF-8")
    ids = vocabulary.encode(text if isinstance(vocabulary, CharacterVocabulary) else text.strip())
    unknown = getattr(vocabulary, "unknown_id", None)
    if unknown in ids:
        raise InputError(f"{name} has characters that are not in the vocabulary: {' '.join(vocabulary.unknown_characters(text))}")
    if not least <= len(ids) <= min(most, LONGEST):
        raise InputError(f"{name} has {len(ids)} tokens, expected {least} to {min(most, LONGEST)}: a page draws each of them")
    if size is not None and max(ids, default=0) >= size:
        raise InputError(f"{name} has tokens that this model cannot write")
    return ids


def snapshots(run) -> dict[str, dict[str, Any]]:
    """{when: weights}: a few of those that were kept during training, the last of them the trained ones."""
    return {"the trained model": {name: parameter.data for name, parameter in run.model.parameters().items()}}


def make_page(model, vocabulary, batch, smoothing, title, weights) -> Page:
    """The Page of a model, at least of its numbers for one Batch or WindowBatch; weights: as `snapshots` returns them."""
    config, parameters, live = model.config, model.parameters(), model.num_parameters() <= LIVE
    tokens, found = vocabulary.tokens(range(vocabulary.size)), Map(config)
    both = isinstance(model, Transformer)
    texts = [ids[0].tolist() for ids in ((batch.source[:, :-1], batch.target[:, 1:]) if both else (batch.ids,))]
    texts = texts if both else [[*texts[0], int(batch.next_target[0, -1])]]
    data = {
        "kind": type(model).__name__,
        "config": {name: getattr(config, name, None) for name in ("num_layers", "num_heads", "activation", "pre_norm", "share_embeddings",
                                                                  "share_output")},
        "vocabulary": {"tokens": tokens, "joint": getattr(vocabulary, "joint", " "),
                       "kind": {CharacterVocabulary: "characters", SymbolVocabulary: "symbols"}.get(type(vocabulary), "pieces")},
        "batch": {name: getattr(batch, name)[0].tolist() for name in batch._fields[:-1]},
        "smoothing": smoothing,
        "limit": min(LONGEST, (model.source_input if both else model.input).positions.max_length - both),
        "sizes": [config.source_vocab, config.target_vocab] if both else [config.vocab_size],
        "map": {"boxes": [box._asdict() for box in found.boxes], "lines": [line._asdict() for line in found.lines], "height": found.height},
    }
    if live:
        dtype = next(iter(parameters.values())).data.dtype.name
        data |= {"dtype": dtype, "shapes": {name: parameter.shape for name, parameter in parameters.items()},
                 "weights": [{"name": name, "data": packed([arrays[one] for one in parameters], dtype)} for name, arrays in weights.items()]}
    else:
        data["recorded"] = _recorded(model.to("numpy"), batch, smoothing)
    shown = [(data["vocabulary"]["joint"]).join(tokens[i] for i in ids) for ids in texts]
    html = script("page/page.html", "").format(
        title=escape(one_line(title)), about=ABOUT[live], source="Source" if both else "Text", text=escape(shown[0]),
        target=escape(shown[1]) if both else "", style=script("page/page.css", ""), data=as_script(data),
        scripts="\n".join(f"<script>\n{script(name)}</script>" for name in (*ENGINE, *PAGE)))
    return Page(html)


def script(name, suffix=".js") -> str:
    return (FOLDER / f"{name}{suffix}").read_text(encoding="utf-8")


def as_script(data) -> str:
    """JSON in which no text can end the script that holds it."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def packed(arrays, dtype) -> str:
    """The numbers of all arrays in base64."""
    numbers = np.concatenate([to_host(array).ravel() for array in arrays]).astype(np.dtype(dtype).newbyteorder("<"))
    return b64encode(numbers.tobytes()).decode()


def _recorded(model, batch, smoothing) -> dict[str, Any]:
    loss, arrays = record(model, batch, smoothing)
    both = {f"{path} {name}": array for path, pair in arrays.items() for name, array in zip(("y", "dy"), pair)}
    return {"loss": loss,
            "parameters": {name: float(np.linalg.norm(parameter.grad)) for name, parameter in model.parameters().items()},
            "record": {"paths": list(arrays), "shapes": {name: array.shape for name, array in both.items()},
                       "data": packed(both.values(), "float32")}}
