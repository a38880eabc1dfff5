"""minitransformer export: the file, and the code that it prints for PyTorch."""

import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from minitransformer import Run, Transformer, TransformerConfig
from minitransformer.cli import export
from minitransformer.cli.output import write_new
from minitransformer.interchange.pytorch import to_pytorch
from tests import ROOT
from tests.fixtures.cases import SIZES
from tests.helpers.pytorch import error
from tests.helpers.pytorch import CONFIGS, random_model

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"


def test_export(run_cli, trained, tmp_path):
    code, out, _ = run_cli("export", trained, "--output", tmp_path / "a.safetensors")
    arrays = load_file(tmp_path / "a.safetensors")
    model = Run.load(trained).model
    assert code == 0 and f"written: {tmp_path}/a.safetensors ({len(arrays)} arrays)" in out
    assert list(tmp_path.iterdir()) == [tmp_path / "a.safetensors"]
    for name, array in to_pytorch(model).items():
        assert np.array_equal(arrays.pop(name), array), name
    assert not arrays


def test_the_printed_code_and_that_of_the_docs(run_cli, trained, tmp_path, monkeypatch):
    """They run one after the other, and give our logits."""
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    _, out, _ = run_cli("export", trained, "--output", "a.safetensors")
    printed = out[out.index("from ") : out.index("How to call it")]
    (shown,) = re.findall(
        r"^```text\n(.*?)^```", (DOCS / "interchange.md").read_text(), re.DOTALL | re.MULTILINE
    )
    names = {}
    exec(compile(printed + shown, "interchange.md", "exec"), names)
    source, target = np.array([[5, 6, 7, 0], [3, 0, 0, 0]]), np.array([[1, 5, 6], [1, 3, 0]])
    theirs = names["logits"](*map(names["torch"].from_numpy, (source, target))).detach().numpy()
    assert error(Run.load(trained).model.forward(source, target)[0], theirs) < 1e-5  # in float32


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_printed_code_of_every_kind(config, tmp_path):
    torch = pytest.importorskip("torch")
    save_file(to_pytorch(random_model(config)), tmp_path / "a.safetensors")
    names = {}
    exec(export.loading_code(config, str(tmp_path / "a.safetensors")), names)
    layer, x = names["model"]["encoder"].layers[0], torch.linspace(-2, 2, 9)
    approximate = torch.nn.functional.gelu(x, approximate="tanh")
    assert torch.equal(
        layer.activation(x), approximate if config.activation == "gelu" else x.relu()
    )
    assert layer.norm_first == config.pre_norm and layer.self_attn.num_heads == config.num_heads


def test_what_is_there_is_not_overwritten(refused, trained, tmp_path):
    (tmp_path / "mine").write_text("mine")
    assert "mine: already exists; choose another name" in refused(
        "export", trained, "--output", tmp_path / "mine"
    )
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_a_run_that_cannot_be_exported(refused, trained, tmp_path, monkeypatch):
    monkeypatch.setattr(
        export.Run,
        "load",
        lambda path: Run(path, {}, Transformer(TransformerConfig(**SIZES, d_k=5)), None),
    )
    assert "d_k is 5" in refused("export", trained, "--output", tmp_path / "a") and not list(
        tmp_path.iterdir()
    )


def test_half_a_file_is_removed(tmp_path):
    with pytest.raises(TypeError):
        write_new(tmp_path / "a", "no bytes")
    assert not list(tmp_path.iterdir())
