"""Llama (Touvron et al. 2023, https://arxiv.org/abs/2302.13971) and the models built like it, such as SmolLM2."""

from collections.abc import Iterator

from minitransformer.interchange.pretrained.checkpoint import Tensor
from minitransformer.models import LanguageModelConfig

PREFIX = "model."
BUFFERS = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"    # they follow from the base


def configuration(options) -> LanguageModelConfig:
    options.one_of("hidden_act", ["silu"], "silu")
    for name in ("attention_bias", "mlp_bias"):
        options.one_of(name, [False], False)
    options.one_of("pretraining_tp", [1], 1)
    options.one_of("rope_scaling", [None, {"rope_type": "default"}], None)
    rotary = {**options.take("rope_parameters", {})}
    rotary.pop("rope_theta", None) if rotary.get("rope_theta") is None else None
    base = rotary.pop("rope_theta", options.take("rope_theta", 10_000.0))
    heads = options.take("num_attention_heads")
    config = LanguageModelConfig(
        vocab_size=options.take("vocab_size"), max_length=options.take("max_position_embeddings"),
        d_model=options.take("hidden_size"), num_layers=options.take("num_hidden_layers"), num_heads=heads,
        kv_heads=options.take("num_key_value_heads", heads), d_k=options.take("head_dim", None), d_ff=options.take("intermediate_size"),
        norm_epsilon=options.take("rms_norm_eps", 1e-6), share_output=options.take("tie_word_embeddings", False),
        attention_dropout=options.take("attention_dropout", 0.0), rotary_base=base,
        rotary_layout=options.take("rotary_layout", "half"), dropout=0.0, pre_norm=True, norm="rms", positions="rotary",
        activation="swiglu", attention="grouped", embedding="unscaled")
    return config


def tensors(config) -> Iterator[Tensor]:
    """Their linear layers have weights (d_out, d_in), and no biases."""
    d, f, vocabulary = config.d_model, config.d_ff, config.vocab_size
    d_k = config.d_k or d // config.num_heads
    queries, keys = config.num_heads * d_k, config.attention_settings["kv_heads"] * d_k
    yield Tensor("embedding.weight", "embed_tokens.weight", (vocabulary, d), of_tokens=True)
    for i in range(config.num_layers):
        ours, theirs = f"stack.layers.{i}", f"layers.{i}"
        for name, other, d_in, d_out in (
                ("self_attention.query", "self_attn.q_proj", d, queries), ("self_attention.key", "self_attn.k_proj", d, keys),
                ("self_attention.value", "self_attn.v_proj", d, keys), ("self_attention.output", "self_attn.o_proj", queries, d),
                ("feed_forward.gate", "mlp.gate_proj", d, f), ("feed_forward.inner", "mlp.up_proj", d, f),
                ("feed_forward.outer", "mlp.down_proj", f, d)):
            yield Tensor(f"{ours}.{name}.weight", f"{theirs}.{other}.weight", (d_out, d_in), transposed=True)
        for name, other in ("self_attention_residual", "input_layernorm"), ("feed_forward_residual", "post_attention_layernorm"):
            yield Tensor(f"{ours}.{name}.norm.gamma", f"{theirs}.{other}.weight", (d,))
    yield Tensor("stack.norm.gamma", "norm.weight", (d,))
    if not config.share_output:
        yield Tensor("output.weight", "lm_head.weight", (vocabulary, d), of_tokens=True)
