"""Weights to PyTorch's layers and back: bit for bit without torch, and the same logits where it is installed."""

import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from minitransformer import InputError, Run, Transformer, TransformerConfig
from minitransformer.cli import export
from minitransformer.functional import sinusoids
from minitransformer.interchange import from_pytorch, to_pytorch
from tests.cli.conftest import one_line
from tests.fixtures.cases import CASES, SIZES, batches
from tests.test_against_pytorch import BOUND, error

UNSHARED = {**SIZES, "source_vocab": 19, "share_embeddings": False}
CONFIGS = {**CASES,
           "learned": TransformerConfig(**UNSHARED, positions="learned", max_length=9, share_output=False),
           "learned_pre_norm": TransformerConfig(**SIZES, positions="learned", max_length=9, pre_norm=True),
           "two_heads": TransformerConfig(**{**SIZES, "num_heads": 2}, d_k=6, d_v=6)}    # an even number, for the fused path
DOCS = Path(__file__).parent.parent / "docs"


def random_model(config, dtype=np.float64):
    """No zero biases, no gamma of 1: they hide mistakes."""
    model, rng = Transformer(config).astype(dtype), np.random.default_rng(1)
    for parameter in model.parameters().values():
        parameter.data += 0.2 * rng.standard_normal(parameter.shape)
    return model


def test_names_and_layouts():
    """Some of each kind spelled out; strict loading below covers all, where torch is installed."""
    config = CONFIGS["learned_pre_norm"]
    model = random_model(config)
    arrays, ours = to_pytorch(model), {name: parameter.data for name, parameter in model.parameters().items()}
    for theirs, name in {"encoder.layers.1.self_attn": "encoder.layers.1.self_attention",
                         "decoder.layers.1.self_attn": "decoder.layers.1.self_attention",
                         "decoder.layers.1.multihead_attn": "decoder.layers.1.cross_attention"}.items():
        for i, part in enumerate(("query", "key", "value")):
            rows = slice(12 * i, 12 * i + 12)
            assert np.array_equal(arrays[f"{theirs}.in_proj_weight"][rows], ours[f"{name}.{part}.weight"].T)
            assert np.array_equal(arrays[f"{theirs}.in_proj_bias"][rows], ours[f"{name}.{part}.bias"])
        assert np.array_equal(arrays[f"{theirs}.out_proj.weight"], ours[f"{name}.output.weight"].T)
        assert np.array_equal(arrays[f"{theirs}.out_proj.bias"], ours[f"{name}.output.bias"])
    for theirs, name in {"encoder.layers.0.norm1": "encoder.layers.0.self_attention_residual.norm",
                         "encoder.layers.0.norm2": "encoder.layers.0.feed_forward_residual.norm",
                         "decoder.layers.1.norm2": "decoder.layers.1.cross_attention_residual.norm",
                         "decoder.layers.1.norm3": "decoder.layers.1.feed_forward_residual.norm",
                         "encoder.norm": "encoder.norm", "decoder.norm": "decoder.norm"}.items():
        assert np.array_equal(arrays[f"{theirs}.weight"], ours[f"{name}.gamma"])
        assert np.array_equal(arrays[f"{theirs}.bias"], ours[f"{name}.beta"])
    for theirs, name in {"linear1": "inner", "linear2": "outer"}.items():
        theirs, name = f"decoder.layers.0.{theirs}", f"decoder.layers.0.feed_forward.{name}"
        assert np.array_equal(arrays[f"{theirs}.weight"], ours[f"{name}.weight"].T)
        assert np.array_equal(arrays[f"{theirs}.bias"], ours[f"{name}.bias"])
    for side in ("source", "target"):
        assert np.array_equal(arrays[f"{side}_positions.weight"], ours[f"{side}_input.positions.weight"])
        assert np.array_equal(arrays[f"{side}_embedding.weight"], arrays["output.weight"])
    assert len(arrays) == 3 + 2 + 2 * (12 + 18) + 4    # tables, positions, layers of both stacks, final norms


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_round_trip_is_bit_equal(config, dtype):
    model = random_model(config, dtype)
    arrays = to_pytorch(model)
    again = from_pytorch(config, arrays)
    ours, theirs = model.parameters(), again.parameters()
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert theirs[name].data.dtype == dtype and np.array_equal(ours[name].data, theirs[name].data), name
    for name, array in to_pytorch(again).items():
        assert np.array_equal(array, arrays[name]), name


def test_the_arrays_are_copies():
    model = random_model(CASES["post_norm_shared"])
    for array in to_pytorch(model).values():
        assert array.flags.c_contiguous
        assert not any(np.shares_memory(array, parameter.data) for parameter in model.parameters().values())


class WantsGradients:
    """What np.asarray meets in an nn.Parameter."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("call detach() first")


def test_wider_numbers_become_float64():
    arrays = to_pytorch(random_model(CASES["unshared"]))
    arrays["output.weight"] = arrays["output.weight"].astype(np.longdouble)
    assert from_pytorch(CASES["unshared"], arrays).flat.data.dtype == np.float64


def test_half_precision_becomes_float32():
    arrays = to_pytorch(random_model(CASES["unshared"]))
    model = from_pytorch(CASES["unshared"], {name: array.astype(np.float16) for name, array in arrays.items()})
    assert {parameter.data.dtype for parameter in model.parameters().values()} == {np.dtype(np.float32)}


@pytest.mark.parametrize("change, words", [
    (lambda a: a.pop("encoder.layers.1.norm2.bias"),
     "encoder.layers.1.norm2.bias: found no such array, expected (12,)"),
    (lambda a: a.update({"encoder.norm.weight": np.ones(12)}),
     "encoder.norm.weight: found (12,), expected no such array"),
    (lambda a: a.update({"decoder.layers.0.linear1.weight": np.ones((12, 20))}),
     "decoder.layers.0.linear1.weight: found (12, 20), expected (20, 12)"),
    (lambda a: a.update({"decoder.layers.0.multihead_attn.in_proj_weight": np.ones((12, 12))}),
     "decoder.layers.0.multihead_attn.in_proj_weight: found (12, 12), expected (36, 12)"),
    (lambda a: a["source_embedding.weight"].__iadd__(1),
     "source_embedding.weight and target_embedding.weight differ, but share_embeddings=True makes them one matrix"),
    (lambda a: a["output.weight"].__iadd__(1),
     "target_embedding.weight and output.weight differ, but share_output=True makes them one matrix"),
    (lambda a: a["output.weight"].fill(np.nan), "output.weight holds something else than finite real numbers"),
    (lambda a: a.update({"output.weight": np.ones((17, 12), int)}), "output.weight holds something else"),
    (lambda a: a.update({"output.weight": WantsGradients()}), "output.weight: call detach() first"),
])
def test_arrays_of_another_model(change, words):
    arrays = to_pytorch(random_model(CASES["post_norm_shared"]))
    change(arrays)
    with pytest.raises(InputError, match=re.escape(words)) as raised:
        from_pytorch(CASES["post_norm_shared"], arrays)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("changes, words", [
    ({"d_k": 5}, "d_k is 5, but PyTorch's layers have d_model / num_heads = 12 / 3"), ({"d_v": 3}, "d_v is 3"),
    ({"num_heads": 5, "d_k": 2}, "d_k is 2, but PyTorch's layers have d_model / num_heads = 12 / 5"),
])
def test_heads_that_pytorch_has_not(changes, words):
    config = TransformerConfig(**{**SIZES, **changes})
    for convert in (lambda: to_pytorch(Transformer(config)), lambda: from_pytorch(config, {})):
        with pytest.raises(InputError, match=words):
            convert()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("evaluation", [False, True], ids=["train", "eval"])    # eval: the encoder's fused path
def test_logits_of_pytorch_with_our_weights(config, evaluation):
    torch = pytest.importorskip("torch")
    from tests.fixtures.pytorch_reference import Reference

    model, reference = random_model(config), Reference(config)
    reference.train(not evaluation)
    reference.load_state_dict({name: torch.from_numpy(array) for name, array in to_pytorch(model).items()}, strict=True)
    source, target, _ = next(batches(config))
    with torch.no_grad():
        theirs = reference(torch.from_numpy(source), torch.from_numpy(target)).numpy()
    assert error(model.forward(source, target)[0], theirs) < BOUND


def test_weights_of_nn_transformer():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    config = TransformerConfig(**SIZES, pre_norm=True)
    with pytest.warns(UserWarning, match="enable_nested_tensor"):    # which cannot be turned off here
        theirs = torch.nn.Transformer(12, 3, 2, 2, 20, dropout=0.0, batch_first=True, norm_first=True).double()
    embedding = torch.randn(17, 12, dtype=torch.float64)
    for parameter in theirs.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    model = from_pytorch(config, {**theirs.state_dict(), **dict.fromkeys(
        ("source_embedding.weight", "target_embedding.weight", "output.weight"), embedding)})

    source, target, _ = next(batches(config))
    x, y = (embedding[ids] * 12 ** 0.5 + torch.from_numpy(sinusoids(ids.shape[1], 12)) for ids in (source, target))
    padded = torch.from_numpy(source == 0)
    with torch.no_grad():
        logits = theirs(x, y, tgt_mask=torch.ones(6, 6).triu(1).bool(), src_key_padding_mask=padded,
                        memory_key_padding_mask=padded, tgt_key_padding_mask=torch.from_numpy(target == 0)) @ embedding.T
    assert error(model.forward(source, target)[0], logits.numpy()) < BOUND


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    from minitransformer.cli import main

    folder = tmp_path_factory.mktemp("runs") / "copy"
    assert main(["train", "copy", "--steps", "4", "--batch", "8", "--run", str(folder)]) == 0
    return folder


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
    printed = out[out.index("from "):out.index("How to call it")]
    shown, = re.findall(r"^```text\n(.*?)^```", (DOCS / "interchange.md").read_text(), re.DOTALL | re.MULTILINE)
    names = {}
    exec(compile(printed + shown, "interchange.md", "exec"), names)
    source, target = np.array([[5, 6, 7, 0], [3, 0, 0, 0]]), np.array([[1, 5, 6], [1, 3, 0]])
    theirs = names["logits"](*map(names["torch"].from_numpy, (source, target))).detach().numpy()
    assert error(Run.load(trained).model.forward(source, target)[0], theirs) < 1e-5    # in float32


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_printed_code_of_every_kind(config, tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.numpy import save_file

    save_file(to_pytorch(random_model(config)), tmp_path / "a.safetensors")
    names = {}
    exec(export.loading_code(config, str(tmp_path / "a.safetensors")), names)
    layer, x = names["model"]["encoder"].layers[0], torch.linspace(-2, 2, 9)
    approximate = torch.nn.functional.gelu(x, approximate="tanh")
    assert torch.equal(layer.activation(x), approximate if config.activation == "gelu" else x.relu())
    assert layer.norm_first == config.pre_norm and layer.self_attn.num_heads == config.num_heads


@pytest.mark.parametrize("arguments, words", [
    ((), "required: --output"), (("--output", ""), "already exists"), (("--output", "none/a.safetensors"), "No such file"),
    (("--output", "mine"), "--output mine: already exists; choose another name"),
    (("--output", "a" * 300), "File name too long"),
])
def test_a_file_that_cannot_be_written(run_cli, trained, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    Path("mine").write_text("mine")
    code, out, complaint = run_cli("export", trained, *arguments)
    assert code == 2 and not out and words in complaint and one_line(complaint)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_a_run_that_cannot_be_exported(run_cli, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, complaint = run_cli("export", "no/such/run", "--output", "a")
    assert code == 2 and "no run here" in complaint and one_line(complaint)
    monkeypatch.setattr(export.Run, "load", lambda path: Run(path, {}, Transformer(TransformerConfig(**SIZES, d_k=5)), None))
    code, _, complaint = run_cli("export", trained, "--output", "a")
    assert code == 2 and "d_k is 5" in complaint and one_line(complaint)
    assert not list(tmp_path.iterdir())


def test_half_a_file_is_removed(tmp_path):
    with pytest.raises(TypeError):
        export._write_new(tmp_path / "a", "no bytes")
    assert not list(tmp_path.iterdir())
