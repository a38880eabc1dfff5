"""Llama (Touvron et al. 2023, https://arxiv.org/abs/2302.13971) and the models built like it, such
as SmolLM2.
"""

from collections.abc import Iterator
from typing import Any, cast

from minitransformer.models import LanguageModelConfig
from minitransformer.zoo.pretrained.checkpoint import Options, Tensor

PREFIX = "model."
ROTARY = ["default", "llama3"]
STRETCH = {  # of llama3, {a field of StretchedBase: its option}
    "factor": "factor",
    "low": "low_freq_factor",
    "high": "high_freq_factor",
    "length": "original_max_position_embeddings",
}
BUFFERS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"  # they follow from the base


def configuration(options: Options, biases: bool = False) -> LanguageModelConfig:
    """`biases`: whether queries, keys and values have some."""
    options.one_of("hidden_act", ["silu"], "silu")
    options.one_of("pretraining_tp", [1], 1)
    options.one_of("is_causal", [True], True)
    for name in ("attention_bias", "mlp_bias", "rope_interleaved"):
        options.one_of(name, [False], False)
    heads, d_model = options.whole("num_attention_heads"), options.whole("hidden_size")
    d_k = options.whole("head_dim", max(1, d_model // heads))
    # part of a head might not turn, or values might be wider than keys
    for name in ("rotary_dim", "value_dim"):
        options.one_of(name, [d_k], d_k)
    return LanguageModelConfig(
        vocab_size=options.whole("vocab_size"),
        max_length=options.whole("max_position_embeddings"),
        d_model=d_model,
        d_ff=options.whole("intermediate_size"),
        num_layers=options.whole("num_hidden_layers"),
        num_heads=heads,
        d_k=d_k,
        norm_epsilon=options.number("rms_norm_eps", 1e-6),
        share_output=options.take("tie_word_embeddings", False),
        attention_settings={
            "kv_heads": options.whole("num_key_value_heads", heads),
            "rotary_base": _rotary_base(options),
            "rotary_layout": options.take("rotary_layout", "half"),
            "biases": biases,
        },
        attention_dropout=options.take("attention_dropout", 0.0),
        dropout=0.0,
        pre_norm=True,
        norm="rms",
        positions="rotary",
        activation="swiglu",
        attention="grouped",
        embedding="unscaled",
    )


def _rotary_base(options: Options) -> Any:
    """The base is an option of its own in older files, and one of the rotary positions' in newer
    ones. Llama 3.1 stretches it: the fields of a StretchedBase.
    """
    base, stretch = options.number("rope_theta", 10_000.0), {}
    for name in ("rope_scaling", "rope_parameters"):
        rotary = options.part(name)
        base = rotary.number("rope_theta", base)
        older = rotary.one_of("type", ROTARY, "default")
        kind = rotary.one_of("rope_type", ROTARY, older)
        rotary.one_of("partial_rotary_factor", [1], 1)
        if kind == "llama3":
            stretch = {ours: rotary.number(theirs) for ours, theirs in STRETCH.items()}
        rotary.finish()
    return {"base": base, **stretch} if stretch else base


def tensors(config: LanguageModelConfig) -> Iterator[Tensor]:
    """Their linear layers have weights (d_out, d_in), and no biases but Qwen2's."""
    d, f, vocabulary = config.d_model, config.d_ff, config.vocab_size
    d_k = cast(int, config.d_k)  # `configuration` sets it
    queries, keys = config.num_heads * d_k, config.attention_settings["kv_heads"] * d_k
    yield Tensor("embedding.weight", "embed_tokens.weight", (vocabulary, d), of_tokens=True)
    for i in range(config.num_layers):
        ours, theirs = f"stack.layers.{i}", f"layers.{i}"
        for name, other, d_in, d_out in (
            ("self_attention.query", "self_attn.q_proj", d, queries),
            ("self_attention.key", "self_attn.k_proj", d, keys),
            ("self_attention.value", "self_attn.v_proj", d, keys),
            ("self_attention.output", "self_attn.o_proj", queries, d),
            ("feed_forward.gate", "mlp.gate_proj", d, f),
            ("feed_forward.inner", "mlp.up_proj", d, f),
            ("feed_forward.outer", "mlp.down_proj", f, d),
        ):
            yield Tensor(
                f"{ours}.{name}.weight", f"{theirs}.{other}.weight", (d_out, d_in), transposed=True
            )
        if config.attention_settings.get("biases"):
            for name, size in (("query", queries), ("key", keys), ("value", keys)):
                bias = f"{theirs}.self_attn.{name[0]}_proj.bias"
                yield Tensor(f"{ours}.self_attention.{name}.bias", bias, (size,))
        for name, other in (
            ("self_attention_residual", "input_layernorm"),
            ("feed_forward_residual", "post_attention_layernorm"),
        ):
            yield Tensor(f"{ours}.{name}.norm.gamma", f"{theirs}.{other}.weight", (d,))
    yield Tensor("stack.norm.gamma", "norm.weight", (d,))
    if not config.share_output:
        yield Tensor("output.weight", "lm_head.weight", (vocabulary, d), of_tokens=True)
