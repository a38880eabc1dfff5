"""A GGUF file of llama.cpp: all in one, the arrays perhaps quantised. The library `gguf` reads it and makes them float32."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minitransformer.errors import InputError
from minitransformer.extras import require
from minitransformer.interchange.pretrained.architectures import architecture
from minitransformer.interchange.pretrained.checkpoint import Arrays, Checkpoint, Options
from minitransformer.interchange.pretrained.hugging_face import licence_text

NAMES = {    # {architecture: {the name of an option: what Hugging Face calls it}}
    "llama": {"block_count": "num_hidden_layers", "context_length": "max_position_embeddings", "embedding_length": "hidden_size",
              "feed_forward_length": "intermediate_size", "attention.head_count": "num_attention_heads",
              "attention.head_count_kv": "num_key_value_heads", "attention.layer_norm_rms_epsilon": "rms_norm_eps",
              "attention.key_length": "head_dim", "attention.value_length": "value_dim", "rope.dimension_count": "rotary_dim",
              "rope.freq_base": "rope_theta", "vocab_size": "vocab_size"},
    "gpt2": {"block_count": "n_layer", "context_length": "n_positions", "embedding_length": "n_embd",
             "feed_forward_length": "n_inner", "attention.head_count": "n_head",
             "attention.layer_norm_epsilon": "layer_norm_epsilon"}}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
LLAMA_3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
WORDS = {    # {tokenizer.ggml.pre: how a text is cut before pairs are merged}
    "gpt-2": [BYTES],
    "smollm": [{"type": "Digits", "individual_digits": True}, BYTES],
    "llama-bpe": [{"type": "Split", "pattern": {"Regex": LLAMA_3}, "behavior": "Isolated", "invert": False},
                  {**BYTES, "use_regex": False}]}
GIVEN: dict[str, dict[str, Any]] = {    # what a GGUF file does not say: it is for inference, and pairs of a head are neighbours
    "llama": {"rotary_layout": "interleaved"}, "gpt2": {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}}
TRANSPOSED = ("attn_qkv.weight", "attn_output.weight", "ffn_up.weight", "ffn_down.weight")    # of GPT-2: (d_out, d_in) here
CONTROL, USER_DEFINED = 3, 4    # in tokenizer.ggml.token_type


def read(path) -> Checkpoint:
    try:
        reader = require("gguf").GGUFReader(path)
        fields = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    except InputError:
        raise
    except Exception as error:    # the library raises whatever the damage leads to
        raise InputError(f"{path}: not an intact GGUF file ({type(error).__name__}: {error})") from None
    name = str(fields.get("general.architecture"))
    model = architecture(name, path)
    options = {NAMES[name].get(key.removeprefix(f"{name}."), key): value for key, value in fields.items()
               if not key.startswith(("general.", "tokenizer."))}
    arrays = QuantisedArrays(path, reader, name, model.PREFIX)
    tokens = {key.removeprefix("tokenizer."): value for key, value in fields.items() if key.startswith("tokenizer.")}
    options.update(GIVEN[name], tie_word_embeddings=arrays.find("lm_head.weight") not in arrays)
    options.setdefault("vocab_size", len(tokens.get("ggml.tokens", ())))
    return Checkpoint(model, Options(options, path), arrays, _vocabulary(Options(tokens, f"{path}: tokenizer")),
                      fields.get("general.license"), licence_text(path.parent))


class QuantisedArrays(Arrays):
    """The arrays of a GGUFReader in float32, with the shapes that they have in Hugging Face's files."""

    def __init__(self, path, reader, architecture, prefix):
        self._gguf, self._prefix = require("gguf"), prefix
        kinds = {name: kind for kind, name in self._gguf.MODEL_ARCH_NAMES.items()}
        self._names = self._gguf.get_tensor_name_map(kinds[architecture], len(reader.tensors))
        self._tensors = {tensor.name: tensor for tensor in reader.tensors}
        self._transposed = TRANSPOSED if architecture == "gpt2" else ()
        for tensor in {tensor.tensor_type: tensor for tensor in reader.tensors}.values():
            try:
                self._gguf.dequantize(tensor.data[:1], tensor.tensor_type)
            except NotImplementedError:
                raise InputError(f"{path}: {tensor.name} is quantised as {tensor.tensor_type.name}, which is not known") from None

    def __getitem__(self, name) -> np.ndarray:
        array = self._gguf.dequantize(self._tensors[name].data, self._tensors[name].tensor_type)
        return array.T if self._is_transposed(name) else array

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def shape_of(self, name) -> tuple[int, ...]:
        shape = tuple(map(int, self._tensors[name].shape))    # the last axis first
        return shape if self._is_transposed(name) else shape[::-1]

    def find(self, theirs) -> str | None:
        names = (self._names.get_name(name, (".weight", ".bias")) for name in (theirs, self._prefix + theirs))
        return next(filter(None, names), None)

    def _is_transposed(self, name) -> bool:
        return name.endswith(self._transposed)


def _vocabulary(options) -> dict[str, Any]:
    """The arguments of PretrainedVocabulary.arrange: a byte-level tokenizer, as `tokenizers` stores it."""
    options.one_of("ggml.model", ["gpt2"], "missing")    # byte-level pairs; the other kinds are not
    tokens, kinds = options.take("ggml.tokens"), options.take("ggml.token_type", [])
    merges = [merge.split(" ") for merge in options.take("ggml.merges")]
    pre = options.one_of("ggml.pre", WORDS, "missing")
    added = [{"id": i, "content": tokens[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": kind == CONTROL} for i, kind in enumerate(kinds) if kind in (CONTROL, USER_DEFINED)]
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": WORDS[pre]}, "post_processor": None, "decoder": BYTES,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": pre == "llama-bpe",
                  "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges}}
    options.one_of("ggml.add_eos_token", [False], False)
    options.one_of("ggml.add_space_prefix", [False], False)
    options.leave_out("ggml.unknown_token_id", "ggml.padding_token_id", "ggml.seperator_token_id")
    names = {f"{end}_token": options.take(f"ggml.{end}_token_id", None) for end in ("bos", "eos")}
    found = dict(tokenizer=tokenizer, begins=options.take("ggml.add_bos_token", False),
                 chat_template=options.take("chat_template", None),
                 **{name.removesuffix("_token"): None if i is None else tokens[i] for name, i in names.items()})
    options.finish()
    return found
