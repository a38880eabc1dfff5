"""Changes of norms, feed-forward networks, linear layers, attention, layers and stacks."""

import library as lib
import own
from models import WIDTH, pick
from places import (
    change,
    double,
    is_causal,
    make_norm,
    masks_alone,
    need,
    norm_sites,
    pick_site,
    untouched,
)

# ---- norms


@change
def own_norm(model, rng, notes):
    """One norm, or all of them, replaced by the user's."""
    found = norm_sites(model)
    need(found)
    name = pick(
        rng,
        [
            "OwnRMSNorm",
            "ScaleNorm",
            "NoNorm",
            "TanhNorm",
            "ScaledLayerNorm",
            "LayerNorm eps 0.1",
            "RMSNorm",
        ],
    )
    chosen = found if rng.random() < 0.4 else [pick(rng, found)]
    for site in chosen:
        site.put(make_norm(name))
    return f"{' and '.join(site.path for site in chosen)} = {name}"


@change
def epsilon_of_one_norm(model, rng, notes):
    site = pick_site(model, rng, lib.LayerNorm, lib.LibraryRMSNorm, own.OwnRMSNorm)
    site.get().epsilon = 0.3
    return f"{site.path}.epsilon = 0.3"


@change
def last_norm(model, rng, notes):
    """The norm at the end of a stack added, or taken away."""
    site = pick_site(
        model, rng, lib.Encoder, lib.Decoder, where=lambda site: hasattr(site.get(), "norm")
    )
    site.get().norm = (
        None
        if site.get().norm
        else make_norm(pick(rng, ["RMSNorm", "LayerNorm eps 0.1", "TanhNorm"]))
    )
    return f"{site.path}.norm = {type(site.get().norm).__name__}"


# ---- activations and feed-forward networks


@change
def activation_of_one_layer(model, rng, notes):
    site = pick_site(model, rng, lib.FeedForward, lib.GatedFeedForward)
    layer = site.get()
    gated = isinstance(layer, lib.GatedFeedForward)
    names = ["swiglu", "geglu", "tanhglu"] if gated else ["relu", "gelu", "silu", "squared"]
    layer.activation = pick(rng, [name for name in names if name != layer.activation])
    return f"{site.path}.activation = {layer.activation!r}"


@change
def own_feed_forward(model, rng, notes):
    site = pick_site(model, rng, lib.FeedForward, lib.GatedFeedForward)
    name = pick(rng, ["ScaledFeedForward", "TanhFeedForward", "wider", "gated"])
    if name == "wider":
        layer = lib.FeedForward(WIDTH, 20, rng, pick(rng, ["relu", "gelu"]))
    elif name == "gated":
        layer = lib.GatedFeedForward(WIDTH, 6, rng)
    else:
        layer = getattr(own, name)(WIDTH, 12, rng)
    site.put(double(layer))
    return f"{site.path} = {name}"


# ---- linear layers


@change
def own_linear(model, rng, notes):
    site = pick_site(model, rng, lib.Linear)
    old = site.get()
    name = pick(rng, ["LoRALinear", "ScaledLinear", "FrozenLinear", "Projection", "Linear"])
    d_in, d_out = old.weight.shape
    need(name != "Projection" or site.path != "output")
    if name == "LoRALinear":
        site.put(own.LoRALinear(old, rng))
    elif name == "FrozenLinear":
        new = own.FrozenLinear(d_in, d_out, rng)
        new.weight, new.bias = old.weight, old.bias
        site.put(new)
    elif name == "ScaledLinear":
        site.put(double(own.ScaledLinear(d_in, d_out, rng)))
    else:
        site.put(double(getattr(lib, name)(d_in, d_out, rng)))
    return f"{site.path} = {name}"


# ---- attention


@change
def own_self_attention(model, rng, notes):
    need(masks_alone(model))
    site = pick_site(model, rng, lib.SelfAttention)
    old = site.get()
    if isinstance(old, lib.GroupedQueryAttention) and rng.random() < 0.7:
        cls = pick(rng, [own.TemperatureGrouped, own.SkippingGrouped])
        new = cls(
            WIDTH, 2, rng, kv_heads=1, rotary_base=old.rotary_base, rotary_layout=old.rotary_layout
        )
    elif rng.random() < 0.1:
        new = own.MeanSelf(WIDTH, rng)
    else:
        cls = pick(
            rng,
            [
                own.TemperatureSelf,
                own.SinkSelf,
                own.DistanceSelf,
                own.OwnHeadsSelf,
                own.SkippingSelf,
                own.EmptySelf,
            ],
        )
        new = cls(WIDTH, 2, rng)
    site.put(double(new))
    return f"{site.path} = {type(new).__name__}"


@change
def own_cross_attention(model, rng, notes):
    site = pick_site(model, rng, lib.CrossAttention)
    cls = pick(rng, [own.TemperatureCross, own.SinkCross, own.OwnHeadsCross, own.SkippingCross])
    site.put(double(cls(WIDTH, 2, rng)))
    return f"{site.path} = {cls.__name__}"


@change
def another_self_attention(model, rng, notes):
    """One layer gets another kind of the library's."""
    need(masks_alone(model))
    site = pick_site(model, rng, lib.SelfAttention)
    kinds = {
        "UnscaledSelfAttention": {},
        "AdditiveSelfAttention": {},
        "SelfAttention": {"d_k": 3},
        "GroupedQueryAttention": {"kv_heads": 1},
    }
    if not is_causal(site):
        kinds["RestrictedSelfAttention"] = {"radius": 1}
    name = pick(rng, kinds)
    site.put(double(getattr(lib, name)(WIDTH, 2, rng, **kinds[name])))
    return f"{site.path} = {name}({kinds[name]})"


@change
def another_cross_attention(model, rng, notes):
    site = pick_site(model, rng, lib.CrossAttention)
    name = pick(rng, ["UnscaledCrossAttention", "AdditiveCrossAttention", "CrossAttention"])
    settings = {"d_k": 3, "d_v": 2} if name == "CrossAttention" else {}
    site.put(double(getattr(lib, name)(WIDTH, 2, rng, **settings)))
    return f"{site.path} = {name}({settings})"


@change
def class_of_attention(model, rng, notes):
    """`layer.__class__ = ...`: the weights stay, the formula changes."""
    site = pick_site(model, rng, lib.SelfAttention, lib.CrossAttention, exactly=True)
    need(untouched(site.get()))
    of_self = [lib.UnscaledSelfAttention, own.SkippingSelf, own.OwnHeadsSelf, own.DistanceSelf]
    of_cross = [lib.UnscaledCrossAttention, own.SkippingCross, own.SinkCross]
    cls = pick(rng, of_self if type(site.get()) is lib.SelfAttention else of_cross)
    site.get().__class__ = cls
    return f"{site.path}.__class__ = {cls.__name__}"


@change
def setting_of_one_attention(model, rng, notes):
    """The number of heads, or what a grouped layer has."""
    site = pick_site(model, rng, lib.SelfAttention, lib.CrossAttention)
    layer = site.get()
    if not isinstance(layer, lib.GroupedQueryAttention):
        widths = {layer.query.weight.shape[1], layer.value.weight.shape[1]}
        heads = pick(rng, [1, 4] if all(width % 4 == 0 for width in widths) else [1])
        need(heads != layer.num_heads and not hasattr(layer, "weight"))
        layer.num_heads = heads
        return f"{site.path}.num_heads = {heads}"
    if layer.rotary_base is None:
        layer.rotary_base = 50.0
        return f"{site.path}.rotary_base = 50.0"
    name, value = pick(
        rng, [("rotary_base", None), ("rotary_base", 7.0), ("rotary_layout", "half")]
    )
    setattr(layer, name, value)
    return f"{site.path}.{name} = {value!r}"


# ---- layers and stacks


@change
def own_encoder_layer(model, rng, notes):
    need(masks_alone(model))
    site = pick_site(model, rng, lib.EncoderLayer)
    name = pick(
        rng, ["ReZeroEncoderLayer", "ParallelEncoderLayer", "OwnEncoderLayer", "EncoderLayer"]
    )
    causal = is_causal(site)
    if name == "OwnEncoderLayer":
        site.put(
            double(own.OwnEncoderLayer(lib.SelfAttention(WIDTH, 2, rng), lib.LayerNorm(WIDTH)))
        )
    elif name == "EncoderLayer":
        site.put(double(lib.EncoderLayer(model.config, rng, causal)))
    else:
        site.put(double(getattr(own, name)(model.config, rng, causal)))
    return f"{site.path} = {name}"


@change
def own_decoder_layer(model, rng, notes):
    site = pick_site(model, rng, lib.DecoderLayer)
    name = pick(rng, ["ReZeroDecoderLayer", "CrossFirstDecoderLayer"])
    site.put(double(getattr(own, name)(model.config, rng)))
    return f"{site.path} = {name}"


@change
def own_stack(model, rng, notes):
    site = pick_site(model, rng, lib.Encoder, lib.Decoder, where=lambda site: "." not in site.path)
    names = (
        ["SkipDecoder"]
        if isinstance(site.get(), lib.Decoder)
        else ["SkipEncoder", "LoopedEncoder", "BareEncoder"]
    )
    name = pick(rng, names)
    site.put(getattr(own, name)(site.get()))
    return f"{site.path} = {name}"


@change
def layers_rearranged(model, rng, notes):
    """Appended, removed, reversed, one of them used twice, or a tuple."""
    site = pick_site(
        model,
        rng,
        lib.Encoder,
        lib.Decoder,
        where=lambda site: len(getattr(site.get(), "layers", ())) > 0,
    )
    stack = site.get()
    what = pick(rng, ["append", "del", "reverse", "twice", "twice", "tuple", "same"])
    need(what not in ("del", "reverse", "same") or len(stack.layers) > 1)
    if what == "append":
        decoder = isinstance(stack, lib.Decoder)
        new = (
            lib.DecoderLayer(model.config, rng)
            if decoder
            else lib.EncoderLayer(model.config, rng, is_causal_stack(site))
        )
        stack.layers = [*stack.layers, double(new)]
    elif what == "del":
        stack.layers = stack.layers[:-1]
    elif what == "reverse":
        stack.layers = stack.layers[::-1]
    elif what == "twice":
        stack.layers = [*stack.layers, stack.layers[0]]
    elif what == "same":
        stack.layers = [stack.layers[0]] * len(stack.layers)
    else:
        stack.layers = tuple(stack.layers)
    return f"{site.path}.layers: {what}"


def is_causal_stack(site) -> bool:
    return site.path in ("stack", "decoder")
