"""What is assigned to a model is true everywhere: in forward, loss, training, decoding and
replicas.
"""

import copy

import numpy as np
import pytest

from minitransformer import Adam, InputError, Parameter, Threads, beam_search, fast, training_step
from minitransformer.data.special import EOS
from minitransformer.functional import cross_entropy_backward, cross_entropy_forward
from minitransformer.layers import (
    DecoderLayer,
    Embedding,
    Encoder,
    EncoderLayer,
    FeedForward,
    Input,
    Layer,
    LayerNorm,
    Linear,
    OutputProjection,
    SelfAttention,
    SinusoidalPositions,
)
from minitransformer.zoo.baselines import UnscaledSelfAttention
from tests.helpers.decoding import random_model, rescore
from tests.helpers.models import V, make_batch_for, make_model, random_ids

D = 12


def double(layer):
    return layer.astype(np.float64)


def new(kind, *arguments):
    return double(kind(*arguments, np.random.default_rng(7)))


def check_all_uses(model, batch, source):
    """The loss and its gradients are those of `forward`; a search reports what `forward` computes."""
    logits, cache = model.forward(*batch.inputs)
    loss, loss_cache = cross_entropy_forward(logits, batch.next_target, 0.1, padding=0)
    model.zero_grad()
    model.backward(cross_entropy_backward(1.0, loss_cache), cache)
    expected = {name: one.grad.copy() for name, one in model.parameters().items()}
    with fast():
        sums, cache = model.loss_forward(batch, smoothing=0.1)
    assert sums.loss == pytest.approx(loss, rel=1e-12)
    sums, cache = model.loss_forward(batch, smoothing=0.1)
    model.zero_grad()
    model.loss_backward(1.0, cache)
    for name, parameter in model.parameters().items():
        np.testing.assert_allclose(parameter.grad, expected[name], rtol=0, atol=1e-11)
    model.zero_grad()
    if len(batch.inputs) == 2:
        for one in beam_search(model, source, 3, max_length=4)[0]:
            expected = rescore(model, source[0][:-1], one.ids)
            assert one.log_probability == pytest.approx(expected, rel=1e-10)
    return loss


def tie(model, name):
    model.output.weight = getattr(model, name).weight


def replace_output(model, name):
    model.output = new(OutputProjection, V, D)


def replace_output_by_a_linear_layer(model, name):
    model.output = new(Linear, D, V)


def replace_embedding(model, name):
    setattr(model, name, new(Embedding, V, D))


def replace_source_embedding(model, name):
    setattr(model, name.replace("target", "source"), new(Embedding, V, D))


def tie_the_other_way(model, name):
    getattr(model, name).weight = model.output.weight


KINDS = "transformer", "language-model", "lstm-attention"
ASSIGNMENTS = [
    tie,
    tie_the_other_way,
    replace_output,
    replace_output_by_a_linear_layer,
    replace_embedding,
    replace_source_embedding,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("assign", ASSIGNMENTS)
def test_an_assignment_is_followed_everywhere(kind, assign):
    shared = {"share_output": False}
    if kind != "language-model":
        shared["share_embeddings"] = False
    model, batch = make_model(kind, **shared), make_batch_for(kind)
    source = np.concatenate([random_ids(np.random.default_rng(0), 1, 3), [[EOS]]], axis=1)
    before = check_all_uses(model, batch, source)
    assign(model, "embedding" if kind == "language-model" else "target_embedding")
    assert check_all_uses(model, batch, source) != before
    adam, other = Adam(model), copy.deepcopy(model)
    with Threads(model, 2) as threads:
        losses = [
            float(training_step(model, adam, batch, 0.01, workers=threads).loss) for _ in range(9)
        ]
    assert losses[-1] < losses[0]
    alone = Adam(other)
    assert [
        float(training_step(other, alone, batch, 0.01).loss) for _ in range(9)
    ] == pytest.approx(losses, rel=1e-10)
    check_all_uses(model, batch, source)


@pytest.mark.parametrize("kind", KINDS)
def test_a_shared_weight_is_not_replaced_in_one_layer_alone(kind):
    model, batch = make_model(kind), make_batch_for(kind)
    name = "embedding" if kind == "language-model" else "target_embedding"
    weight = Parameter(np.random.default_rng(0).standard_normal((V, D)))
    getattr(model, name).weight = weight
    for use in (
        lambda: model.loss_forward(batch),
        lambda: model.forward(*batch.inputs),
        lambda: beam_search(model, batch.inputs[0][:1, :2], 2),
    ):
        with pytest.raises(InputError, match="are one Parameter .share_output., but one was repl"):
            use()
    model.output.weight = weight
    model.loss_forward(batch)
    assert model.parameters()[f"{name}.weight"] is weight


def test_an_output_of_its_own_unties_a_shared_one():
    model, batch = make_model("transformer"), make_batch_for("transformer")
    model.output = new(OutputProjection, V, D)
    model.loss_forward(batch)
    assert "output.weight" in model.parameters()
    copied = model.astype(np.float32)
    copied.output.weight.data[...] = 0
    copied.loss_forward(batch)


def test_after_adam_exists_the_next_step_is_refused():
    model, batch = make_model("transformer", share_output=False), make_batch_for("transformer")
    adam = Adam(model)
    training_step(model, adam, batch, 0.01)
    tie(model, "target_embedding")
    with pytest.raises(InputError, match="have changed since this Adam was made; make a new Adam"):
        training_step(model, adam, batch, 0.01)
    assert not any(parameter.grad.any() for parameter in model.parameters().values())
    training_step(model, Adam(model), batch, 0.01)


def a_setting(model):
    model.decoder.layers[0].feed_forward.activation = "gelu"


def another_setting(model):
    for layer in model.encoder.layers:
        layer.feed_forward_residual.pre_norm = True


def dropout(model):
    model.encoder.layers[0].feed_forward_residual.dropout = 0.5


def a_method(model):
    norm = model.encoder.layers[0].feed_forward_residual.norm
    norm.forward = lambda x: LayerNorm.forward(norm, x * x)


def a_layer_in_a_list(model):
    model.encoder.layers[0] = model.encoder.layers[1]


def a_part(model):
    model.decoder.layers[1].feed_forward = new_feed_forward(7)


def new_feed_forward(width):
    return double(FeedForward(D, width, np.random.default_rng(0)))


def a_class(model):
    model.encoder.layers[0].self_attention.__class__ = UnscaledSelfAttention


def the_order(model):
    model.encoder.layers.reverse()


CHANGES = [
    a_setting,
    another_setting,
    dropout,
    a_method,
    a_layer_in_a_list,
    a_part,
    a_class,
    the_order,
]


@pytest.mark.parametrize("change", CHANGES)
def test_threads_follow_what_changes_after_they_were_made(change):
    batch = make_batch_for("transformer")
    models = [make_model("transformer") for _ in range(2)]
    with Threads(models[0], 2) as late:
        training_step(models[0], Adam(models[0]), batch, 0.0, workers=late)
        for model in models:
            change(model)
        with Threads(models[1], 2) as early:
            losses = [
                float(training_step(model, Adam(model), batch, 0.01, (0, 1), workers=workers).loss)
                for model, workers in zip(models, (late, early))
            ]
    assert losses[0] == losses[1]
    np.testing.assert_array_equal(models[0].flat.data, models[1].flat.data)


class OwnAttend(SelfAttention):
    def attend(self, q, k, v, mask, rng):
        return super().attend(2 * q, k, v, mask, rng)


class OwnForward(SelfAttention):
    def forward(self, x, mask=None, rng=None):
        y, cache = super().forward(x, mask, rng)
        return y + x, cache


class OwnLayer(DecoderLayer):
    def forward(self, x, memory, mask=None, memory_mask=None, rng=None):
        y, cache = super().forward(x, memory, mask, memory_mask, rng)
        return x - y, cache


class OwnEncoderLayer(EncoderLayer):
    def forward(self, x, mask=None, rng=None):
        y, cache = super().forward(x, mask, rng)
        return x - y, cache


class OwnEncoder(Encoder):
    def forward(self, x, mask=None, rng=None):
        y, cache = super().forward(x, mask, rng)
        return x - y, cache


class OwnInput(Input):
    def forward(self, ids, rng=None):
        y, cache = super().forward(ids, rng)
        return y * y, cache


class OwnPositions(SinusoidalPositions):
    """With `at` of the class that it is derived from, which does not know it."""

    def forward(self, x):
        y, cache = super().forward(x)
        return 6 * y - 5 * x, cache


class MixingNorm(LayerNorm):
    """It looks back: what decoding calls for one position at a time must not."""

    def forward(self, x):
        y, cache = super().forward(x)
        return y + y.cumsum(axis=1), cache


class OwnOutput(OutputProjection):
    def forward(self, x):
        logits, cache = super().forward(x)
        return 2 * np.tanh(logits / 2), cache


class WrappedOutput(Layer):
    """A layer around the usual one: it has no weight of its own."""

    def __init__(self, output):
        self.inner = output

    def forward(self, x):
        logits, cache = self.inner.forward(x)
        return logits - 3 * np.eye(logits.shape[-1])[3], cache


def of_a_layer(name, make):
    def change(model):
        setattr(model.decoder.layers[1], name, make(model))

    return change


def method_of_a_layer(model):
    norm = model.decoder.layers[0].feed_forward_residual.norm
    norm.forward = lambda x: LayerNorm.forward(norm, x * x)


def method_of_the_model(model):
    usual = model.decode
    model.decode = lambda *arguments: (2 * usual(*arguments)[0], None)


OWN = {
    "attend": of_a_layer("self_attention", lambda model: new(OwnAttend, D, 2)),
    "forward": of_a_layer("self_attention", lambda model: new(OwnForward, D, 2)),
    "unscaled": of_a_layer("self_attention", lambda model: new(UnscaledSelfAttention, D, 2)),
    "decoder layer": lambda model: model.decoder.layers.append(new(OwnLayer, model.config)),
    "encoder layer": lambda model: model.encoder.layers.append(new(OwnEncoderLayer, model.config)),
    "encoder": lambda model: setattr(model, "encoder", new(OwnEncoder, model.config)),
    "input": lambda model: setattr(
        model,
        "target_input",
        OwnInput(model.target_embedding, SinusoidalPositions(), 0.0),
    ),
    "positions": lambda model: setattr(model.target_input, "positions", OwnPositions()),
    "norm": lambda model: setattr(
        model.decoder.layers[0].self_attention_residual, "norm", double(MixingNorm(D))
    ),
    "output": lambda model: setattr(model, "output", new(OwnOutput, 9, D)),
    "output around the usual one": lambda model: setattr(
        model, "output", WrappedOutput(model.output)
    ),
    "method of a layer": method_of_a_layer,
    "method of the model": method_of_the_model,
}


@pytest.mark.parametrize("change", OWN)
@pytest.mark.parametrize("mode", ["textbook", "fast"])
def test_decoding_runs_the_layers_that_are_in_the_model(change, mode):
    model, source = random_model(0, d_model=D), [3, 5, 4]
    before = rescore(model, source, [3, 4])
    OWN[change](model)
    assert rescore(model, source, [3, 4]) != pytest.approx(before, rel=1e-3)
    for rows in (1, 12):
        with fast() if mode == "fast" else np.errstate():
            found = beam_search(model, np.array([[*source, EOS]] * rows), 2, max_length=4)
        for one in found[-1]:
            assert one.log_probability == pytest.approx(rescore(model, source, one.ids), rel=1e-10)
