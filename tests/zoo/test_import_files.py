"""Other people's files by the command: what only names, describes or trains is passed over; what
changes results is refused.
"""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from minitransformer import Run
from minitransformer.data.special import BOS
from minitransformer.zoo.pretrained.importing import import_model
from tests.helpers.command import one_line
from tests.fixtures.pretrained_cases import make_folder, tokenizer, tokens
from tests.helpers.gguf_file import PIECES, sentence_piece, write_gguf

pytest.importorskip(
    "tokenizers",
    reason="tokenizers is not installed: a pretrained model's text cannot be cut into tokens",
)


def changed(name, values):
    """A JSON file of the folder with other values; a dict within it is changed, not replaced."""

    def change(folder):
        found = (
            json.loads((folder / name).read_text(encoding="utf-8"))
            if (folder / name).exists()
            else {}
        )
        for key, value in values.items():
            found[key] = (
                {**found[key], **value}
                if isinstance(value, dict) and isinstance(found.get(key), dict)
                else value
            )
        (folder / name).write_text(json.dumps(found), encoding="utf-8")

    return change


def config(**values):
    return changed("config.json", values)


def written(**files):
    def change(folder):
        for name, data in files.items():
            (folder / name.replace("_md", ".md")).write_bytes(data)

    return change


def marked(folder):
    """With a byte order mark, as some editors write."""
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())


def moved(folder):
    """Into a file outside the folder."""
    shutil.move(folder / "model.safetensors", folder.parent / "x.safetensors")
    listed = dict.fromkeys(load_file(folder.parent / "x.safetensors"), "../x.safetensors")
    changed("model.safetensors.index.json", {"weight_map": listed})(folder)


def double(folder):
    """An array in two files."""
    arrays = load_file(folder / "model.safetensors")
    save_file({"model.norm.weight": arrays["model.norm.weight"]}, folder / "other.safetensors")
    changed(
        "model.safetensors.index.json",
        {"weight_map": {"a": "model.safetensors", "b": "other.safetensors"}},
    )(folder)


def huge(value, dtype):
    def change(folder):
        arrays = load_file(folder / "model.safetensors")
        save_file(
            {**arrays, "model.norm.weight": np.full(8, value, dtype)}, folder / "model.safetensors"
        )

    return change


def ending(*tokens):
    """A post-processor that puts tokens around a text."""
    parts = [
        {"Sequence": {"id": "A", "type_id": 0}}
        if token == "A"
        else {"SpecialToken": {"id": token, "type_id": 0}}
        for token in tokens
    ]
    ids = {"<s>": 11, "</s>": 10, "<unk>": 9}
    return changed(
        "tokenizer.json",
        {
            "post_processor": {
                "type": "TemplateProcessing",
                "single": parts,
                "pair": [*parts, {"Sequence": {"id": "B", "type_id": 0}}],
                "special_tokens": {
                    token: {"id": token, "ids": [ids[token]], "tokens": [token]}
                    for token in tokens
                    if token != "A"
                },
            }
        },
    )


def splitting(text):
    """A tokenizer that cuts where `text` is, and leaves it out."""
    split = {"type": "Split", "pattern": {"String": text}, "behavior": "Removed", "invert": False}
    steps = {"type": "Sequence", "pretokenizers": [split, tokenizer("llama")["pre_tokenizer"]]}
    return lambda folder: (folder / "tokenizer.json").write_text(
        json.dumps({**tokenizer("llama"), "pre_tokenizer": steps}), encoding="utf-8"
    )


def unigram(folder):
    """A tokenizer that knows the score of each piece, and has an unknown token."""
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    pieces = [[piece.replace("Ġ", "▁"), -float(i)] for i, piece in enumerate(tokens("llama"))]
    pieces[-1][0] = "<pad>"
    added = [
        *tokenizer("llama")["added_tokens"],
        {**tokenizer("llama")["added_tokens"][0], "id": 37, "content": "<pad>"},
    ]
    found = {
        **tokenizer("llama"),
        "pre_tokenizer": metaspace,
        "decoder": metaspace,
        "added_tokens": added,
        "model": {"type": "Unigram", "unk_id": 9, "vocab": pieces, "byte_fallback": False},
    }
    (folder / "tokenizer.json").write_text(json.dumps(found), encoding="utf-8")


FOLDERS = {  # {name: (which model, what is done to its folder, None or the words of the refusal)}
    "trained": (
        "llama_tied",
        config(
            _num_labels=2,
            gradient_checkpointing=True,
            unsloth_version="2024.9",
            hidden_dropout=0.1,
            _attn_implementation_autoset=True,
            attn_implementation="eager",
            id2label={"0": "A"},
            output_hidden_states=True,
            neftune_noise_alpha=5,
            max_length=20,
            do_sample=True,
        ),
        None,
    ),
    "off": (
        "llama_tied",
        config(
            sliding_window=None,
            use_qk_norm=False,
            num_experts=0,
            quantization_config=None,
            layer_types=[],
        ),
        None,
    ),
    "lists": (
        "llama_tied",
        config(eos_token_id=[10, 3], license=["mit", "other"], architectures=["LlamaForCausalLM"]),
        None,
    ),
    "mark": ("llama_tied", marked, None),
    "Latin-1": (
        "llama_tied",
        written(README_md="---\nlicense:\n- mit\n---\nModèle".encode("latin-1"), LICENSE=b"\xa9 1"),
        None,
    ),
    "folders": (
        "llama_tied",
        lambda folder: [(folder / name).mkdir() for name in ("LICENSES", "README.md")],
        None,
    ),
    "no scaling, by its older name": ("llama_tied", config(rope_scaling={"type": "default"}), None),
    "one name": ("llama_tied", config(architectures="LlamaForCausalLM"), None),
    "an unlisted file": ("llama_tied", written(**{"adapter.safetensors": b"damaged"}), None),
    "Unigram": ("llama_tied", unigram, None),
    "clipped": (
        "llama_tied",
        config(clip_qkv=8.0),
        "the option clip_qkv (8.0) is not known here, and may change",
    ),
    "quantised": (
        "llama_tied",
        config(quantization_config={"bits": 4}),
        "the option quantization_config",
    ),
    "both ways": ("llama_tied", config(is_causal=False), "is_causal is False, expected True"),
    "BERT": (
        "gpt2",
        config(architectures=["BertModel"]),
        "architectures names 'BertModel', but model_type is 'gpt2'",
    ),
    "heads": ("gpt2", config(n_head=3), "d_model 8 is not divisible by 3 heads"),
    "useless": ("llama_tied", huge(3e38, np.float32), "what was imported cannot be used: "),
    "huge": (
        "llama_tied",
        huge(1e300, np.float64),
        "model.norm.weight contains a number that is too large for float32",
    ),
    "elsewhere": (
        "llama_tied",
        moved,
        "it lists the file '../x.safetensors', expected the name of a file in the same folder",
    ),
    "twice": ("llama_tied", double, "the array model.norm.weight is in another file, too"),
    "a tokenizer in Latin-1": (
        "llama_tied",
        written(**{"tokenizer.json": b'{"\xe9": 1}'}),
        "tokenizer.json: not JSON",
    ),
    "EOS after a text": (
        "llama_tied",
        ending("A", "</s>"),
        "does not only begin with <s>: that is not supported",
    ),
    "another before a text": ("llama_tied", ending("<unk>", "A"), "does not only begin with <s>"),
    "lost letters": (
        "llama_tied",
        splitting("c"),
        "its tokenizer loses text: the character 'c' has no token in the model's",
    ),
    "lost words": (
        "llama_tied",
        splitting("th"),
        "its tokenizer loses text: the tokens of 'th th' decode to ' '",
    ),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder(name, run_cli, tmp_path):
    model, change, words = FOLDERS[name]
    change(make_folder(model, tmp_path / "there"))
    check(run_cli, tmp_path, tmp_path / "there", words)


def check(run_cli, tmp_path, path, words):
    """The command imports what is at `path`, and the run writes; or it refuses with `words`, and
    leaves nothing behind.
    """
    before = sorted(tmp_path.iterdir())
    code, out, error = run_cli("import", path, "--run", tmp_path / "run")
    if words:
        assert code == 2 and words in error and one_line(error) and not out, error
        assert sorted(tmp_path.iterdir()) == before
    else:
        assert code == 0 and out.startswith("saved in") and "note:" not in out, error
        code, out, error = run_cli("generate", tmp_path / "run", "the cat", "--max-length", 2)
        assert code == 0 and out.startswith("the cat"), error


def strings(**values):
    def change(writer):
        for key, value in values.items():
            add = {str: writer.add_string, int: writer.add_uint32, float: writer.add_float32}[
                type(value)
            ]
            add(key.replace("__", "."), value)

    return change


def several(writer):
    """What llama.cpp's converter and its quantiser add to most public files."""
    strings(
        quantize__imatrix__file="a.dat",
        quantize__imatrix__entries_count=2,
        general__license__link="x",
        general__file_type=2,
        tokenizer__ggml__eot_token_id=5,
        tokenizer__ggml__fim_pre_token_id=6,
        tokenizer__ggml__padding_token_id=9,
        mradermacher__quantize_version="2",
        llama__rope__scaling__type="none",
        llama__expert_count=0,
    )(writer)
    writer.add_chat_template(
        [
            {"name": "default", "template": "{{ messages[0]['content'] }}"},
            {"name": "rag", "template": "x"},
        ]
    )
    writer.add_array("general.tags", ["text-generation"])


GGUF = {  # {name: (the arguments of write_gguf, None or the words of the refusal)}
    "metadata": (dict(change=several), None),
    "SentencePiece": (dict(words=sentence_piece), None),
    "causal": (dict(change=lambda writer: writer.add_causal_attention(True)), None),
    "both ways": (
        dict(change=lambda writer: writer.add_causal_attention(False)),
        "is_causal is False, expected True",
    ),
    "scaled": (
        dict(change=strings(llama__attention__scale=0.5)),
        "the option llama.attention.scale (0.5) is not known",
    ),
    "Mamba": (
        dict(change=strings(general__architecture="mamba")),
        "general.architecture is 'mamba', expected 'gpt2'",
    ),
    "adapter": (
        dict(change=strings(general__type="adapter")),
        "general.type is 'adapter', expected 'model': a whole model in one",
    ),
    "one of several": (
        dict(change=strings(split__count=2)),
        "split.count is 2, expected 1: a whole model in one file",
    ),
    "EOS after a text": (
        dict(change=lambda writer: writer.add_add_eos_token(True)),
        "ggml.add_eos_token is True, expected False",
    ),
    "WordPiece": (
        dict(words=lambda writer: writer.add_tokenizer_model("bert")),
        "ggml.model is 'bert', expected 'gpt2'",
    ),
    "empty names": (
        dict(words=lambda writer: sentence_piece(writer, pieces=[*PIECES[:-2], "", ""])),
        None,
    ),
    "a name twice": (
        dict(words=lambda writer: sentence_piece(writer, pieces=[*PIECES[:-1], "a"])),
        "two tokens of the same name",
    ),
    "few scores": (
        dict(words=lambda writer: sentence_piece(writer, scores=[1])),
        "ggml.scores has 1 value for 38 tokens",
    ),
}


@pytest.mark.parametrize("name", GGUF)
def test_a_gguf_file(name, run_cli, tmp_path):
    arguments, words = GGUF[name]
    check(
        run_cli, tmp_path, write_gguf("llama_untied", tmp_path / "model.gguf", **arguments), words
    )


@pytest.mark.parametrize("around", [("<s>", "A"), ("A",)])
def test_a_text_begins_with_bos_if_that_is_how_the_tokenizer_does_it(around, tmp_path):
    ending(*around)(folder := make_folder("llama_tied", tmp_path / "there"))
    vocabulary = import_model(folder, tmp_path / "run").vocabulary
    ids = vocabulary.encode("the ant")
    assert (
        ids.count(BOS) == (ids[0] == BOS) == (around[0] == "<s>")
        and vocabulary.decode(ids) == "the ant"
    )


def test_a_licence_in_a_list_is_named(run_cli, tmp_path):
    folder = make_folder("llama_tied", tmp_path / "there")
    written(README_md=b"---\nlicense:\n- mit\n---\nMod\xe8le")(folder)
    assert "\nlicence: mit (" in run_cli("import", folder, "--run", tmp_path / "run")[1]


NOTES = {  # {name: (what is done to the folder, what the command says of it)}
    "dropout": (
        changed("tokenizer.json", {"model": {"dropout": 0.5}}),
        "note: its tokenizer's dropout of 0.5 is off, which transformers leaves on",
    ),
    "a space before": (
        changed("tokenizer_config.json", {"add_prefix_space": True}),
        "note: tokenizer_config.json asks for a space before each text; tokenizer.json does not, and is followed",
    ),
    "BOS": (
        changed("tokenizer_config.json", {"add_bos_token": True, "add_eos_token": False}),
        "note: add_bos_token is True in tokenizer_config.json; tokenizer.json does otherwise, and is followed",
    ),
    "letters": (
        changed(
            "tokenizer.json",
            {"normalizer": {"type": "Replace", "pattern": {"String": "b"}, "content": "c"}},
        ),
        "note: its tokenizer rewrites letters by its own rules: 'b b' becomes 'c c'",
    ),
    "spaces": (
        changed(
            "tokenizer.json",
            {"normalizer": {"type": "Replace", "pattern": {"String": "x x"}, "content": "xx"}},
        ),
        "note: its tokenizer rewrites spaces by its own rules: 'x x' becomes 'xx'",
    ),
    "truncation": (
        changed(
            "tokenizer.json",
            {
                "truncation": {
                    "direction": "Right",
                    "max_length": 4,
                    "strategy": "LongestFirst",
                    "stride": 0,
                }
            },
        ),
        None,
    ),
    "padding": (
        changed(
            "tokenizer.json",
            {
                "padding": {
                    "strategy": {"Fixed": 600},
                    "direction": "Right",
                    "pad_to_multiple_of": None,
                    "pad_id": 9,
                    "pad_type_id": 0,
                    "pad_token": "<unk>",
                }
            },
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", NOTES)
def test_what_a_tokenizer_does_besides(name, run_cli, tmp_path):
    """A text is evaluated whole, and twice alike, whatever its tokenizer was set to for training."""
    change, words = NOTES[name]
    text = tmp_path / "text"
    text.write_text("the cat and the ant. " * 40, encoding="utf-8")
    found = []
    for folder, do in ("plain", lambda folder: None), ("changed", change), ("again", change):
        do(make_folder("llama_tied", tmp_path / folder))
        code, out, error = run_cli("import", tmp_path / folder, "--run", tmp_path / f"{folder}-run")
        assert code == 0 and (
            out.splitlines()[1] == words if words and folder != "plain" else "note" not in out
        ), error
        found.append(
            json.loads(run_cli("evaluate", tmp_path / f"{folder}-run", "--test", text, "--json")[1])
        )
    assert found[0] == found[1] == found[2] and found[0]["tokens"] > 400


def test_every_token_that_ends_a_text_ends_it(run_cli, tmp_path, monkeypatch):
    """As transformers does with a list in generation_config.json."""
    folder = make_folder("llama_tied", tmp_path / "there")
    changed("generation_config.json", {"eos_token_id": [10, 9]})(folder)
    assert run_cli("import", folder, "--run", tmp_path / "run")[0] == 0
    vocabulary = Run.load(tmp_path / "run").vocabulary
    written = iter([*vocabulary.encode(" an"), vocabulary.rows.index(9), *vocabulary.encode("cat")])
    monkeypatch.setattr(
        "minitransformer.decoding.generation.draw",
        lambda *_: (np.array([next(written)]), np.zeros(1)),
    )
    assert run_cli("generate", tmp_path / "run", "the", "--max-length", 5)[:2] == (0, "the an\n")
    changed("generation_config.json", {"eos_token_id": [10, 10**9]})(folder)
    code, _, error = run_cli("import", folder, "--run", tmp_path / "other")
    assert code == 2 and "generation_config.json: eos_token_id is 1000000000, expected" in error


def test_a_letter_is_read_as_the_unknown_token_if_there_is_one(run_cli, tmp_path):
    unigram(make_folder("llama_tied", tmp_path / "there"))
    assert run_cli("import", tmp_path / "there", "--run", tmp_path / "run")[0] == 0
    (tmp_path / "text").write_text("the cat and Tom. " * 40, encoding="utf-8")
    code, out, error = run_cli("evaluate", tmp_path / "run", "--test", tmp_path / "text", "--json")
    assert (
        code == 0 and json.loads(out)["unknown_characters"] == 40 and "read as <unk>: 'T'" in error
    )


def test_a_letter_without_a_token_is_refused(run_cli, tmp_path):
    """The tokenizer would leave it out, and `evaluate` would count characters that no token stands
    for.
    """
    assert (
        run_cli("import", make_folder("llama_tied", tmp_path / "there"), "--run", tmp_path / "run")[
            0
        ]
        == 0
    )
    (tmp_path / "text").write_text("the cat\nand Tom. " * 40, encoding="utf-8")
    code, _, error = run_cli("evaluate", tmp_path / "run", "--test", tmp_path / "text")
    assert (
        code == 2
        and "text, the character 'T' has no token in the model's vocabulary" in error
        and one_line(error)
    )


@pytest.mark.parametrize("letter", [".", "\t"])
def test_a_letter_is_never_read_as_padding(letter, run_cli, tmp_path):
    """The unknown token is padding if nothing else is free: attention would not see it, and the
    loss would not count it.
    """
    path = write_gguf("llama_untied", tmp_path / "model.gguf", words=sentence_piece)
    assert (
        run_cli("import", path, "--run", tmp_path / "run")[0] == 0
        and Run.load(tmp_path / "run").vocabulary.unknown_id == 0
    )
    code, _, error = run_cli("generate", tmp_path / "run", f"the{letter}cat")
    assert code == 2 and f"the character {letter!r} has no token in the model's vocabulary" in error
