"""A compiled or cached step runs only for the layers that it was written for: whatever is changed
in a model, decoding gives the logits of `forward`.
"""

from contextlib import nullcontext

import numpy as np
import pytest

from minitransformer import LanguageModel, LanguageModelConfig, Transformer, TransformerConfig
from minitransformer.functional.activations import ACTIVATIONS
from minitransformer.layers.parameter import Parameter
from minitransformer.speed.kernels import kernels_run
from tests.helpers.kernels import needs_numba

SIZES = dict(d_model=12, num_layers=2, num_heads=3, d_ff=10)
GROUPED = dict(attention="grouped", kv_heads=3, norm="rms", positions="rotary", activation="swiglu")
STEPS, WIDTH = 3, 2
BOUNDS = {"float32": 1e-5, "float64": 1e-10}


def make(kind, dtype, seed=0):
    if kind == "transformer":
        model = Transformer(TransformerConfig(source_vocab=9, target_vocab=9, **SIZES), seed)
    else:
        changes = dict(SIZES, **(GROUPED if kind == "grouped" else {}))
        pre_norm = kind == "grouped"
        config = LanguageModelConfig.named(
            "toy", vocab_size=9, **changes, pre_norm=pre_norm, max_length=9
        )
        model = LanguageModel(config, seed)
    rng = np.random.default_rng(seed)
    for parameter in model.parameters().values():  # biases are 0 at first, and gamma is 1
        parameter.data += 0.3 * rng.standard_normal(parameter.shape).astype("float32")
    return model.astype(dtype)


def first_layer(model):
    return (model.decoder if hasattr(model, "decoder") else model.stack).layers[0]


def squared_forward(x):
    positive = x * (x > 0)
    return positive * positive, positive


def squared_backward(dy, cache):
    return 2 * dy * cache


def own_activation(layer):
    layer.feed_forward.activation = "squared"


def other_activation(layer):
    layer.feed_forward.activation = "gelu"


def epsilon(name):
    def change(layer):
        getattr(layer, f"{name}_residual").norm.epsilon = 0.5

    return change


def pre_norm(name):
    def change(layer):
        residual = getattr(layer, f"{name}_residual")
        residual.pre_norm = not residual.pre_norm

    return change


def heads(layer):
    layer.self_attention.num_heads = 2


def rotary_base(layer):
    layer.self_attention.rotary_base = 3.0


def dropout(layer):
    for part in (layer.feed_forward, layer.self_attention, layer.feed_forward_residual):
        part.dropout = 0.5


def one_number(*path):
    """A parameter without axes, which the formulas broadcast."""

    def change(layer):
        *owners, name = path
        for owner in owners:
            layer = getattr(layer, owner)
        setattr(layer, name, Parameter(np.full((), 0.5, getattr(layer, name).data.dtype)))

    return change


def parts(layer):
    """{path: part} of the layer and what is below it."""
    return {"": layer, **layer.sublayers()}


def doubled(method):
    def forward(*arguments, **options):
        y, cache = method(*arguments, **options)
        return 2 * y, cache

    return forward


def own_method(path):
    def change(layer):
        part = parts(layer)[path]
        part.forward = doubled(part.forward)

    return change


def own_class(path):
    def change(layer):
        part = parts(layer)[path]
        base = type(part)
        part.__class__ = type("Own", (base,), {"forward": doubled(base.forward)})

    return change


def stepwise_class(path):
    """A class that the cache may call for one position at a time, and no loop may bypass."""

    def change(layer):
        part = parts(layer)[path]
        base = type(part)
        own = {"forward": doubled(base.forward), "stepwise": True}
        part.__class__ = type("Own", (base,), own)

    return change


def own_parts(kind):
    """A method of each part's own, and a subclass of each part's."""
    for path, part in parts(first_layer(make(kind, "float32"))).items():
        if type(part).stepwise:
            yield f"{kind}: a stepwise class for {path}", kind, stepwise_class(path)
        yield f"{kind}: {path or 'the layer'}.forward = ...", kind, own_method(path)
        yield f"{kind}: a subclass of {path or 'the layer'}", kind, own_class(path)


PAPERS = {
    "nothing": lambda layer: None,
    "an own activation": own_activation,
    "another activation": other_activation,
    "heads": heads,
    "dropout": dropout,
    "a bias of one number": one_number("feed_forward", "inner", "bias"),
    **{f"epsilon of {name}": epsilon(name) for name in ("self_attention", "feed_forward")},
    **{f"pre_norm of {name}": pre_norm(name) for name in ("self_attention", "feed_forward")},
}
CHANGES = [
    *(
        (f"{kind}: {name}", kind, change)
        for kind in ("transformer", "plain")
        for name, change in PAPERS.items()
    ),
    ("transformer: epsilon of cross_attention", "transformer", epsilon("cross_attention")),
    ("transformer: pre_norm of cross_attention", "transformer", pre_norm("cross_attention")),
    *(
        (f"grouped: {name}", "grouped", change)
        for name, change in {
            "nothing": lambda layer: None,
            "another activation": lambda layer: setattr(layer.feed_forward, "activation", "geglu"),
            "rotary_base": rotary_base,
            "dropout": dropout,
            **{f"epsilon of {one}": epsilon(one) for one in ("self_attention", "feed_forward")},
            **{f"pre_norm of {one}": pre_norm(one) for one in ("self_attention", "feed_forward")},
        }.items()
    ),
    *(change for kind in ("transformer", "plain", "grouped") for change in own_parts(kind)),
]
NAMES = [name for name, _, _ in CHANGES]


@pytest.fixture(autouse=True)
def squared(monkeypatch):
    monkeypatch.setitem(ACTIVATIONS.loaded, "squared", (squared_forward, squared_backward))


def decoded(model, ids, source):
    """The logits (R, T, V) of each position of ids (R, T), written token by token."""
    state = model.start(source)
    found = [model.output.forward(state.advance(ids[:, t : t + 1]))[0] for t in range(ids.shape[1])]
    return np.concatenate(found, axis=1)


@needs_numba
@pytest.mark.parametrize(  # the loop of one position takes float32
    "context, dtype",
    [
        pytest.param(nullcontext, "float64", id="textbook-float64"),
        pytest.param(kernels_run, "float32", id="kernels-float32"),
        pytest.param(nullcontext, "float32", id="textbook-float32", marks=pytest.mark.campaign),
        pytest.param(kernels_run, "float64", id="kernels-float64", marks=pytest.mark.campaign),
    ],
)
@pytest.mark.parametrize("name, kind, change", CHANGES, ids=NAMES)
def test_decoding_gives_the_logits_of_forward(name, kind, change, dtype, context):
    model = make(kind, dtype)
    change(first_layer(model))
    rng = np.random.default_rng(1)
    for rows in (1, 11, 40):
        ids = rng.integers(3, 9, (rows, STEPS))
        source = rng.integers(3, 9, (rows, 4)) if kind == "transformer" else ids[:, :1]
        expected = model.forward(*((source, ids) if kind == "transformer" else (ids,)))[0]
        with context():
            found = decoded(model, ids, source)
        bound = BOUNDS[dtype] * max(1, abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


@pytest.fixture
def calls(monkeypatch):
    """The names of the loops that run."""
    from minitransformer.speed.compiled import cached
    from minitransformer.zoo.modern import compiled

    found = []
    for module, name in ((cached, "attend_to_past"), (compiled, "turn_and_attend")):
        loop = getattr(module, name)
        counted = lambda *arguments, loop=loop, name=name: [found.append(name), loop(*arguments)][1]
        monkeypatch.setattr(module, name, counted)
    return found


BY_THE_LOOPS = {"nothing", "another activation", "heads", "dropout", "rotary_base"}


@needs_numba
@pytest.mark.parametrize("name, kind, change", CHANGES, ids=NAMES)
def test_the_loops_step_back_for_what_they_do_not_know(name, kind, change, calls):
    """One layer of two is changed. What the loops are told, such as an epsilon, they compute. A
    forward that knows no cache gets all positions, so no layer has one.
    """
    model = make(kind, "float32")
    change(first_layer(model))
    ids = np.full((1, 2), 4)
    with kernels_run():
        decoded(model, ids, np.full((1, 4), 5) if kind == "transformer" else ids[:, :1])
    what = name.partition(": ")[2]
    known = what in BY_THE_LOOPS or what.startswith("epsilon")
    known |= kind != "grouped" and what.startswith("pre_norm")
    known &= (kind, what) != ("grouped", "another activation")
    without_a_cache = what.startswith("a subclass of ") or what.endswith(".forward = ...")
    assert len(calls) == (4 if known else 0 if without_a_cache else 2)
