"""GPT-2 (Radford et al. 2019): the paper's decoder without a source, with pre-norm, learned
positions and GELU.
"""

from collections.abc import Iterator

from minitransformer.models import LanguageModelConfig
from minitransformer.zoo.pretrained.checkpoint import Options, Tensor

PREFIX = "transformer."
BUFFERS = r"h\.\d+\.attn\.(masked_)?bias"  # the causal mask


def configuration(options: Options) -> LanguageModelConfig:
    d_model = options.whole("n_embd")
    options.one_of("scale_attn_weights", [True], True)
    options.one_of("scale_attn_by_inverse_layer_idx", [False], False)
    options.one_of("add_cross_attention", [False], False)
    # both are the tanh form
    options.one_of("activation_function", ["gelu_new", "gelu_pytorch_tanh"], "gelu_new")
    options.leave_out(
        "n_ctx",
        "reorder_and_upcast_attn",
        "summary_activation",
        "summary_first_dropout",
        "summary_proj_to_labels",
        "summary_type",
        "summary_use_proj",
    )
    return LanguageModelConfig(
        vocab_size=options.whole("vocab_size"),
        max_length=options.whole("n_positions"),
        d_model=d_model,
        num_layers=options.whole("n_layer"),
        num_heads=options.whole("n_head"),
        d_ff=options.whole("n_inner", 4 * d_model),
        norm_epsilon=options.number("layer_norm_epsilon", 1e-5),
        share_output=options.take("tie_word_embeddings", True),
        dropout=options.take("resid_pdrop", 0.1),
        embedding_dropout=options.take("embd_pdrop", 0.1),
        attention_dropout=options.take("attn_pdrop", 0.1),
        pre_norm=True,
        positions="learned",
        activation="gelu",
        embedding="unscaled",
    )


def tensors(config: LanguageModelConfig) -> Iterator[Tensor]:
    """Their linear layers have weights (d_in, d_out), as here; query, key and value are side by
    side in one.
    """
    d, f, vocabulary = config.d_model, config.d_ff, config.vocab_size
    yield Tensor("embedding.weight", "wte.weight", (vocabulary, d), of_tokens=True)
    yield Tensor("input.positions.weight", "wpe.weight", (config.max_length, d))
    for i in range(config.num_layers):
        ours, theirs = f"stack.layers.{i}", f"h.{i}"
        for part, name in enumerate(("query", "key", "value")):
            yield Tensor(
                f"{ours}.self_attention.{name}.weight",
                f"{theirs}.attn.c_attn.weight",
                (d, 3 * d),
                part=part,
            )
            yield Tensor(
                f"{ours}.self_attention.{name}.bias",
                f"{theirs}.attn.c_attn.bias",
                (3 * d,),
                part=part,
            )
        for name, other, d_in, d_out in (
            ("self_attention.output", "attn.c_proj", d, d),
            ("feed_forward.inner", "mlp.c_fc", d, f),
            ("feed_forward.outer", "mlp.c_proj", f, d),
        ):
            yield Tensor(f"{ours}.{name}.weight", f"{theirs}.{other}.weight", (d_in, d_out))
            yield Tensor(f"{ours}.{name}.bias", f"{theirs}.{other}.bias", (d_out,))
        for name, other in ("self_attention_residual", "ln_1"), ("feed_forward_residual", "ln_2"):
            yield Tensor(f"{ours}.{name}.norm.gamma", f"{theirs}.{other}.weight", (d,))
            yield Tensor(f"{ours}.{name}.norm.beta", f"{theirs}.{other}.bias", (d,))
    yield Tensor("stack.norm.gamma", "ln_f.weight", (d,))
    yield Tensor("stack.norm.beta", "ln_f.bias", (d,))
    if not config.share_output:
        yield Tensor("output.weight", "lm_head.weight", (vocabulary, d), of_tokens=True)
