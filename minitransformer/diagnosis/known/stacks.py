"""Feed-forward, input, encoder and decoder: a composite's backward is its forward read upside down, line for line."""

from collections.abc import Callable

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake
from minitransformer.functional import dropout_backward, gelu_backward, relu_backward
from minitransformer.functional.activations import ReluCache

ACTIVATIONS = {"relu": relu_backward, "gelu": gelu_backward}


def feed_forward(dropout=1, activation=1, positive=None) -> Callable:
    """A backward of FeedForward with some of its steps left out or repeated."""
    def wrong(self, dy, cache) -> Array:
        dh = self.outer.backward(dy, cache.outer)
        for _ in range(dropout):
            dh = dropout_backward(dh, cache.dropout)
        if positive is not None and self.activation == "relu":
            dh = relu_backward(dh, ReluCache(positive(dh, cache)))
        for _ in range(activation if positive is None or self.activation != "relu" else 0):
            dh = ACTIVATIONS[self.activation](dh, cache.activation)
        return self.inner.backward(dh, cache.inner)
    return wrong


def other_activation(self, dy, cache) -> Array:
    """ReLU's derivative in place of GELU's, which needs x: only GELU's cache has what both derivatives need."""
    dh = dropout_backward(self.outer.backward(dy, cache.outer), cache.dropout)
    positive = cache.activation.x > 0 if self.activation == "gelu" else cache.activation.positive
    return self.inner.backward(relu_backward(dh, ReluCache(positive)), cache.inner)


for sentence, wrong in (
        ("the activation is skipped in backward: its derivative (the ReLU mask, or GELU's) is missing",
         feed_forward(activation=0)),
        ("the activation's derivative (the ReLU mask, or GELU's) is applied twice", feed_forward(activation=2)),
        ("the dropout inside the feed-forward network is skipped in backward: its mask is not applied",
         feed_forward(dropout=0)),
        ("the dropout mask inside the feed-forward network is applied twice", feed_forward(dropout=2)),
        ("the ReLU mask is taken from the wrong array: from the upstream gradient, not from the inner linear layer's output",
         feed_forward(positive=lambda dh, cache: dh > 0)),
        ("the ReLU mask is taken from the wrong array: from the input of the outer linear layer, after dropout",
         feed_forward(positive=lambda dh, cache: cache.outer.x > 0)),
        ("the ReLU mask is inverted", feed_forward(positive=lambda dh, cache: ~cache.activation.positive)),
        ("the activation's derivative is that of ReLU, but the forward uses GELU", other_activation)):
    mistake("FeedForward", sentence)(wrong)


def inputs(before=1, positions=True, embedding=True, dropout_for_positions=True, dropout_for_embedding=True) -> Callable:
    """A backward of Input with some of its steps left out or repeated."""
    def wrong(self, dy, cache) -> None:
        if not (dropout_for_positions and dropout_for_embedding) and not self.positions.parameters():
            raise ValueError("without learned positions this is a different mistake")
        dx = dy
        for _ in range(before):
            dx = dropout_backward(dx, cache.dropout)
        if positions:
            self.positions.backward(dx if dropout_for_positions else dy, cache.positions)
        if embedding:
            self.embedding.backward(dx if dropout_for_embedding else dy, cache.embedding)
    return wrong


for sentence, wrong in (
        ("the dropout on the sum of embeddings and positions is skipped in backward: its mask is not applied",
         inputs(before=0)),
        ("the dropout mask on the sum of embeddings and positions is applied twice", inputs(before=2)),
        ("the positions get no gradient: their backward is not called (skipped)", inputs(positions=False)),
        ("the embedding gets no gradient: its backward is not called (skipped)", inputs(embedding=False)),
        ("the positions get the gradient before the dropout mask: dropout is skipped for them",
         inputs(dropout_for_positions=False)),
        ("the embedding gets the gradient before the dropout mask: dropout is skipped for it",
         inputs(dropout_for_embedding=False))):
    mistake("Input", sentence)(wrong)


def stack(norm=1, order=reversed, caches=reversed, last=None, straight=False, around=False, memory=sum) -> Callable:
    """A backward of Encoder or Decoder with its layers in another order, some of them left out, or the layers' gradients of the
    memory combined in another way."""
    def wrong(self, dy, cache) -> Array | tuple[Array, Array]:
        for _ in range(norm if self.norm else 0):
            dy = self.norm.backward(dy, cache.norm)
        upstream, dmemory = dy, []
        for layer, layer_cache in list(zip(order(self.layers), caches(cache.layers)))[:last]:
            dx = layer.backward(upstream if straight else dy, layer_cache)
            if isinstance(dx, tuple):
                dx, dlayer = dx
                dmemory.append(dlayer)
            dy = dx + (dy if around else 0)
        return (dy, memory(dmemory)) if dmemory else dy
    return wrong


def skip_first(layers) -> list:
    return list(reversed(layers))[1:]


def skip_last(layers) -> list:
    return list(reversed(layers))[:-1]


for sentence, options in (
        ("the memory's gradient is that of the first layer only (overwritten, =), not the sum over all layers",
         dict(memory=lambda all: all[-1])),
        ("the memory's gradient is that of the last layer only, not the sum over all layers", dict(memory=lambda all: all[0])),
        ("the memory's gradient is averaged over the layers, not summed: divided by the number of layers",
         dict(memory=lambda all: sum(all) / len(all))),
        ("the memory's gradient is missing: it is zero", dict(memory=lambda all: 0 * all[0])),
        ("the memory's gradient is counted twice (doubled)", dict(memory=lambda all: 2 * sum(all))),
        ("the memory's gradient lacks the first layer's", dict(memory=lambda all: sum(all[:-1]) + 0 * all[0])),
        ("the memory's gradient lacks the last layer's", dict(memory=lambda all: sum(all[1:]) + 0 * all[0])),
        ("the memory's gradient counts the first layer's twice", dict(memory=lambda all: sum(all) + all[-1])),
        ("the memory's gradient counts the last layer's twice", dict(memory=lambda all: sum(all) + all[0])),
        ("the final LayerNorm is skipped in backward", dict(norm=0)),
        ("the final LayerNorm's backward is called twice", dict(norm=2)),
        ("the layers run backward in the order of the forward (not reversed): the first layer first",
         dict(order=iter, caches=iter)),
        ("the caches are not reversed: each layer gets the cache of another layer (the wrong order)", dict(caches=iter)),
        ("the layers are not reversed, only the caches: each layer gets the cache of another layer (the wrong order)",
         dict(order=iter)),
        ("only the last layer runs backward: the other layers get no gradient", dict(last=1)),
        ("the last layer of the stack is skipped in backward", dict(order=skip_first, caches=skip_first)),
        ("the first layer of the stack is skipped in backward", dict(order=skip_last, caches=skip_last)),
        ("every layer gets the same upstream gradient, not that of the layer after it: dy is not passed on",
         dict(straight=True)),
        ("dy is added around every layer: the residual path (skip connection) is inside the layers already, so it is counted "
         "twice", dict(around=True))):
    if "memory" not in options:
        mistake("Encoder", sentence)(stack(**options))
    mistake("Decoder", sentence)(stack(**options))

ENCODER_STEPS = ["feed_forward", "self_attention"]
DECODER_STEPS = ["feed_forward", "cross_attention", "self_attention"]


def layer_steps(steps, memory=None, added=False) -> Callable:
    """A backward of an encoder or decoder layer that takes these steps, and returns a different gradient of the memory."""
    def wrong(self, dy, cache) -> Array | tuple[Array, Array]:
        upstream, dx, dmemory = dy, dy, None
        for step in steps:
            block = getattr(self, f"{step}_residual")
            given = block.backward(upstream if added else dx, getattr(cache, step))
            if isinstance(given, tuple):
                given, dmemory = given
            dx = dx + given if added else given
        if memory is None:
            return dx
        return dx, memory(dx if dmemory is None else dmemory, cache)
    return wrong


def untouched(dmemory, cache) -> Array:
    return dmemory


def names(step) -> str:
    return step.replace("_", "-")


for step in ENCODER_STEPS:
    mistake("EncoderLayer", f"the {names(step)} sub-layer is skipped in backward")(
        layer_steps([one for one in ENCODER_STEPS if one != step]))
    mistake("EncoderLayer", f"the {names(step)} sub-layer's backward is called twice")(
        layer_steps([one for other in ENCODER_STEPS for one in [other] * (1 + (other == step))]))
mistake("EncoderLayer",
        "the sub-layers run backward in the order of the forward (not reversed): self-attention "
        "first")(layer_steps(ENCODER_STEPS[::-1]))
mistake("EncoderLayer",
        "dy is added once more around the sub-layers: the residual path (skip connection) is inside Residual already")(
    lambda self, dy, cache: layer_steps(ENCODER_STEPS)(self, dy, cache) + dy)
for step in DECODER_STEPS:
    mistake("DecoderLayer", f"the {names(step)} sub-layer is skipped in backward")(
        layer_steps([one for one in DECODER_STEPS if one != step], lambda dmemory, cache, step=step: dmemory))
for order in (("feed_forward", "self_attention", "cross_attention"), ("cross_attention", "feed_forward",
                                                                                         "self_attention"),
              ("self_attention", "cross_attention", "feed_forward")):
    mistake("DecoderLayer", f"the sub-layers run backward in the wrong order: {', '.join(map(names, order))}; "
                            "it is the forward's order reversed")(layer_steps(order, untouched))
for sentence, factor in (("missing: it is zero", 0), ("counted twice (doubled)", 2), ("of the wrong sign", -1)):
    mistake("DecoderLayer", f"the memory's gradient is {sentence}")(
        layer_steps(DECODER_STEPS, lambda dmemory, cache, factor=factor: factor * dmemory))
