"""Initial values: what every function that makes a parameter refuses."""

import inspect

import numpy as np
import pytest

from minitransformer import InputError, Parameter
from minitransformer.layers import initial
from minitransformer.zoo import initial as others

MAKERS = {
    f"{file.__name__.split('.')[-2]}.{name}": make
    for file in (initial, others)
    for name, make in vars(file).items()
    if inspect.isfunction(make)
    and make.__module__ == file.__name__
    and name not in ("check_sizes", "shrink_ends", "_drawn", "undrawn")
}
SIZES = {
    name: [size for size in inspect.signature(make).parameters if size != "rng"]
    for name, make in MAKERS.items()
}


def call(name, rng, **changed):
    with_rng = [rng] if "rng" in inspect.signature(MAKERS[name]).parameters else []
    return MAKERS[name](*with_rng, *{**dict.fromkeys(SIZES[name], 3), **changed}.values())


@pytest.mark.parametrize("name", MAKERS)
def test_a_size_below_one_is_refused(name):
    assert isinstance(call(name, np.random.default_rng(0)), Parameter)
    for size in SIZES[name]:
        with pytest.raises(InputError, match="a size of the layer is 0"):
            call(name, np.random.default_rng(0), **{size: 0})


@pytest.mark.parametrize(
    "name", [name for name in MAKERS if "rng" in inspect.signature(MAKERS[name]).parameters]
)
def test_a_seed_is_no_generator(name):
    with pytest.raises(InputError, match="rng is 7, expected a generator"):
        call(name, 7)


def test_weights_that_come_from_a_file_are_not_drawn():
    rng = np.random.default_rng(0)
    with initial.undrawn():
        parameters = initial.xavier(rng, 3, 4), initial.normal(rng, 3, 4)
    assert all(parameter.shape == (3, 4) and not parameter.data.any() for parameter in parameters)
    assert (
        rng.random() == np.random.default_rng(0).random() and initial.xavier(rng, 3, 4).data.any()
    )
