"""Pretrained models: what transformers computes, what the files may look like, and what is refused."""

import json

import numpy as np
import pytest

from minitransformer import InputError, Run
from minitransformer.zoo.modern.rotary import rotary_frequencies
from minitransformer.zoo.pretrained.vocabulary import PretrainedVocabulary
from minitransformer.data.special import BOS, EOS, PAD
from minitransformer.tasks.language import Language
from minitransformer.zoo.pretrained.importing import import_model
from tests.fixtures.pretrained_cases import (
    CASES,
    FOLDER,
    LLAMA_3,
    compare,
    make_folder,
    parts,
    tokenizer,
    tokens,
    write_folder,
)
from tests.helpers.gguf_file import RUNS, digits, sentence_piece, write_gguf

pytest.importorskip(
    "tokenizers",
    reason="tokenizers is not installed: a pretrained model's text cannot be cut into tokens",
)


@pytest.mark.parametrize("name", CASES)
def test_transformers_computes_the_same(name, tmp_path):
    _, _, gradients, rest = parts(FOLDER / f"{name}.safetensors")
    found = compare(make_folder(name, tmp_path / "there"), tmp_path / "run", gradients, rest)
    assert len(found) > 20 and max(found.values()) < 1e-9, {
        name: error for name, error in found.items() if error > 1e-9
    }


def changed(path, name="llama_tied", change=lambda arrays: arrays, **config):
    """The folder of a model, with other arrays and other values in its configuration."""
    usual, arrays, _, _ = parts(FOLDER / f"{name}.safetensors")
    return write_folder(path, {**usual, **config}, change(arrays))


def weights(run):
    return {name: parameter.data for name, parameter in Run.load(run).model.parameters().items()}


def logits(run, letters="thecatan"):
    """Of the same text, in the order of the tokenizer's ids."""
    run = Run.load(run)
    found, _ = run.model.forward(np.array([run.vocabulary.encode(letters)]))
    return found[..., np.argsort(run.vocabulary.rows)]


@pytest.mark.parametrize("positions, window", [(16, 16), (512, 512), (2048, 512)])
def test_evaluate_reads_what_the_model_can(positions, window, tmp_path):
    """Four windows at a time, each of 512 tokens if the model has so many positions."""
    import_model(changed(tmp_path / "there", max_position_embeddings=positions), tmp_path / "run")
    assert Run.load(tmp_path / "run").task == Language(
        train=[], valid=[], vocabulary="subwords", window=window, batch=4
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: {name.removeprefix("transformer."): array for name, array in arrays.items()},
        lambda arrays: {**arrays, "lm_head.weight": arrays["transformer.wte.weight"]},
        lambda arrays: {
            **arrays,
            "transformer.h.0.attn.bias": np.tri(4, dtype=np.float32),
            "transformer.h.1.attn.masked_bias": np.zeros(1, np.float32),
        },
    ],
    ids=["without the prefix", "the embedding twice", "with the causal mask"],
)
def test_old_files_of_gpt2_are_read(change, tmp_path):
    import_model(changed(tmp_path / "old", "gpt2", change), tmp_path / "run")
    import_model(make_folder("gpt2", tmp_path / "new"), tmp_path / "other")
    np.testing.assert_equal(weights(tmp_path / "run"), weights(tmp_path / "other"))


def test_several_files_and_half_precision(tmp_path):
    """bfloat16 is the upper half of a float32."""
    from safetensors.numpy import save_file

    config, arrays, _, _ = parts(FOLDER / "llama_tied.safetensors")
    upper = {
        name: (array.view(np.uint32) & 0xFFFF0000).view(np.float32)
        for name, array in arrays.items()
    }
    import_model(write_folder(tmp_path / "one", config, upper), tmp_path / "expected")
    names, folder = sorted(arrays), write_folder(tmp_path / "two", config, {})
    (folder / "model.safetensors").unlink()
    places = {name: f"part-{names.index(name) % 2}.safetensors" for name in names}
    for file in set(places.values()):
        halves = {
            name: (upper[name].view(np.uint32) >> 16).astype(np.uint16)
            for name in names
            if places[name] == file
        }
        save_file(halves, folder / file)
        raw = (folder / file).read_bytes()
        (folder / file).write_bytes(as_bfloat16(raw))
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": places}), encoding="utf-8"
    )
    import_model(folder, tmp_path / "run")
    np.testing.assert_equal(weights(tmp_path / "run"), weights(tmp_path / "expected"))


def as_bfloat16(raw):
    size = int.from_bytes(raw[:8], "little")
    header = raw[8 : 8 + size].replace(b'"U16"', b'"BF16"')
    return len(header).to_bytes(8, "little") + header + raw[8 + size :]


@pytest.mark.parametrize("name", ["llama_wide_heads", "llama_untied", "gpt2", "qwen2"])
def test_a_gguf_file_is_the_same_model(name, tmp_path):
    """As llama.cpp's converter writes it: the pairs of a head are neighbours, and GPT-2's weights
    are transposed.
    """
    path = write_gguf(name, tmp_path / "model.gguf")
    import_model(path, tmp_path / "run")
    import_model(make_folder(name, tmp_path / "folder"), tmp_path / "other")
    np.testing.assert_allclose(
        logits(tmp_path / "run"), logits(tmp_path / "other"), rtol=0, atol=2e-5
    )
    text = "the theory of a cat. ant?"
    one, other = Run.load(tmp_path / "run").vocabulary, Run.load(tmp_path / "other").vocabulary
    assert one.encode(text) == other.encode(text) and one.rows == other.rows
    assert (tmp_path / "run" / "LICENSE").read_text() == "model.gguf: apache-2.0\n\n"


def test_the_stretch_of_llama_3_in_a_gguf_file(tmp_path):
    """There it is an array: how many times slower each pair turns."""
    pytest.importorskip("gguf", reason="gguf is not installed")
    rotary = {"rope_theta": 500_000.0, **LLAMA_3, "factor": 8.0}
    rotary["original_max_position_embeddings"] = 8192
    there = changed(tmp_path / "there", "llama_3", rope_parameters=rotary)
    import_model(there, tmp_path / "other")
    layer = Run.load(tmp_path / "other").model.stack.layers[0].self_attention
    usual = rotary_frequencies(16, 500_000.0)
    factors = (usual / rotary_frequencies(16, layer.rotary_base)).astype(np.float32)
    assert factors[0] == 1 and factors[-1] == 8 and len(set(factors)) > 2
    path = tmp_path / "model.gguf"
    stretch = {"rope_parameters": {"rope_theta": 500_000.0}}
    write_gguf("llama_3", path, change=rope_factors(factors), **stretch)
    import_model(path, tmp_path / "run")
    ours = Run.load(tmp_path / "run").model.stack.layers[0].self_attention
    assert ours.rotary_base == layer.rotary_base
    np.testing.assert_allclose(
        logits(tmp_path / "run"), logits(tmp_path / "other"), rtol=0, atol=2e-5
    )
    write_gguf("llama_3", path, change=rope_factors(factors**2), **stretch)
    with pytest.raises(InputError, match="rope_freqs.weight is not as in Llama 3.1"):
        import_model(path, tmp_path / "squared")


def rope_factors(factors):
    return lambda writer: writer.add_tensor("rope_freqs.weight", factors)


# What llama.cpp (xllamacpp 2026.10.11549) makes of them; <s> is 1.
BY_LLAMA_CPP = {
    "gpt2, bos is eos": (
        "gpt2",
        dict(change=lambda writer: writer.add_add_bos_token(True)),
        {"the cat": [9, 32, 27, 2, 0, 20], "theory": [9, 32, 15, 18, 25]},
    ),
    "llama-bpe": (
        "llama_untied",
        dict(pre="llama-bpe"),
        {"the cat": [11, 34, 29, 2, 0, 22], "cat.?\nthe": [11, 2, 0, 22, 31, 32, 30, 34]},
    ),
    "qwen2": (
        "qwen2",
        dict(words=digits),
        {
            "12 cat1212": [26, 27, 29, 2, 0, 22, 26, 27, 26, 27],
            "a\n\n  the": [0, 30, 30, 29, 35],
            "the.?\nan 1": [34, 31, 32, 30, 37, 29, 26],
        },
    ),
    "no BOS": ("llama_untied", dict(), {"the cat": [34, 29, 2, 0, 22]}),
    "SentencePiece": (
        "llama_untied",
        dict(words=sentence_piece),
        {
            "the cat": [1, 35, 6, 9, 7, 26],
            "  the an": [1, 6, 6, 35, 36, 20],
            "a\nthe é": [1, 36, 3, 34, 6, 4, 5],
            "thethe aan": [1, 35, 34, 36, 37],
        },
    ),
    "without a space": (
        "llama_untied",
        dict(words=lambda writer: sentence_piece(writer, prefix=False)),
        {"the cat": [1, 34, 6, 9, 7, 26], "  the an": [1, 6, 35, 36, 20]},
    ),
    "equal scores": (
        "llama_untied",
        dict(words=lambda writer: sentence_piece(writer, scores=[-1] * 38, pieces=RUNS)),
        {
            " " * 16 + "a": [1, 20, 6, 21],
            " " * 17 + "a": [1, 20, 7, 21],
            " " * 30: [1, 20, 19, 6],
            "  a b": [1, 8, 21, 6, 22],
        },
    ),
    "a piece of its own": (
        "llama_untied",
        dict(words=lambda writer: sentence_piece(writer, mine=["the", "an"])),
        {"can a": [1, 6, 9, 37, 6, 36]},
    ),
}


@pytest.mark.parametrize("name", BY_LLAMA_CPP)
def test_a_text_has_the_tokens_that_llama_cpp_gives_it(name, tmp_path):
    model, arguments, expected = BY_LLAMA_CPP[name]
    vocabulary = import_model(
        write_gguf(model, tmp_path / "model.gguf", **arguments), tmp_path / "run"
    ).vocabulary
    for text, ids in expected.items():
        assert [vocabulary.rows[i] for i in vocabulary.encode(text)] == ids, text
        assert (
            name == "a piece of its own" or vocabulary.decode(vocabulary.encode(text)) == text
        )  # a space after it is its own


def test_names_of_tokens_in_a_gguf_file(tmp_path):
    """A control token's name in a text is text; the file's other end of a turn ends a text, too."""
    path = write_gguf(
        "llama_untied",
        tmp_path / "model.gguf",
        words=lambda writer: sentence_piece(writer, pieces=RUNS),
        change=lambda writer: writer.add_eot_token_id(30),
    )
    vocabulary = import_model(path, tmp_path / "run").vocabulary
    assert (
        vocabulary.encode("a<s>").count(BOS) == 1
        and vocabulary.decode(vocabulary.encode("a<s>")) == "a<s>"
    )
    assert [vocabulary.rows[i] for i in vocabulary.stops] == [30]
    with pytest.raises(InputError, match="a text begins with BOS, but no token is named as BOS"):
        PretrainedVocabulary.arrange(
            tokenizer("llama"), len(tokens("llama")), None, "</s>", begins=True
        )
    plain, unknown = tokenizer("llama"), tokenizer("llama")
    plain["added_tokens"][0]["special"] = False  # a text may contain <unk>
    unknown["model"]["unk_token"] = "<unk>"
    for found in plain, unknown:
        with pytest.raises(InputError, match="too few tokens that no text contains"):
            PretrainedVocabulary.arrange(found, len(tokens("llama")), "<s>", "</s>")


@pytest.mark.parametrize(
    "pre, change, words",
    [
        (
            "klingon",
            lambda writer: None,
            "ggml.pre is 'klingon', expected 'gpt-2' or 'smollm' or 'llama-bpe' or 'qwen2'",
        ),
        (
            "gpt-2",
            lambda writer: writer.add_string("llama.rope.scaling.type", "yarn"),
            "the option llama.rope.scaling.type ('yarn') is not known",
        ),
        (
            "gpt-2",
            lambda writer: writer.add_expert_count(8),
            "the option llama.expert_count (8) is not known",
        ),
        (
            "gpt-2",
            lambda writer: writer.add_add_space_prefix(True),
            "ggml.add_space_prefix is True, expected False",
        ),
        (
            "gpt-2",
            lambda writer: writer.add_tensor("rope_freqs.weight", np.arange(2, dtype=np.float32)),
            "rope_freqs.weight is not as in Llama 3.1, and not supported",
        ),
    ],
)
def test_a_gguf_file_that_would_mean_something_else_is_refused(pre, change, words, tmp_path):
    refused(write_gguf("llama_tied", tmp_path / "model.gguf", pre, change), tmp_path, words)


def test_a_gguf_file_that_is_cut_or_lies_is_refused(tmp_path):
    raw = write_gguf("llama_tied", tmp_path / "model.gguf").read_bytes()
    path = tmp_path / "damaged.gguf"
    lies = raw[:8] + b"\xff" * 8 + raw[16:], raw[:16] + b"\xff" * 7 + b"\0" + raw[24:]
    for damaged in (raw[:4], raw[:200], raw[:201], raw[:-100], *lies):
        path.write_bytes(damaged)
        refused(
            path,
            tmp_path,
            f"cut off: it says that it has more than its {len(damaged):,} bytes; get it again",
        )
    for damaged in (b"", b"GGML" + raw[4:]):
        path.write_bytes(damaged)
        refused(path, tmp_path, "not an intact GGUF file")


def test_an_array_of_numbers_that_is_not_there_is_not_counted_through(tmp_path, monkeypatch):
    gguf = pytest.importorskip("gguf", reason="gguf is not installed")
    path, reads = write_gguf("llama_tied", tmp_path / "model.gguf"), []
    raw, usual = path.read_bytes(), gguf.GGUFReader._get
    length = (
        raw.index(key := b"tokenizer.ggml.token_type") + len(key) + 8
    )  # after the type, and that of an item
    monkeypatch.setattr(
        gguf.GGUFReader, "_get", lambda *a, **order: reads.append(1) or usual(*a, **order)
    )
    for more in range(4):  # bytes, so that the file ends with one of its numbers
        path.write_bytes(
            raw[:length] + (10**5).to_bytes(8, "little") + raw[length + 8 :] + more * b"\0"
        )
        refused(path, tmp_path, "cut off: it says that it has more")
    assert len(reads) < 4 * len(raw)


def refused(path, tmp_path, words):
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError) as caught:
        import_model(path, tmp_path / "run")
    assert words in str(caught.value), str(caught.value)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "name, words, change",
    [
        ("llama_tied", "attention_bias is True, expected False", dict(attention_bias=True)),
        ("llama_tied", "mlp_bias is True", dict(mlp_bias=True)),
        ("llama_tied", "hidden_act is 'gelu', expected 'silu'", dict(hidden_act="gelu")),
        (
            "llama_tied",
            "rope_parameters: factor is missing",
            dict(rope_parameters={"rope_type": "llama3", "rope_theta": 1e4}),
        ),
        (
            "llama_tied",
            "rope_parameters: rope_type is 'yarn', expected 'default' or 'llama3'",
            dict(rope_parameters={"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0}),
        ),
        (
            "llama_tied",
            "rope_scaling: rope_type is 'dynamic', expected 'default' or 'llama3'",
            dict(rope_scaling={"rope_type": "dynamic", "factor": 4.0}),
        ),
        (
            "llama_tied",
            "0 < low < high",
            dict(rope_scaling={**LLAMA_3, "low_freq_factor": 4.0}),
        ),
        (
            "llama_tied",
            "factor is 10000000",
            dict(rope_scaling={**LLAMA_3, "factor": 10**400}),
        ),
        (
            "llama_tied",
            "the option beta_fast (32) is not known",
            dict(rope_scaling={**LLAMA_3, "beta_fast": 32}),
        ),
        ("llama_tied", "head_dim is 0", dict(head_dim=0)),
        ("llama_tied", "embed_tokens.weight has shape", dict(head_dim=4, hidden_size=16)),
        ("qwen2", "use_sliding_window is True, expected False", dict(use_sliding_window=True)),
        (
            "qwen2",
            "layer_types has 'sliding_attention', expected full_attention only",
            dict(layer_types=["full_attention", "sliding_attention"]),
        ),
        (
            "qwen2",
            "k_proj.bias belongs to nothing that is known here",
            dict(model_type="llama", layer_types=None, max_window_layers=None),
        ),
        *(
            (
                name,
                f"config.json: {token}_token_id is {i!r}, expected the id of one of the mo",
                change,
            )
            for name in ("llama_tied", "gpt2")
            for token, i, change in (
                ("bos", "x", dict(bos_token_id="x")),
                ("bos", -1, dict(bos_token_id=-1)),
                ("bos", 10**9, dict(bos_token_id=10**9)),
                ("bos", 1.0, dict(bos_token_id=1.0)),
                ("eos", 10**9, dict(eos_token_id=[2, 10**9])),
            )
        ),
        (
            "llama_tied",
            "rope_scaling: rope_type is 'linear'",
            dict(rope_scaling={"rope_type": "linear", "factor": 2.0}),
        ),
        (
            "llama_tied",
            "rope_scaling: type is 'linear', expected 'default' or 'llama3'",
            dict(rope_scaling={"type": "linear", "factor": 2.0}),
        ),
        (
            "llama_tied",
            "rope_parameters: the option factor (2.0) is not known",
            dict(rope_parameters={"rope_theta": 1e4, "factor": 2.0}),
        ),
        (
            "llama_tied",
            "partial_rotary_factor is 0.5",
            dict(rope_parameters={"partial_rotary_factor": 0.5}),
        ),
        ("llama_tied", "the option sliding_window (4) is not known here", dict(sliding_window=4)),
        (
            "llama_tied",
            "model_type is 'mamba', expected 'gpt2' or 'llama' or 'qwen2'",
            dict(model_type="mamba"),
        ),
        ("llama_tied", "model_type is ['llama']", dict(model_type=["llama"])),
        ("llama_tied", "hidden_size is '8', expected a whole number", dict(hidden_size="8")),
        (
            "llama_tied",
            "num_hidden_layers is 0, expected a whole number",
            dict(num_hidden_layers=0),
        ),
        ("llama_tied", "rms_norm_eps is -1, expected a number above 0", dict(rms_norm_eps=-1)),
        (
            "llama_tied",
            "kv_heads is 3, expected a divisor of the 4 heads",
            dict(num_key_value_heads=3),
        ),
        (
            "llama_tied",
            "the array layers.2.self_attn.q_proj.weight is missing",
            dict(num_hidden_layers=9999),
        ),
        (
            "llama_tied",
            "the array model.layers.1.input_layernorm.weight belongs to nothing",
            dict(num_hidden_layers=1),
        ),
        ("llama_tied", "has shape (10, 8), expected (12, 8)", dict(intermediate_size=12)),
        ("llama_tied", "the array lm_head.weight is missing", dict(tie_word_embeddings=False)),
        ("llama_tied", "no token None, with which the model's texts end", dict(eos_token_id=None)),
        ("gpt2", "scale_attn_weights is False, expected True", dict(scale_attn_weights=False)),
        (
            "gpt2",
            "scale_attn_by_inverse_layer_idx is True",
            dict(scale_attn_by_inverse_layer_idx=True),
        ),
        (
            "gpt2",
            "activation_function is 'relu', expected 'gelu_new' or 'gelu_pytorch_tanh'",
            dict(activation_function="relu"),
        ),
        ("gpt2", "add_cross_attention is True", dict(add_cross_attention=True)),
    ],
)
def test_an_option_that_changes_the_mathematics_is_refused(name, words, change, tmp_path):
    refused(changed(tmp_path / "there", name, **change), tmp_path, words)


def test_files_that_are_damaged_or_missing_are_named(tmp_path):
    there = make_folder("llama_tied", tmp_path / "there")
    raw = (there / "model.safetensors").read_bytes()
    for damaged in (raw[:-1], raw[:20], raw[:4], b"", b"\xff" * 8 + raw[8:], raw + b"\0"):
        (there / "model.safetensors").write_bytes(damaged)
        refused(there, tmp_path, "model.safetensors: not a safetensors file (")
    (there / "model.safetensors").unlink()
    (there / "pytorch_model.bin").write_bytes(b"a pickle")
    refused(
        there,
        tmp_path,
        "model.safetensors: no such file; weights in .bin files are pickled, and never read",
    )
    (there / "tokenizer.json").write_text("{", encoding="utf-8")
    refused(there, tmp_path, "tokenizer.json: cut off (Expecting")
    (there / "tokenizer.json").write_text("}", encoding="utf-8")
    refused(there, tmp_path, "tokenizer.json: not JSON")
    (there / "tokenizer.json").unlink()
    refused(there, tmp_path, "tokenizer.json: No such file or directory")
    (there / "tokenizer.json").write_text('{"added_tokens": [5]}', encoding="utf-8")
    refused(there, tmp_path, "cannot be read (TypeError")
    (there / "config.json").write_text("[]", encoding="utf-8")
    refused(there, tmp_path, "config.json: a JSON list, expected an object")
    refused(tmp_path / "nowhere", tmp_path, "nowhere: no such file or folder")
    broken = lambda arrays: {**arrays, "model.norm.weight": np.full(8, np.nan, np.float32)}
    refused(
        changed(tmp_path / "nan", change=broken),
        tmp_path,
        "model.norm.weight contains something other than finite",
    )
    double = lambda arrays: {**arrays, "lm_head.weight": 2 * arrays["model.embed_tokens.weight"]}
    refused(
        changed(tmp_path / "head", change=double),
        tmp_path,
        "the array lm_head.weight belongs to nothing",
    )
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").touch()
    refused(tmp_path / "nan", tmp_path, "already exists and is not an empty folder")


@pytest.mark.parametrize(
    "kind, bos, eos", [("llama", "<s>", "</s>"), ("gpt2", "<|endoftext|>", "<|endoftext|>")]
)
def test_the_special_tokens_come_first_and_text_is_text(kind, bos, eos, tmp_path):
    ids = tokens(kind)
    vocabulary = PretrainedVocabulary.arrange(tokenizer(kind), len(ids), bos, eos)
    rows = vocabulary.rows
    assert sorted(rows) == list(range(len(ids))) and rows[EOS] == ids[eos]
    assert (
        rows[BOS] == (ids["<s>"] if kind == "llama" else ids["þ"])
        and rows[PAD] == ids["<unk>" if kind == "llama" else "ÿ"]
    )
    text = (
        "the ant. a" if kind == "llama" else "the ant. é"
    )  # of two tokens, both bytes of a character
    assert vocabulary.decode(vocabulary.encode(text)) == text and min(vocabulary.encode(text)) > EOS
    assert vocabulary.tokens(vocabulary.encode("the ant")) == ["the", " a", "n", "t"]
    with_its_name = tokenizer(kind)  # in which the name's letters are tokens, too
    with_its_name["model"]["vocab"].update(
        {letter: len(ids) + i for i, letter in enumerate("</>|")}
    )
    longer = PretrainedVocabulary.arrange(with_its_name, len(ids) + 4, bos, eos)
    assert longer.decode(longer.encode(f"a{eos}")) == f"a{eos}" and EOS not in longer.encode(
        f"a{eos}"
    )
    assert vocabulary.decode([EOS, *vocabulary.encode("a")]) == "a"
    (tmp_path / "vocabulary.json").write_text(vocabulary.to_json(), encoding="utf-8")
    again = PretrainedVocabulary.load(tmp_path / "vocabulary.json")
    assert again.encode(text) == vocabulary.encode(text) and again.rows == rows
    with pytest.raises(InputError, match="the text is not UTF-8"):
        vocabulary.encode("a\udcff")
    with pytest.raises(
        InputError, match=f"the tokenizer has the id {len(ids) - 1}, but the model has 30 tokens"
    ):
        PretrainedVocabulary.arrange(tokenizer(kind), 30, bos, eos)
    renumbered = tokenizer(kind)
    renumbered["added_tokens"][0]["id"] += 1
    with pytest.raises(InputError, match="the tokenizer says that .* has the id 1., but it has"):
        PretrainedVocabulary.arrange(renumbered, len(ids), bos, eos)


TEMPLATE = "{% for message in messages %}<s>{{ message['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>a{% endif %}"


def chatting(template, **how):
    return PretrainedVocabulary.arrange(
        tokenizer("llama"), len(tokens("llama")), "<s>", "</s>", chat_template=template, **how
    )


def test_a_chat_is_written_by_the_template_in_a_sandbox():
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    vocabulary = chatting(TEMPLATE)
    assert vocabulary.encode_chat("the ant") == [
        BOS,
        *vocabulary.encode("the ant"),
        EOS,
        BOS,
        *vocabulary.encode("a"),
    ]
    assert EOS not in vocabulary._encode(
        "the</s>ant", names_are_text=True
    )  # after a chat, names are text again
    for template, expected in (
        ("{% for a in 'the' %}{{ a }}{% break %}{% endfor %}", "t"),
        ("{% for a in 'th' %}{% if a == 't' %}{% continue %}{% endif %}{{ a }}{% endfor %}", "h"),
        ("{{ strftime_now('the') }}", "the"),
        ("{{ 'the' if tools is none and documents is none }}", "the"),
        ("{% generation %}\nthe{%- endgeneration -%}\n", "the"),
        ("{{ (['?'] | tojson)[2] }}", "?"),
    ):
        assert vocabulary.decode(chatting(template).encode_chat("ant")) == expected
    assert chatting("{{ bos_token }}a", chat_begins=True, begins=True).encode_chat("ant") == [
        BOS,
        *vocabulary.encode("a"),
    ]
    assert chatting("a", chat_begins=True, begins=True).encode_chat("ant") == [
        BOS,
        *vocabulary.encode("a"),
    ]
    assert chatting("a", begins=True).encode_chat("ant") == vocabulary.encode("a")
    for template, prompt, words in (
        (TEMPLATE, "ant</s><s>cat", "the prompt contains </s>, a control token"),
        (None, "ant", "this model has no chat template"),
        (
            "{{ raise_exception('no system message') }}",
            "ant",
            "the model's chat template fails: no system message",
        ),
        (
            "{{ unk_token }}a",
            "ant",
            "the model's chat template fails: it names unk_token, which is not known here",
        ),
        ("{{ messages.append(1) }}", "ant", "the model's chat template fails"),
        ("{{ ''.__class__.__mro__ }}", "ant", "the model's chat template fails"),
        ("{% for %}", "ant", "fails"),
    ):
        with pytest.raises(InputError) as caught:
            chatting(template).encode_chat(prompt)
        assert words in str(caught.value)


def test_a_template_gets_the_tokens_that_the_files_name(tmp_path):
    """As transformers does: each by its name, and the additional ones as a list of names."""
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    template = "{{ unk_token }}the{{ additional_special_tokens | join }}{{ pad_token }}"
    about = {
        "unk_token": {"content": "<unk>"},
        "pad_token": "</s>",
        "additional_special_tokens": ["<s>", {"content": "</s>"}],
        "sep_token": None,
        "chat_template": template,
    }
    folder = make_folder("llama_tied", tmp_path / "there")
    (folder / "special_tokens_map.json").write_text(
        json.dumps({"pad_token": "<unk>", "cls_token": "<s>"}), encoding="utf-8"
    )
    (folder / "tokenizer_config.json").write_text(json.dumps(about), encoding="utf-8")
    vocabulary = import_model(folder, tmp_path / "run").vocabulary
    assert vocabulary.encode_chat("ant") == vocabulary._encode(
        "<unk>the<s></s></s>", names_are_text=False
    )
    assert Run.load(tmp_path / "run").vocabulary.encode_chat("ant") == vocabulary.encode_chat("ant")
    with pytest.raises(InputError, match="it names sep_token, which is not known here"):
        chatting("{{ sep_token }}a", special={"unk_token": "<unk>"}).encode_chat("ant")
    assert chatting("{{ cls_token }}a", special={"cls_token": "<s>"}).encode_chat("ant")[0] == BOS
