"""The same search by Hugging Face's MarianMT, with the same weights."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from transformers import MarianConfig, MarianMTModel

from research.benchmarks.sentences import limit, power, strip
from minitransformer.decoding.translation import longest_first
from minitransformer.functional import sinusoids
from minitransformer.data.special import BOS, EOS, PAD
from minitransformer.layers import LayerNorm, Linear

# The parts of a path that have another name there:
NAMES = {
    "self_attention_residual.norm": "self_attn_layer_norm",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward_residual.norm": "final_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "self_attention": "self_attn",
    "cross_attention": "encoder_attn",
    "query": "q_proj",
    "key": "k_proj",
    "value": "v_proj",
    "output": "out_proj",
}


def make_step(case, threads, size) -> Callable[[], list[list[int]]]:
    """A function that decodes all sentences, `size` at a time, and returns the ids of the outputs."""
    torch.set_num_threads(threads)
    run, sources = case.load()
    parts = [(places, torch.from_numpy(ids)) for places, ids in longest_first(sources, int(size))]
    model: Any = convert(
        run.model, positions=max(ids.shape[1] + limit(ids) for _, ids in parts) + 1
    )
    settings = {"num_beams": case.beam, "early_stopping": True, "do_sample": False}
    if case.beam > 1:
        settings["length_penalty"] = power(sources)

    def step() -> list[list[int]]:
        outputs = [[] for _ in sources]
        with torch.inference_mode():
            for places, ids in parts:
                found = model.generate(
                    ids, attention_mask=ids != PAD, max_new_tokens=limit(ids) + 1, **settings
                )
                for place, output in zip(places, found.tolist()):
                    outputs[place] = strip(output)
        return outputs

    return step


def convert(model, positions) -> MarianMTModel:
    """A MarianMTModel with the weights of `model`, a Transformer, and room for `positions`
    positions.
    """
    config = model.config
    marian = MarianMTModel(
        MarianConfig(
            vocab_size=config.target_vocab,
            max_position_embeddings=positions,
            d_model=config.d_model,
            encoder_layers=config.num_layers,
            decoder_layers=config.num_layers,
            encoder_attention_heads=config.num_heads,
            decoder_attention_heads=config.num_heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
        )
    )
    table = torch.from_numpy(model.target_embedding.weight.data)
    sines = torch.from_numpy(sinusoids(positions, config.d_model, dtype="float32"))
    state = marian.state_dict()  # tied weights appear under each of their names
    new = {
        name: table
        for name in state
        if name.endswith(("shared.weight", "embed_tokens.weight", "lm_head.weight"))
    }
    new |= {name: sines for name in state if name.endswith("embed_positions.weight")}
    new["final_logits_bias"] = torch.zeros_like(state["final_logits_bias"])
    for stack in "encoder", "decoder":
        for i, layer in enumerate(getattr(model, stack).layers):
            new |= {f"model.{stack}.layers.{i}.{name}": array for name, array in _layer(layer)}
    marian.load_state_dict(new)  # raises an error for missing or additional names
    return marian.eval()


def _layer(layer) -> Iterator[tuple[str, torch.Tensor]]:
    """(MarianMT's name, tensor) for each array of an EncoderLayer or DecoderLayer."""
    for path, part in layer.sublayers().items():
        if isinstance(part, (Linear, LayerNorm)):
            for ours, theirs in NAMES.items():
                path = path.replace(ours, theirs)
            for name, parameter in zip(
                ("weight", "bias"), part.parameters().values()
            ):  # gamma is a weight there, beta a bias
                yield (
                    f"{path}.{name}",
                    torch.from_numpy(parameter.data.T),
                )  # a Linear's weight is (d_out, d_in) there
