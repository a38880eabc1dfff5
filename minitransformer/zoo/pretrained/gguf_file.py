"""A GGUF file of llama.cpp: all in one, the arrays perhaps quantised. The library `gguf` reads it
and makes them float32.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from minitransformer.errors import InputError, counted
from minitransformer.extras import require
from minitransformer.zoo.modern.rotary import StretchedBase, rotary_frequencies
from minitransformer.zoo.pretrained.architectures import ARCHITECTURES
from minitransformer.zoo.pretrained.checkpoint import Checkpoint, Options, PretrainedArrays
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
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
LLAMA_3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN_2 = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")  # each digit on its own


def _cut(regex: str) -> list[dict[str, Any]]:
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    return [split, {**BYTES, "use_regex": False}]


WORDS = {  # {tokenizer.ggml.pre: how a text is cut before pairs are merged}
    "gpt-2": [BYTES],
    "smollm": [{"type": "Digits", "individual_digits": True}, BYTES],
    "llama-bpe": _cut(LLAMA_3),
    "qwen2": _cut(QWEN_2),
}
# what a GGUF file does not say: it is for inference, and pairs of a head are neighbours
GIVEN: dict[str, dict[str, Any]] = {
    "llama": {"rotary_layout": "interleaved"},
    "gpt2": {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0},
    "qwen2": {},
}
# of GPT-2: (d_out, d_in) here
TRANSPOSED = ("attn_qkv.weight", "attn_output.weight", "ffn_up.weight", "ffn_down.weight")
# in tokenizer.ggml.token_type; bytes are 6
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = range(1, 6)
# whether a text begins with BOS if the file does not say
BEGINS = {"gpt-2": False, "smollm": False, "llama-bpe": True, "qwen2": False}
SPACE = "\u2581"  # SentencePiece's sign for a space


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
    notes, vocabulary = _vocabulary(Options(tokens, f"{path}: tokenizer", "suppress"))
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


def _vocabulary(options: Options) -> tuple[list[str], dict[str, Any]]:
    """(what differs from llama.cpp, the arguments of PretrainedVocabulary.arrange: a tokenizer as
    `tokenizers` stores it).
    """
    kind = options.one_of("ggml.model", ["gpt2", "llama"], "missing")
    tokens = [token or f"[EMPTY_{i}]" for i, token in enumerate(options.take("ggml.tokens"))]
    if len(set(tokens)) < len(tokens):
        raise InputError("the tokenizer has two tokens of the same name")
    kinds = _of_each(options, "ggml.token_type", tokens, [NORMAL] * len(tokens))
    added = [
        {
            "id": i,
            "content": tokens[i],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": one != USER_DEFINED,
        }
        for i, one in enumerate(kinds)
        if one in (UNKNOWN, CONTROL, USER_DEFINED)
    ]
    parts, begins, notes = (_bytes if kind == "gpt2" else _sentence_piece)(options, tokens, kinds)
    vocab = {token: i for i, token in enumerate(tokens)}
    tokenizer = {
        "added_tokens": added,
        **parts,
        "model": {"type": "BPE", "vocab": vocab, **parts["model"]},
    }
    options.one_of("ggml.add_eos_token", [False], False)
    defaults = {"bos": 1, "eos": 2} if kind == "llama" else {}
    ends = {
        end: options.take(f"ggml.{end}_token_id", defaults.get(end))
        for end in ("bos", "eos", "eot", "eom")
    }
    names = {end: tokens[i] for end, i in ends.items() if i is not None and 0 <= i < len(tokens)}
    begins = options.take("ggml.add_bos_token", begins)
    options.finish()
    return notes, dict(
        tokenizer=tokenizer,
        begins=begins,
        chat_begins=begins,
        chat_template=options.take("chat_template", None),
        bos=names.get("bos"),
        eos=names.get("eos"),
        stops=[names[end] for end in ("eot", "eom") if end in names],
    )


def _of_each(options: Options, name: str, tokens: list[str], *default: list) -> list:
    values = options.take(name, *default)
    if len(values) != len(tokens):
        raise InputError(
            f"{name} has {counted(len(values), 'value')} for {counted(len(tokens), 'token')}"
        )
    return values


def _bytes(
    options: Options, tokens: list[str], kinds: list[int]
) -> tuple[dict[str, Any], bool, list[str]]:
    """GPT-2's kind: pairs of bytes are merged in the order in which they are listed.

    Returns (parts of a tokenizer.json, whether a text begins with BOS if the file does not say,
    what differs from llama.cpp).
    """
    pre = options.one_of("ggml.pre", WORDS, "missing")
    options.one_of("ggml.add_space_prefix", [False], False)
    merges = [merge.split(" ") for merge in options.take("ggml.merges")]
    return (
        dict(
            normalizer=None,
            pre_tokenizer={"type": "Sequence", "pretokenizers": WORDS[pre]},
            decoder=BYTES,
            model=dict(merges=merges, ignore_merges=pre == "llama-bpe"),
        ),
        BEGINS[pre],
        [],
    )


def _sentence_piece(
    options: Options, tokens: list[str], kinds: list[int]
) -> tuple[dict[str, Any], bool, list[str]]:
    """SentencePiece's kind: of all neighbours that make a token, those of the highest score are
    merged first.

    Of equal scores, llama.cpp takes the leftmost pair. A list of pairs cannot say that; but for
    runs of one character, such as spaces, it is the pair with the longest left part.
    """
    scores = _of_each(options, "ggml.scores", tokens)
    ids = {token: i for i, token in enumerate(tokens) if kinds[i] in (NORMAL, UNUSED)}
    pairs = [
        (-scores[i], -cut, ids[token[:cut]], ids[token[cut:]])
        for token, i in ids.items()
        for cut in range(1, len(token))
        if token[:cut] in ids and token[cut:] in ids
    ]
    merged = {token for token in ids if len(set(token)) > 1}
    tied = len(merged) - len({scores[ids[token]] for token in merged})
    notes = (
        [f"{tied:,} tokens have the score of another one: llama.cpp may cut a few words otherwise"]
        if tied
        else []
    )
    prefix = options.take("ggml.add_space_prefix", True)
    steps = [{"type": "Prepend", "prepend": SPACE}] * prefix + [
        {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    ]
    back = [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ] + [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] * prefix
    unknown = next((token for token, kind in zip(tokens, kinds) if kind == UNKNOWN), None)
    return (
        dict(
            normalizer={"type": "Sequence", "normalizers": steps},
            pre_tokenizer=None,
            decoder={"type": "Sequence", "decoders": back},
            model=dict(
                merges=[[tokens[left], tokens[right]] for *_, left, right in sorted(pairs)],
                unk_token=unknown,
                fuse_unk=True,
                byte_fallback=True,
            ),
        ),
        True,
        notes,
    )
