"""Weights to PyTorch's layers and back: bit for bit without torch, and the same logits if it is
installed.
"""

import re

import numpy as np
import pytest

from minitransformer import InputError, Transformer, TransformerConfig
from minitransformer.functional import sinusoids
from minitransformer.interchange.pytorch import from_pytorch, to_pytorch
from minitransformer.interchange.weights import WeightsFile
from tests.fixtures.cases import CASES, SIZES, batches
from tests.helpers.pytorch import BOUND, error
from tests.helpers.pytorch import CONFIGS, random_model


def test_names_and_layouts():
    """Some of each kind spelled out; strict loading below covers all, where torch is installed."""
    config = CONFIGS["learned_pre_norm"]
    model = random_model(config)
    arrays, ours = (
        to_pytorch(model),
        {name: parameter.data for name, parameter in model.parameters().items()},
    )
    for theirs, name in {
        "encoder.layers.1.self_attn": "encoder.layers.1.self_attention",
        "decoder.layers.1.self_attn": "decoder.layers.1.self_attention",
        "decoder.layers.1.multihead_attn": "decoder.layers.1.cross_attention",
    }.items():
        for i, part in enumerate(("query", "key", "value")):
            rows = slice(12 * i, 12 * i + 12)
            assert np.array_equal(
                arrays[f"{theirs}.in_proj_weight"][rows], ours[f"{name}.{part}.weight"].T
            )
            assert np.array_equal(
                arrays[f"{theirs}.in_proj_bias"][rows], ours[f"{name}.{part}.bias"]
            )
        assert np.array_equal(arrays[f"{theirs}.out_proj.weight"], ours[f"{name}.output.weight"].T)
        assert np.array_equal(arrays[f"{theirs}.out_proj.bias"], ours[f"{name}.output.bias"])
    for theirs, name in {
        "encoder.layers.0.norm1": "encoder.layers.0.self_attention_residual.norm",
        "encoder.layers.0.norm2": "encoder.layers.0.feed_forward_residual.norm",
        "decoder.layers.1.norm2": "decoder.layers.1.cross_attention_residual.norm",
        "decoder.layers.1.norm3": "decoder.layers.1.feed_forward_residual.norm",
        "encoder.norm": "encoder.norm",
        "decoder.norm": "decoder.norm",
    }.items():
        assert np.array_equal(arrays[f"{theirs}.weight"], ours[f"{name}.gamma"])
        assert np.array_equal(arrays[f"{theirs}.bias"], ours[f"{name}.beta"])
    for theirs, name in {"linear1": "inner", "linear2": "outer"}.items():
        theirs, name = f"decoder.layers.0.{theirs}", f"decoder.layers.0.feed_forward.{name}"
        assert np.array_equal(arrays[f"{theirs}.weight"], ours[f"{name}.weight"].T)
        assert np.array_equal(arrays[f"{theirs}.bias"], ours[f"{name}.bias"])
    for side in ("source", "target"):
        assert np.array_equal(
            arrays[f"{side}_positions.weight"], ours[f"{side}_input.positions.weight"]
        )
        assert np.array_equal(arrays[f"{side}_embedding.weight"], arrays["output.weight"])
    assert (
        len(arrays) == 3 + 2 + 2 * (12 + 18) + 4
    )  # tables, positions, layers of both stacks, final norms


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_round_trip_is_bit_equal(config, dtype):
    model = random_model(config, dtype)
    arrays = to_pytorch(model)
    again = from_pytorch(config, arrays)
    ours, theirs = model.parameters(), again.parameters()
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert theirs[name].data.dtype == dtype and np.array_equal(
            ours[name].data, theirs[name].data
        ), name
    for name, array in to_pytorch(again).items():
        assert np.array_equal(array, arrays[name]), name


def test_the_arrays_are_copies():
    model = random_model(CASES["post_norm_shared"])
    for array in to_pytorch(model).values():
        assert array.flags.c_contiguous
        assert not any(
            np.shares_memory(array, parameter.data) for parameter in model.parameters().values()
        )


@pytest.mark.parametrize("given, dtype", [(np.float16, np.float32), (np.longdouble, np.float64)])
def test_other_precisions_become_one_that_trains(given, dtype):
    arrays = to_pytorch(random_model(CASES["unshared"], np.float32))
    name = "encoder.layers.0.linear1.weight"  # one is enough
    arrays[name] = arrays[name].astype(given)
    model = from_pytorch(CASES["unshared"], arrays)
    assert {parameter.data.dtype for parameter in model.parameters().values()} == {np.dtype(dtype)}


@pytest.mark.parametrize("kind", "bfloat16 float16 Parameter gradient list".split())
def test_tensors_of_every_kind_are_read_exactly(kind):
    """The arrays hold few digits, so that the narrow ones lose none of them."""
    arrays = {
        name: np.round(array * 8).astype(np.float32) / 8
        for name, array in to_pytorch(random_model(CASES["unshared"], np.float32)).items()
    }
    model = from_pytorch(CASES["unshared"], {name: of_kind(kind, arrays[name]) for name in arrays})
    for name, array in to_pytorch(model).items():
        assert array.dtype == (np.float64 if kind == "list" else np.float32)
        assert np.array_equal(array, arrays[name]), name


def of_kind(kind, array):
    if kind == "list":
        return array.tolist()
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(array)
    if kind == "Parameter":
        return torch.nn.Parameter(tensor)
    if kind == "gradient":
        return 2 * torch.nn.Parameter(tensor / 2)  # not a Parameter, but it needs a gradient
    return tensor.to(getattr(torch, kind))


def test_bfloat16_in_a_safetensors_file(tmp_path):
    """Which the library's reader for NumPy refuses."""
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    arrays = to_pytorch(random_model(CASES["unshared"], np.float32))
    tensors = {name: torch.from_numpy(array).bfloat16() for name, array in arrays.items()}
    save_file(tensors, tmp_path / "half.safetensors")
    model = from_pytorch(CASES["unshared"], WeightsFile(tmp_path / "half.safetensors"))
    for name, array in to_pytorch(model).items():
        assert np.array_equal(array, tensors[name].float().numpy()), name


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda torch: torch.empty(3, device="meta"), "output.weight: not an array in memory ("),
        (lambda torch: torch.ones(17, 12).to_sparse(), "output.weight: not an array in memory ("),
        (lambda torch: {"weight": 1}, "output.weight: found (), expected (17, 12)"),
        (lambda torch: torch.ones(17, 12, dtype=torch.complex64), "other than finite real numbers"),
    ],
)
def test_what_is_no_array_is_named(change, words):
    arrays = to_pytorch(random_model(CASES["post_norm_shared"]))
    arrays["output.weight"] = change(pytest.importorskip("torch"))
    with pytest.raises(InputError, match=re.escape(words)) as raised:
        from_pytorch(CASES["post_norm_shared"], arrays)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "rename, words",
    [
        ("module.{}", 'decoder.layers.0.linear1.bias: "module." is DataParallel\'s; take it out'),
        ("_orig_mod.{}", '"_orig_mod." is torch.compile\'s; take it out of every name'),
        ("_fsdp_wrapped_module.{}", '"_fsdp_wrapped_module." is FSDP\'s'),
        ("_orig_mod.module.{}", "take it out of every name"),
        (
            "net.model.{}",
            ': expected decoder.layers.0.linear1.bias; take "net.model." off the names',
        ),
    ],
)
def test_the_names_of_a_wrapped_module(rename, words):
    arrays = {
        rename.format(name): array
        for name, array in to_pytorch(random_model(CASES["post_norm_shared"])).items()
    }
    with pytest.raises(InputError) as raised:
        from_pytorch(CASES["post_norm_shared"], arrays)
    assert words in str(raised.value)


def test_names_inside_a_wrapped_layer():
    arrays = to_pytorch(random_model(CASES["post_norm_shared"]))
    name = "encoder.layers.1.linear1.weight"
    arrays["encoder.layers.1._checkpoint_wrapped_module.linear1.weight"] = arrays.pop(name)
    with pytest.raises(InputError, match="_checkpoint_wrapped_module.\" is checkpoint_wrapper's"):
        from_pytorch(CASES["post_norm_shared"], arrays)


def test_a_module_is_not_its_state_dict():
    model = random_model(CASES["post_norm_shared"])
    with pytest.raises(InputError, match="arrays is a Transformer, expected a state dict"):
        from_pytorch(CASES["post_norm_shared"], model)


@pytest.mark.parametrize(
    "change, words",
    [
        (
            lambda a: a.pop("encoder.layers.1.norm2.bias"),
            "encoder.layers.1.norm2.bias: found no such array, expected (12,)",
        ),
        (
            lambda a: a.update({"encoder.norm.weight": np.ones(12)}),
            "encoder.norm.weight: found (12,), expected no such array",
        ),
        (
            lambda a: a.update({"decoder.layers.0.linear1.weight": np.ones((12, 20))}),
            "decoder.layers.0.linear1.weight: found (12, 20), expected (20, 12)",
        ),
        (
            lambda a: a.update(
                {"decoder.layers.0.multihead_attn.in_proj_weight": np.ones((12, 12))}
            ),
            "decoder.layers.0.multihead_attn.in_proj_weight: found (12, 12), expected (36, 12)",
        ),
        (
            lambda a: a["source_embedding.weight"].__iadd__(1),
            "source_embedding.weight and target_embedding.weight differ, but share_embeddings=True makes them one matrix",
        ),
        (
            lambda a: a["output.weight"].__iadd__(1),
            "target_embedding.weight and output.weight differ, but share_output=True makes them one matrix",
        ),
        (
            lambda a: a["output.weight"].fill(np.nan),
            "output.weight contains something other than finite real numbers",
        ),
        (
            lambda a: a.update({"output.weight": np.ones((17, 12), int)}),
            "output.weight contains something other",
        ),
    ],
)
def test_arrays_of_another_model(change, words):
    arrays = to_pytorch(random_model(CASES["post_norm_shared"]))
    change(arrays)
    with pytest.raises(InputError, match=re.escape(words)) as raised:
        from_pytorch(CASES["post_norm_shared"], arrays)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"d_k": 5}, "d_k is 5, but PyTorch's layers always have d_model / num_heads = 12 / 3"),
        ({"d_v": 3}, "d_v is 3"),
        (
            {"num_heads": 5, "d_k": 2},
            "d_k is 2, but PyTorch's layers always have d_model / num_heads = 12 / 5",
        ),
        ({"norm": "rms"}, "norm is rms"),
        ({"norm_epsilon": 0.1}, "epsilon 0.1"),
        ({"activation": "geglu"}, "activation geglu"),
        (
            {"positions": "rotary", "attention": "grouped"},
            "attention is grouped, but PyTorch's layers have scaled",
        ),
    ],
)
def test_layers_that_pytorch_has_not(changes, words):
    config = TransformerConfig(**{**SIZES, **changes})
    for convert in (lambda: to_pytorch(Transformer(config)), lambda: from_pytorch(config, {})):
        with pytest.raises(InputError, match=words):
            convert()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize(
    "evaluation", [False, True], ids=["train", "eval"]
)  # eval: the encoder's fused path
def test_logits_of_pytorch_with_our_weights(config, evaluation):
    torch = pytest.importorskip("torch")
    from tests.fixtures.pytorch_reference import Reference

    model, reference = random_model(config), Reference(config)
    reference.train(not evaluation)
    reference.load_state_dict(
        {name: torch.from_numpy(array) for name, array in to_pytorch(model).items()}, strict=True
    )
    source, target, _ = next(batches(config))
    with torch.no_grad():
        theirs = reference(torch.from_numpy(source), torch.from_numpy(target)).numpy()
    assert error(model.forward(source, target)[0], theirs) < BOUND


def test_weights_of_nn_transformer():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    config = TransformerConfig(**SIZES, pre_norm=True)
    with pytest.warns(UserWarning, match="enable_nested_tensor"):  # which cannot be turned off here
        theirs = torch.nn.Transformer(
            12, 3, 2, 2, 20, dropout=0.0, batch_first=True, norm_first=True
        ).double()
    embedding = torch.randn(17, 12, dtype=torch.float64)
    for parameter in theirs.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    model = from_pytorch(
        config,
        {
            **theirs.state_dict(),
            **dict.fromkeys(
                ("source_embedding.weight", "target_embedding.weight", "output.weight"), embedding
            ),
        },
    )

    source, target, _ = next(batches(config))
    x, y = (
        embedding[ids] * 12**0.5 + torch.from_numpy(sinusoids(ids.shape[1], 12))
        for ids in (source, target)
    )
    padded = torch.from_numpy(source == 0)
    with torch.no_grad():
        logits = (
            theirs(
                x,
                y,
                tgt_mask=torch.ones(6, 6).triu(1).bool(),
                src_key_padding_mask=padded,
                memory_key_padding_mask=padded,
                tgt_key_padding_mask=torch.from_numpy(target == 0),
            )
            @ embedding.T
        )
    assert error(model.forward(source, target)[0], logits.numpy()) < BOUND
