"""Weights from and to PyTorch's own Transformer layers, as a state dict of NumPy arrays, without
torch.

The names and layouts are those of the modules' own state dicts:

    encoder.*                  nn.TransformerEncoder
    decoder.*                  nn.TransformerDecoder
    source_embedding.weight    (V_source, d_model), nn.Embedding
    target_embedding.weight    (V_target, d_model), nn.Embedding
    source_positions.weight    (max_length, d_model), nn.Embedding; only with learned positions
    target_positions.weight    the same for the target
    output.weight              (V_target, d_model), nn.Linear(d_model, V_target, bias=False)

Both embeddings and the output are always present, repeated if the model shares them.

A post-norm model corresponds to PyTorch's two stacks with norm=None, as in the paper. A pre-norm
model (norm_first=True) ends each stack with norm=nn.LayerNorm(d_model), so its `encoder.*` and
`decoder.*` also fit nn.Transformer, which always has these two norms.

PyTorch leaves everything around the stacks to its user. To get this model's logits there:

- the input of a stack is embedding(ids) * sqrt(d_model) plus the positions: functional.sinusoids(T, d_model), or the
  first T rows of `source_positions.weight` for the encoder and of `target_positions.weight` for the
  decoder;
- padding (id 0) is masked as a key everywhere, and the future in the decoder; PyTorch's boolean masks say True = may
  NOT attend, the opposite of this project's. A source with nothing but padding gives NaN in PyTorch
  and zeros here;
- logits are output(y), without a bias;
- activation="gelu" here is the tanh form. PyTorch's "gelu" is the exact form, and in evaluation its encoder treats an
  nn.GELU of either form as the exact one: give its layers
  activation=lambda x: torch.nn.functional.gelu(x, approximate="tanh").

Dropout has no weights; PyTorch's layers have one dropout rate for all places, where
TransformerConfig has three.
"""

from collections.abc import Iterator, KeysView, Mapping
from typing import Any

import numpy as np

from minitransformer.backend import Array, to_host
from minitransformer.errors import InputError, one_line
from minitransformer.interchange.weights import check_arrays
from minitransformer.layers.attention import MultiHeadAttention
from minitransformer.layers.layer_norm import LayerNorm
from minitransformer.layers.linear import Linear
from minitransformer.models import Transformer, TransformerConfig

WRAPPERS = {  # {what stands in the names of a wrapped module: who put it there}
    "module": "DataParallel",
    "_orig_mod": "torch.compile",
    "_fsdp_wrapped_module": "FSDP",
    "_checkpoint_wrapped_module": "checkpoint_wrapper",
}
SHARED = {
    "share_embeddings": ("source_embedding.weight", "target_embedding.weight"),
    "share_output": ("target_embedding.weight", "output.weight"),
}


def to_pytorch(model: Transformer) -> dict[str, Array]:
    """The weights of a Transformer as {PyTorch's name: array}: copies, on the host, with the
    model's dtype.

    Raises InputError for another model or attention, and if d_k or d_v is not d_model / num_heads,
    the only size in PyTorch's layers.
    """
    if not isinstance(model, Transformer):
        raise InputError(
            f"a {type(model).__name__} cannot be exported, only an encoder-decoder Transformer"
        )
    _check_heads(model.config)
    # Contiguous, because safetensors writes an array's memory as it is: a transposed array would be
    # wrong.
    return {
        name: np.ascontiguousarray(np.concatenate([to_host(view) for view in views]))
        for name, views in _views(model)
    }


def from_pytorch(config: TransformerConfig, arrays: Mapping[str, Any]) -> Transformer:
    """The Transformer of a TransformerConfig with the weights {PyTorch's name: array}, as
    `to_pytorch` returns them.

    The arrays are torch's tensors or Parameters on any device, or anything np.asarray accepts. The
    model is float64 if any of them is float64 or wider, otherwise float32: float16 and bfloat16 are
    exact in it. Raises InputError, naming the array, if one is missing, does not belong to
    this model, has another shape or contains anything but finite real numbers; if two differ that
    the config shares; for the names of a wrapped module; and for d_k or d_v like `to_pytorch`.
    """
    _check_heads(config)
    if not isinstance(arrays, Mapping):
        kind = type(arrays).__name__
        raise InputError(f"arrays is a {kind}, expected a state dict, as module.state_dict() gives")
    model = Transformer(config)
    shapes = {
        name: (sum(len(view) for view in views), *views[0].shape[1:])
        for name, views in _views(model)
    }
    _check_names(arrays.keys(), shapes.keys())
    arrays = {name: _as_numpy(name, array) for name, array in arrays.items()}
    check_arrays(arrays, shapes)
    for choice, (first, second) in SHARED.items():
        if getattr(config, choice) and not np.array_equal(arrays[first], arrays[second]):
            raise InputError(
                f"{first} and {second} differ, but {choice}=True makes them one matrix"
            )
    model = model.astype(
        np.float64 if any(array.dtype.itemsize > 4 for array in arrays.values()) else np.float32
    )
    for name, views in _views(model):
        for view, part in zip(views, np.split(arrays[name], len(views))):
            view[...] = part
    return model


def _check_names(found: KeysView[str], expected: KeysView[str]) -> None:
    """Raise InputError for names that a wrapper has changed, or with something before each."""
    for name in sorted(found - expected):
        for part in WRAPPERS.keys() & name.split("."):
            raise InputError(
                f'{name}: "{part}." is {WRAPPERS[part]}\'s; take it out of every name, with '
                f'name.replace("{part}.", "")'
            )
        for inner in expected - found:
            if name.endswith(f".{inner}"):
                prefix = name.removesuffix(inner)
                raise InputError(f'{name}: expected {inner}; take "{prefix}" off the names')


def _as_numpy(name: str, array: Any) -> np.ndarray:
    """An array or tensor of any library, on the host; bfloat16, which NumPy lacks, in float32."""
    try:
        if hasattr(array, "detach"):  # torch's, perhaps with a gradient or on another device
            array = array.detach().cpu()
            array = array.float() if str(array.dtype) == "torch.bfloat16" else array
        array = np.asarray(array)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name}: not an array in memory ({one_line(error)})") from None
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _check_heads(config: TransformerConfig) -> None:
    if config.attention != "scaled":
        raise InputError(
            f"attention is {config.attention}, but PyTorch's layers have scaled dot-product attention and no other"
        )
    if (
        config.norm != "layer"
        or config.norm_epsilon != 1e-5
        or config.activation not in ("relu", "gelu")
    ):
        raise InputError(
            f"norm is {config.norm} (epsilon {config.norm_epsilon}) and activation {config.activation}, but PyTorch's "
            "layers have LayerNorm (epsilon 1e-05) and relu or gelu"
        )
    for name in ("d_k", "d_v"):
        width = getattr(config, name)
        if width is not None and width * config.num_heads != config.d_model:
            raise InputError(
                f"{name} is {width}, but PyTorch's layers always have d_model / num_heads = "
                f"{config.d_model} / {config.num_heads}"
            )


def _views(model: Any) -> Iterator[tuple[str, list[Array]]]:
    """(PyTorch's name, [views of the model's arrays that PyTorch stacks into one]) for all arrays."""
    yield "source_embedding.weight", [model.source_embedding.weight.data]
    yield "target_embedding.weight", [model.target_embedding.weight.data]
    if model.config.positions == "learned":
        yield "source_positions.weight", [model.source_input.positions.weight.data]
        yield "target_positions.weight", [model.target_input.positions.weight.data]
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        for i, layer in enumerate(stack.layers):
            residuals = [layer.self_attention_residual, layer.feed_forward_residual]
            yield from _attention(f"{side}.layers.{i}.self_attn", layer.self_attention)
            if side == "decoder":
                residuals.insert(1, layer.cross_attention_residual)
                yield from _attention(f"{side}.layers.{i}.multihead_attn", layer.cross_attention)
            yield from _linear(f"{side}.layers.{i}.linear1", layer.feed_forward.inner)
            yield from _linear(f"{side}.layers.{i}.linear2", layer.feed_forward.outer)
            for j, residual in enumerate(residuals, 1):
                yield from _norm(f"{side}.layers.{i}.norm{j}", residual.norm)
        if stack.norm:
            yield from _norm(f"{side}.norm", stack.norm)
    yield "output.weight", [model.output.weight.data]


def _attention(name: str, attention: MultiHeadAttention) -> Iterator[tuple[str, list[Array]]]:
    inputs = attention.query, attention.key, attention.value
    yield f"{name}.in_proj_weight", [linear.weight.data.T for linear in inputs]
    yield f"{name}.in_proj_bias", [linear.bias.data for linear in inputs]
    yield from _linear(f"{name}.out_proj", attention.output)


def _linear(name: str, linear: Linear) -> Iterator[tuple[str, list[Array]]]:
    yield f"{name}.weight", [linear.weight.data.T]  # (d_in, d_out) here, (d_out, d_in) there
    yield f"{name}.bias", [linear.bias.data]


def _norm(name: str, norm: LayerNorm) -> Iterator[tuple[str, list[Array]]]:
    yield f"{name}.weight", [norm.gamma.data]
    yield f"{name}.bias", [norm.beta.data]
