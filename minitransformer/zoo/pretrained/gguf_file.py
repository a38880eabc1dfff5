"""A GGUF file of llama.cpp: all in one, the arrays perhaps quantised. The library `gguf` reads it
and makes them float32.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from minitransformer.errors import InputError
from minitransformer.extras import require
from minitransformer.zoo.modern.rotary import StretchedBase, rotary_frequencies
from minitransformer.zoo.pretrained.architectures import ARCHITECTURES
from minitransformer.zoo.pretrained.checkpoint import Checkpoint, Options, PretrainedArrays
from minitransformer.zoo.pretrained.gguf_tokenizer import gguf_vocabulary
from minitransformer.zoo.pretrained.hugging_face import licence_text
from minitransformer.zoo.pretrained.llama import STRETCH

NAMES = {  # {architecture: {the name of an option: what Hugging Face calls it}}
    "llama": {
        "block_count": "num_hidden_layers",
        "context_length": "max_position_embeddings",
        "embedding_length": "hidden_size",
        "feed_forward_length": "intermediate_size",
        "attention.head_count": "num_attention_heads",
        "attention.head_count_kv": "num_key_value_heads",
        "attention.layer_norm_rms_epsilon": "rms_norm_eps",
        "attention.key_length": "head_dim",
        "attention.value_length": "value_dim",
        "rope.dimension_count": "rotary_dim",
        "rope.freq_base": "rope_theta",
        "vocab_size": "vocab_size",
        "attention.causal": "is_causal",
    },
    "gpt2": {
        "block_count": "n_layer",
        "context_length": "n_positions",
        "embedding_length": "n_embd",
        "feed_forward_length": "n_inner",
        "attention.head_count": "n_head",
        "attention.layer_norm_epsilon": "layer_norm_epsilon",
        "vocab_size": "vocab_size",
    },
}
NAMES["qwen2"] = NAMES["llama"]
# Options that may change the results: the architecture's own, and any that is not listed here.
HARMLESS = {
    "rope.scaling.type": "none",
    "rope.scaling.factor": 1.0,
    "rope.scale_linear": 1.0,
    "rope.scaling.finetuned": True,
    "tensor_data_layout": "Meta AI original pth",
}
# what a GGUF file does not say: it is for inference, and pairs of a head are neighbours
GIVEN: dict[str, dict[str, Any]] = {
    "llama": {"rotary_layout": "interleaved"},
    "gpt2": {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0},
    "qwen2": {},
}
# of GPT-2: (d_out, d_in) here
TRANSPOSED = ("attn_qkv.weight", "attn_output.weight", "ffn_up.weight", "ffn_down.weight")


def read(path: Path) -> Checkpoint:
    try:
        reader = _reader(path)
        fields = {
            name: field.contents()
            for name, field in reader.fields.items()
            if not name.startswith("GGUF.")
        }
    except InputError:
        raise
    except Exception as error:  # the library raises whatever the damage leads to
        size = path.stat().st_size
        # NumPy's words
        short = (
            isinstance(error, IndexError) or "reshape" in str(error) or "larger dtype" in str(error)
        )
        why = (
            f"cut off: it says that it has more than its {size:,} bytes; get it again"
            if size and short
            else f"not an intact GGUF file ({type(error).__name__}: {error})"
        )
        raise InputError(f"{path}: {why}") from None
    name = Options(fields, path).one_of("general.architecture", ARCHITECTURES)
    model = ARCHITECTURES[name]
    options = {
        NAMES[name].get(key, f"{name}.{key}"): value
        for key, value in _below(name, fields).items()
        if HARMLESS.get(key, HARMLESS) != value
    }
    for key, expected in ("general.type", "model"), ("split.count", 1):
        if (fields.get(key) or expected) != expected:
            raise InputError(
                f"{path}: {key} is {fields[key]!r}, expected {expected!r}: a whole model in one file"
            )
    arrays = QuantisedArrays(path, reader, name, model.PREFIX)
    tokens = _below("tokenizer", fields)
    if "rope_freqs.weight" in arrays and name == "llama":
        options["rope_scaling"] = _stretch(path, arrays, options.get("rope_theta", 10_000.0))
    options.update(GIVEN[name], tie_word_embeddings=arrays.find("lm_head.weight") not in arrays)
    options.setdefault("vocab_size", len(tokens.get("ggml.tokens", ())))
    licence = fields.get("general.license")
    licence = ", ".join(map(str, licence)) if isinstance(licence, list) else licence
    notes, vocabulary = gguf_vocabulary(Options(tokens, f"{path}: tokenizer", "suppress"))
    return Checkpoint(
        model, Options(options, path), arrays, vocabulary, licence, licence_text(path.parent), notes
    )


def _below(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields whose names begin with that one and a dot, under the rest of their names."""
    start = f"{name}."
    return {
        key.removeprefix(start): value for key, value in fields.items() if key.startswith(start)
    }


def _stretch(path: Path, arrays: "QuantisedArrays", base: float) -> dict[str, Any]:
    """Llama 3.1's stretch, of which the file has only how many times slower each pair turns: with
    the constants of Meta's models. Raises InputError for any other.
    """
    slower = arrays["rope_freqs.weight"]
    stretched = StretchedBase(base, float(slower.max()), 1.0, 4.0, 8192)
    usual, less = (rotary_frequencies(2 * slower.size, one) for one in (base, stretched))
    if not np.allclose(slower, usual / less, rtol=1e-4):
        raise InputError(f"{path}: rope_freqs.weight is not as in Llama 3.1, and not supported")
    del arrays.places["rope_freqs.weight"]
    fields = {theirs: getattr(stretched, ours) for ours, theirs in STRETCH.items()}
    return {"rope_type": "llama3", **fields}


def _reader(path: Path) -> Any:
    """A GGUFReader that stops at the file's end: the library's own counts through an array of
    numbers that is not there.
    """

    class Reader(require("gguf").GGUFReader):  # type: ignore[misc]    # imported when it is needed
        def _get(self, offset: int, dtype: DTypeLike, count: int = 1, **order: Any) -> np.ndarray:
            found = super()._get(offset, dtype, count, **order)
            if len(found) < count:
                raise IndexError("beyond the end of the file")
            return found

    return Reader(path)


class QuantisedArrays(PretrainedArrays):
    """The arrays of a GGUFReader in float32, with the shapes that they have in Hugging Face's
    files.
    """

    def __init__(self, path: Path, reader: Any, architecture: str, prefix: str):
        self._gguf, self._prefix = require("gguf"), prefix
        kinds = {name: kind for kind, name in self._gguf.MODEL_ARCH_NAMES.items()}
        self._names = self._gguf.get_tensor_name_map(kinds[architecture], len(reader.tensors))
        self.places = {tensor.name: tensor for tensor in reader.tensors}
        self._transposed = TRANSPOSED if architecture == "gpt2" else ()
        for tensor in {tensor.tensor_type: tensor for tensor in reader.tensors}.values():
            try:
                self._gguf.dequantize(tensor.data[:1], tensor.tensor_type)
            except NotImplementedError:
                raise InputError(
                    f"{path}: {tensor.name} is quantised as {tensor.tensor_type.name}, which is not known"
                ) from None

    def __getitem__(self, name: str) -> np.ndarray:
        array = self._gguf.dequantize(self.places[name].data, self.places[name].tensor_type)
        return array.T if self._is_transposed(name) else array

    def shape_of(self, name: str) -> tuple[int, ...]:
        shape = tuple(map(int, self.places[name].shape))  # the last axis first
        return shape if self._is_transposed(name) else shape[::-1]

    def find(self, theirs: str) -> str | None:
        names = (
            self._names.get_name(name, (".weight", ".bias"))
            for name in (theirs, self._prefix + theirs)
        )
        return next(filter(None, names), None)

    def _is_transposed(self, name: str) -> bool:
        return name.endswith(self._transposed)
