"""The same search by CTranslate2 in float32, with the same weights."""

from collections.abc import Callable
from tempfile import TemporaryDirectory

import ctranslate2
import numpy as np
from ctranslate2.specs import (
    Activation,
    TransformerDecoderSpec,
    TransformerEncoderSpec,
    TransformerSpec,
)

from research.benchmarks.sentences import limit, power, strip
from minitransformer.decoding.translation import longest_first
from minitransformer.functional import sinusoids


def make_step(case, threads, setting) -> Callable[[], list[list[int]]]:
    """A function that decodes all sentences and returns the ids of the outputs.

    `setting`: with "batches-64" each thread takes batches of 64 sentences, with "operations-64"
    they share each operation.
    """
    shared, size = setting.split("-")
    run, sources = case.load()
    names = run.vocabulary.tokens(range(run.vocabulary.size))
    ids_of = {name: i for i, name in enumerate(names)}
    parts = list(longest_first(sources, int(size)))
    positions = max(ids.shape[1] + limit(ids) for _, ids in parts) + 1
    with TemporaryDirectory() as folder:
        convert(run.model, names, positions).save(folder)
        translator = ctranslate2.Translator(
            folder,
            device="cpu",
            compute_type="float32",
            inter_threads=threads if shared == "batches" else 1,
            intra_threads=1 if shared == "batches" else threads,
        )
    texts = [
        [[*run.vocabulary.tokens(source), "</s>"] for source in map(sources.__getitem__, places)]
        for places, _ in parts
    ]
    settings = {"beam_size": case.beam, "length_penalty": power(sources), "asynchronous": True}

    def step() -> list[list[int]]:
        outputs = [[] for _ in sources]
        jobs = [
            translator.translate_batch(
                text, max_decoding_length=limit(ids), max_input_length=0, **settings
            )
            for (_, ids), text in zip(parts, texts)
        ]
        for (places, _), found in zip(parts, jobs):
            for place, job in zip(places, found):
                outputs[place] = strip(ids_of[name] for name in job.result().hypotheses[0])
        return outputs

    return step


def convert(model, names, positions) -> TransformerSpec:
    """The model's specification with the weights of `model`, a Transformer; `save` writes it to a
    folder.

    names: the names of all tokens; positions: the number of positions it supports.
    """
    config = model.config
    stacks = [
        kind(config.num_layers, config.num_heads, pre_norm=False, activation=Activation.RELU)
        for kind in (TransformerEncoderSpec, TransformerDecoderSpec)
    ]
    encoder, decoder = stacks
    table = model.target_embedding.weight.data
    encoder.embeddings[0].weight = decoder.embeddings.weight = decoder.projection.weight = table
    for stack, ours in zip(stacks, (model.encoder, model.decoder)):
        stack.position_encodings.encodings = sinusoids(positions, config.d_model, dtype="float32")
        for spec, layer in zip(stack.layer, ours.layers):
            _attention(spec.self_attention, layer.self_attention, layer.self_attention_residual, 3)
            if hasattr(layer, "cross_attention"):
                _attention(spec.attention, layer.cross_attention, layer.cross_attention_residual, 1)
            _linear(spec.ffn.linear_0, layer.feed_forward.inner)
            _linear(spec.ffn.linear_1, layer.feed_forward.outer)
            _norm(spec.ffn.layer_norm, layer.feed_forward_residual.norm)
    spec = TransformerSpec(encoder, decoder)
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.validate()
    return spec


def _attention(spec, attention, residual, first) -> None:
    """Put the first of query, key and value side by side in one matrix, and the others in a second."""
    parts = [attention.query, attention.key, attention.value]
    _linear(spec.linear[0], *parts[:first])
    if parts[first:]:
        _linear(spec.linear[1], *parts[first:])
    _linear(spec.linear[-1], attention.output)
    _norm(spec.layer_norm, residual.norm)


def _linear(spec, *linears) -> None:
    spec.weight = np.concatenate(
        [linear.weight.data.T for linear in linears]
    )  # theirs is (d_out, d_in)
    spec.bias = np.concatenate([linear.bias.data for linear in linears])


def _norm(spec, norm) -> None:
    spec.gamma, spec.beta = norm.gamma.data, norm.beta.data
