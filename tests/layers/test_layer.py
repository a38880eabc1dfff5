"""What every layer has: its parameters and their vectors, and copies of itself in another form."""

import copy
import pickle

import numpy as np
import pytest

from minitransformer import Adam, InputError
from minitransformer.layers import Layer, Linear
from tests.models.test_transformer import V, ids, make


def test_parameters_are_views_of_one_vector():
    model = make()
    data, grad = model.flat
    assert data.size == model.num_parameters()
    data[...] = 3
    grad[...] = 4
    assert all((p.data == 3).all() and (p.grad == 4).all() for p in model.parameters().values())


def test_a_part_of_a_model_cannot_take_its_parameters_away():
    model = make()
    model.flat
    with pytest.raises(InputError, match="layers.0.self_attention.query.weight already lies in the flat vectors of another layer"):
        model.encoder.flat


def test_astype_copies_and_keeps_sharing():
    model = make()
    single = model.astype(np.float32)
    assert single.flat.data.dtype == np.float32
    assert single.source_embedding is single.target_embedding
    assert single.output.weight is single.target_embedding.weight
    single.flat.data[...] = 0
    assert model.flat.data.any()
    assert (model.to("numpy").flat.data == model.flat.data).all()


@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)),
                                       lambda model: model.astype(np.float32)])
@pytest.mark.parametrize("part", [lambda model: model, lambda model: model.encoder])
def test_a_copy_learns_by_itself(make_copy, part):
    """The flat vectors, of the model or of a part of it, are not the copy's: it makes its own."""
    model = make()
    Adam(part(model))
    before = part(model).flat.data.copy()
    clone = make_copy(model)
    adam = Adam(part(clone))
    for parameter in part(clone).parameters().values():
        parameter.grad += 1
    adam.step(0.1)
    for name, parameter in part(clone).parameters().items():
        assert (parameter.data != part(model).parameters()[name].data).all()
    np.testing.assert_array_equal(part(model).flat.data, before)


def test_replicas_share_weights_and_add_up():
    """Two halves of a batch on two replicas give the whole batch's gradient."""
    model, rng = make(), np.random.default_rng(0)
    source, target = ids(rng, 4, 5), ids(rng, 4, 3)
    replicas = [model.replica(), model.replica()]
    model.flat.data[0] += 0.25
    dlogits = rng.standard_normal((4, 3, V))
    for replica, half in zip(replicas, (slice(0, 2), slice(2, 4))):
        assert np.shares_memory(replica.flat.data, model.flat.data)
        _, cache = replica.forward(source[half], target[half])
        replica.backward(dlogits[half], cache)
    assert not model.flat.grad.any()
    _, cache = model.forward(source, target)
    model.backward(dlogits, cache)
    np.testing.assert_allclose(replicas[0].flat.grad + replicas[1].flat.grad, model.flat.grad, rtol=0, atol=1e-12)


def test_parameters_in_lists_tuples_and_dicts_are_found():
    class Holder(Layer):
        def __init__(self):
            rng = np.random.default_rng(0)
            self.listed = [Linear(1, 2, rng)]
            self.several = Linear(1, 2, rng), Linear(1, 2, rng)
            self.named = {"one": Linear(1, 2, rng)}

    assert list(Holder().parameters()) == [
        f"{layer}.{name}" for layer in ("listed.0", "several.0", "several.1", "named.one") for name in ("weight", "bias")]
