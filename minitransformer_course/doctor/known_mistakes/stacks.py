"""Feed-forward, input, encoder and decoder: a composite's backward is its forward, read from the bottom up, line for line."""

from minitransformer_course.doctor.known_mistakes.residual import step
from minitransformer_course.doctor.mistakes import teach

ACTIVATE = "activate_backward(dh, ActivationDropoutCache(cache.activation, cache.dropout))"
MASK = "ActivationDropoutCache(cache.activation"
NO_DROPOUT = "type(cache.dropout)(None)"
teach("FeedForward", {
    "the activation is skipped in backward: its derivative (the ReLU mask, or GELU's) is missing":
        (ACTIVATE, "dropout_backward(dh, cache.dropout)"),
    "the activation's derivative (the ReLU mask, or GELU's) is applied twice":
        (ACTIVATE, f"activate_backward({ACTIVATE}, {MASK}, {NO_DROPOUT}))"),
    "the dropout inside the feed-forward network is skipped in backward: its mask is not applied": (", cache.dropout)", f", {NO_DROPOUT})"),
    "the dropout mask inside the feed-forward network is applied twice": (ACTIVATE, f"dropout_backward({ACTIVATE}, cache.dropout)"),
    "the ReLU mask is taken from the wrong array: from the upstream gradient, not from the inner linear layer's output":
        (MASK, f"{MASK}._replace(positive=dh > 0)"),
    "the ReLU mask is taken from the wrong array: from the input of the outer linear layer, after dropout":
        (MASK, f"{MASK}._replace(positive=cache.outer.x > 0)"),
    "the ReLU mask is inverted": (MASK, f"{MASK}._replace(positive=~cache.activation.positive)"),
    "the activation's derivative is that of ReLU, but the forward uses GELU":
        (ACTIVATE, "dropout_backward(dh, cache.dropout) * (cache.activation.x > 0)")})

DROPOUT, POSITIONS = "dropout_backward(dy, cache.dropout)", "self.positions.backward(dx,"
teach("Input", {
    "the dropout on the sum of embeddings and positions is skipped in backward: its mask is not applied": (DROPOUT, "dy"),
    "the dropout mask on the sum of embeddings and positions is applied twice": (DROPOUT, f"dropout_backward({DROPOUT}, cache.dropout)"),
    "the positions get the gradient before the dropout mask: dropout is skipped for them":
        (POSITIONS, "self.positions.backward(dy,", "self.embedding.backward(dx", f"self.embedding.backward({DROPOUT}"),
    "the embedding gets the gradient before the dropout mask: dropout is skipped for it":
        ("self.embedding.backward(dx", "self.embedding.backward(dy")})

LAST_TO_FIRST = "zip(reversed(self.layers), reversed(cache.layers))"
for stack in ("Encoder", "Decoder"):
    teach(stack, {
        "the layers run backward in the order of the forward (not reversed): the first layer first":
            (LAST_TO_FIRST, "zip(self.layers, cache.layers)"),
        "the caches are not reversed: each layer gets the cache of another layer (the wrong order)":
            (LAST_TO_FIRST, "zip(reversed(self.layers), cache.layers)"),
        "the layers are not reversed, only the caches: each layer gets the cache of another layer (the wrong order)":
            (LAST_TO_FIRST, "zip(self.layers, reversed(cache.layers))"),
        "only the last layer runs backward: the other layers get no gradient": (LAST_TO_FIRST, f"[*{LAST_TO_FIRST}][:1]"),
        "the last layer of the stack is skipped in backward": (LAST_TO_FIRST, f"[*{LAST_TO_FIRST}][1:]"),
        "the first layer of the stack is skipped in backward": (LAST_TO_FIRST, f"[*{LAST_TO_FIRST}][:-1]")})
teach("Encoder", {
    "every layer gets the same upstream gradient, not that of the layer after it: dy is not passed on":
        ("dy = layer.backward(dy, layer_cache)", "dx = layer.backward(dy, layer_cache)", "return dy", "return dx"),
    "dy is added around every layer: the residual path (skip connection) is inside the layers already, so it is counted twice":
        ("layer.backward(dy, layer_cache)", "layer.backward(dy, layer_cache) + dy")})
ADDED = "dmemory = dmemory + dlayer"
teach("Decoder", {
    "every layer gets the same upstream gradient, not that of the layer after it: dy is not passed on":
        ("dy, dlayer = layer", "dx, dlayer = layer", "return dy", "return dx"),
    "dy is added around every layer: the residual path (skip connection) is inside the layers already, so it is counted twice":
        ("dy, dlayer = layer", "before = dy\n            dy, dlayer = layer", ADDED, f"dy = dy + before\n            {ADDED}"),
    "the memory's gradient is that of the first layer only (overwritten, =), not the sum over all layers": (ADDED, "dmemory = dlayer"),
    "the memory's gradient is that of the last layer only, not the sum over all layers":
        (ADDED, "dmemory = dlayer if layer is self.layers[-1] else dmemory"),
    **{f"the memory's gradient {what} the {which} layer's": (ADDED, f"{ADDED} * ({factor} (layer is self.layers[{place}]))")
       for what, factor in (("lacks", "1 -"), ("counts twice", "1 +")) for which, place in (("first", 0), ("last", -1))}})

teach("DecoderLayer", {f"the memory's gradient is {what}": ("return dx, dmemory", f"return dx, {factor} * dmemory") for what, factor in (
    ("missing: it is zero", 0), ("counted twice (doubled)", 2), ("of the wrong sign", -1))})
teach("EncoderLayer", {"the sub-layers run backward in the order of the forward (not reversed): self-attention first": (
    "feed_forward", "<other>", "self_attention", "feed_forward", "<other>", "self_attention")})
STEPS = {"feed_forward": step("feed_forward"), "cross_attention": step("cross_attention", "dh, dmemory"),
         "self_attention": step("self_attention")}
RIGHT_ORDER = "\n\n        ".join(STEPS.values()).replace("(dx", "(dy", 1)    # the first gets dy
for order in (("feed_forward", "self_attention", "cross_attention"), ("cross_attention", "feed_forward", "self_attention"),
              ("self_attention", "cross_attention", "feed_forward")):
    said = ", ".join(order).replace("_", "-")
    teach("DecoderLayer", {f"the sub-layers run backward in the wrong order: {said}; it is the forward's order reversed": (
        RIGHT_ORDER, "\n        ".join(["dx = dy", *(STEPS[one] for one in order)]))})
