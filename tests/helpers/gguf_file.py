"""GGUF files as llama.cpp's converter writes them."""

import numpy as np
import pytest

from tests.fixtures.pretrained_cases import FOLDER, LETTERS, parts, tokenizer, tokens


def write_gguf(name, path, pre="gpt-2", change=lambda writer: None, words=None, **options):
    """`words(writer)` writes a tokenizer other than that of a Hugging Face folder with pairs of
    bytes.
    """
    gguf = pytest.importorskip("gguf", reason="gguf is not installed")
    config, arrays, _, _ = parts(FOLDER / f"{name}.safetensors")
    config.update(options)
    kind = config["model_type"]
    writer = gguf.GGUFWriter(path, kind)
    writer.add_license("apache-2.0")
    {"llama": write_llama, "qwen2": write_llama, "gpt2": write_gpt2}[kind](writer, config)
    if words:
        words(writer)
    else:
        write_pairs(writer, config, pre)
    change(writer)
    architecture = {value: key for key, value in gguf.MODEL_ARCH_NAMES.items()}[kind]
    names = gguf.get_tensor_name_map(architecture, 2)
    for theirs, array in arrays.items():
        if kind == "llama" and theirs.endswith(("q_proj.weight", "k_proj.weight")):
            heads = "num_attention_heads" if "q_proj" in theirs else "num_key_value_heads"
            pairs = array.reshape(config[heads], 2, -1, array.shape[1])
            array = pairs.swapaxes(1, 2).reshape(array.shape)
        if kind == "gpt2" and array.ndim == 2 and ".c_" in theirs:
            array = array.T
        writer.add_tensor(names.get_name(theirs, (".weight", ".bias")), np.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_llama(writer, config):
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    if "head_dim" in config:
        for add in writer.add_rope_dimension_count, writer.add_key_length, writer.add_value_length:
            add(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])


def write_gpt2(writer, config):
    writer.add_block_count(config["n_layer"])
    writer.add_context_length(config["n_positions"])
    writer.add_embedding_length(config["n_embd"])
    writer.add_feed_forward_length(4 * config["n_embd"])
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])


def write_pairs(writer, config, pre):
    """The tokenizer of a Hugging Face folder, with pairs of bytes."""
    kind = config["model_type"]
    found = tokens(kind)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(list(found))
    writer.add_token_types([3 if token.startswith("<") else 1 for token in found])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer(kind)["model"]["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])


def digits(writer):
    """Qwen2's kind, in which 1 and 2 could be one token, but each digit stays on its own."""
    found = [{"x": "1", "y": "2", "z": "12"}.get(token, token) for token in tokens("qwen2")]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(found)
    writer.add_token_types([3 if token.startswith("<") else 1 for token in found])
    pairs = tokenizer("qwen2")["model"]["merges"]
    writer.add_token_merges(["1 2", *(" ".join(pair) for pair in pairs)])
    writer.add_bos_token_id(found.index("<s>"))
    writer.add_eos_token_id(found.index("</s>"))


PIECES = [
    "<unk>",
    "<s>",
    "</s>",
    "<0x0A>",
    "<0xC3>",
    "<0xA9>",
    "▁",
    *LETTERS,
    "th",
    "the",
    "▁the",
    "▁a",
    "an",
]
RUNS = [*PIECES[:7], *("▁" * n for n in (*range(2, 15), 16)), *LETTERS[:13], "<", "s>", "s", ">"]


def sentence_piece(writer, prefix=None, scores=None, pieces=PIECES, mine=()):
    """A tokenizer as TinyLlama's; mine: pieces that its user defined, which are found before the
    others.
    """
    scores = range(0, -len(pieces), -1) if scores is None else scores
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(pieces)
    writer.add_token_scores(list(map(float, scores)))
    writer.add_token_types(
        [2, 3, 3, 6, 6, 6, *(4 if piece in mine else 1 for piece in pieces[6:])]
    )  # unknown, control, bytes
    if prefix is not None:
        writer.add_add_space_prefix(prefix)
