"""Changes of residuals, positions, inputs, embeddings, outputs and recurrent models."""

import library as lib
import own
from models import CLASSES, VOCAB, WIDTH, pick
from places import all_sites, change, double, make_norm, need, pick_site

# ---- residuals, positions, inputs


@change
def one_residual(model, rng, notes):
    site = pick_site(model, rng, lib.Residual)
    old = site.get()
    what = pick(
        rng,
        [
            "pre_norm",
            "pre_norm",
            "ScaledResidual",
            "NoResidual",
            "Residual(RMSNorm)",
            "other pre_norm",
        ],
    )
    if what == "pre_norm":
        old.pre_norm = not old.pre_norm
    elif what == "Residual(RMSNorm)":
        site.put(double(lib.Residual(WIDTH, 0.0, old.pre_norm, lib.LibraryRMSNorm(WIDTH))))
    elif what == "other pre_norm":
        site.put(double(lib.Residual(WIDTH, 0.0, not old.pre_norm)))
    else:
        site.put(double(getattr(own, what)(WIDTH, 0.0, old.pre_norm)))
    return f"{site.path}: {what}"


@change
def dropout_of_one_layer(model, rng, notes):
    found = [site for site in all_sites(model) if hasattr(site.get(), "dropout")]
    need(found)
    site = pick(rng, found)
    site.get().dropout = 0.25
    return f"{site.path}.dropout = 0.25"


@change
def other_positions(model, rng, notes):
    site = pick_site(model, rng, lib.Input)
    need(not isinstance(site.get().positions, lib.RotaryPositions))
    name = pick(
        rng,
        [
            "HalfPositions",
            "HalfPositionsInForward",
            "RampPositions",
            "LearnedPositions",
            "SinusoidalPositions",
        ],
    )
    if name == "LearnedPositions":
        new = double(lib.LearnedPositions(30, WIDTH, rng))
    elif name == "RampPositions":
        new = own.RampPositions(WIDTH)
    else:
        new = getattr(lib if name == "SinusoidalPositions" else own, name)()
    site.get().positions = new
    return f"{site.path}.positions = {name}"


@change
def own_input(model, rng, notes):
    site = pick_site(model, rng, lib.Input)
    old = site.get()
    if rng.random() < 0.5:
        site.put(own.ScaledInput(old.embedding, old.positions, old.dropout))
        notes.used.append((site.get().scale, f"{site.path}.scale"))
    else:
        site.put(own.NormedInput(old.embedding, old.positions, old.dropout, make_norm("RMSNorm")))
    return f"{site.path} = {type(site.get()).__name__}"


# ---- embeddings and outputs


def note_used(notes, layer, label) -> None:
    """The loss should depend on the parameters of `layer`."""
    notes.used += [(parameter, f"{label}.{name}") for name, parameter in layer.parameters().items()]


def make_embedding(name, rng):
    cls = getattr(own, name, None) or getattr(lib, name)
    return double(cls(VOCAB, WIDTH, rng))


EMBEDDINGS = [
    "Embedding",
    "Embedding",
    "PlainEmbedding",
    "ScaledEmbedding",
    "FactorisedEmbedding",
    "UnscaledEmbedding",
]


@change
def embedding_of_the_model(model, rng, notes):
    """`model.source_embedding = Embedding(...)`: the name at the model alone."""
    found = [
        name
        for name in ("source_embedding", "target_embedding", "embedding")
        if hasattr(model, name)
    ]
    name, kind = pick(rng, found), pick(rng, EMBEDDINGS)
    new = make_embedding(kind, rng)
    setattr(model, name, new)
    note_used(notes, new, name)
    return f"model.{name} = {kind}"


@change
def embedding_everywhere(model, rng, notes):
    """All places that hold one embedding get the new one."""
    site = pick_site(model, rng, lib.Embedding)
    old, kind = site.get(), pick(rng, EMBEDDINGS)
    new = make_embedding(kind, rng)
    for other in [one for one in all_sites(model) if one.get() is old]:
        other.put(new)
    note_used(notes, new, site.path)
    return f"{site.path} = {kind}, in all of its places"


@change
def output_of_the_model(model, rng, notes):
    """`model.output = OutputProjection(...)`, or an own one, tied to the old weight or not."""
    need(isinstance(model.output, lib.OutputProjection))
    name = pick(
        rng,
        [
            "OutputProjection",
            "OutputProjection",
            "BiasedOutput",
            "CappedOutput",
            "TemperatureOutput",
            "Linear",
        ],
    )
    if name == "Linear":
        model.output = double(lib.Linear(WIDTH, VOCAB, rng))
        return "model.output = Linear"
    cls = getattr(own, name, None) or getattr(lib, name)
    tied = rng.random() < 0.5
    model.output = (
        cls(VOCAB, WIDTH, rng, weight=model.output.weight)
        if tied
        else double(cls(VOCAB, WIDTH, rng))
    )
    return f"model.output = {name}{' with the old weight' if tied else ''}"


@change
def output_and_loss(model, rng, notes):
    """As before, and the loss gets the new weight as well."""
    need(isinstance(model.output, lib.OutputProjection))
    model.output = double(lib.OutputProjection(VOCAB, WIDTH, rng))
    model.loss = lib.LinearCrossEntropy()
    return "model.output = OutputProjection, model.loss = LinearCrossEntropy(its weight)"


@change
def classifier_head(model, rng, notes):
    need(isinstance(model, lib.Classifier))
    if rng.random() < 0.5:
        model.pooling = own.ScaledMean()
        return "model.pooling = ScaledMean"
    model.output = double(own.ScaledLinear(WIDTH, CLASSES, rng))
    return "model.output = ScaledLinear"


# ---- recurrent models


@change
def recurrent_cell(model, rng, notes):
    site = pick_site(model, rng, lib.OneDirection)
    old = site.get()
    d_in = old.input.weight.shape[0]
    cls = pick(rng, [own.LeakyRNN, own.LeakyRNN, type(old), lib.RNN, lib.GRU])
    need(cls is type(old) or old.parts == 1)
    site.put(double(cls(d_in, old.hidden_size, rng)))
    return f"{site.path} = {cls.__name__}"


@change
def recurrent_readout(model, rng, notes):
    """A look at the source is added, taken away or replaced."""
    need(hasattr(model, "readout"))
    if model.readout is not None and rng.random() < 0.4:
        model.readout = None
        return "model.readout = None"
    attention = lib.AdditiveAttention(WIDTH, WIDTH, 5, rng)
    cls = pick(rng, [lib.AttentionalState, own.ScaledReadout])
    model.readout = double(cls(attention, WIDTH, WIDTH, rng))
    return f"model.readout = {cls.__name__}"
