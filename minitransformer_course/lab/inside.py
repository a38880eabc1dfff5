"""Numbers from inside a model that a page looks at: what goes into a layer, and the gradient that
comes out of it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minitransformer import Transformer, TransformerConfig
from minitransformer.data.batches import Batch, make_batch
from minitransformer.functional import softmax_forward
from minitransformer.data.special import SPECIAL
from minitransformer.layers.initial import ENDS
from minitransformer.training import step


def suspect_mask(ids) -> np.ndarray:
    """A causal mask (T, T) with the mistake that chapter 6 hunts."""
    return np.tri(ids.shape[1], k=1, dtype=bool)


def deep(pre_norm, seed, xavier=True) -> tuple[Transformer, Any, float]:
    """(model, cache, dloss): an untrained model of 24 layers in each stack, before its backward on
    eight random texts.

    xavier: the matrix of each linear layer is drawn by Xavier's rule; else those that end a
    sub-layer are smaller, as in every new model.
    """
    model = Transformer(
        TransformerConfig.named("toy", 30, num_layers=24, d_model=16, d_ff=64, pre_norm=pre_norm),
        seed=seed,
    )
    if xavier:
        for name, parameter in model.parameters().items():
            if name.endswith(ENDS):
                parameter.data *= np.sqrt(2 * model.config.num_layers)
    texts = np.random.default_rng(seed).integers(len(SPECIAL), 30, (8, 10)).tolist()
    batch = make_batch([(text, text) for text in texts])
    return model, model.loss_forward(batch)[1], 1 / batch.terms


def gradients_of_uses(model, vocabulary, word) -> tuple:
    """(dsource, dtarget, dlogits, h, source, target, E) while the model writes `word` backwards:
    what meets its shared matrix E.

    dsource, dtarget: the gradients of the embedded ids; h: the decoder's output, of which the
    logits are made.
    """
    batch, matrix = _batch(vocabulary, word), model.target_embedding.weight.data
    h, cache = model.hidden(*batch.inputs)
    p = softmax_forward(model.output.forward(h)[0])[0]
    dlogits = (p - np.eye(p.shape[-1])[batch.next_target]) / batch.terms
    dtarget, dmemory = model.decoder.backward(dlogits @ matrix, cache.decode.decoder)
    dsource = model.encoder.backward(dmemory, cache.encode.encoder)
    return dsource, dtarget, dlogits, h, *batch.inputs, matrix


def cross_attention_inputs(model, vocabulary, word) -> tuple[np.ndarray, np.ndarray]:
    """The last cross-attention's inputs while the model writes `word` backwards: x (T_q, d_model)
    and the memory (T_k, d_model).

    Rows of x: the letters of the word from the last to the first, and the end. Rows of the memory:
    the word, and the end.
    """
    _y, cache = model.hidden(*_batch(vocabulary, word).inputs)
    found = cache.decode.decoder.layers[-1].cross_attention
    return found.query.x[0], found.key.x[0]


def through_sublayers(layer, dy, cache) -> Iterator[tuple[str, np.ndarray]]:
    """(sub-layer, the gradient below it and its residual) of a DecoderLayer, from its last to its
    first.
    """
    for name in ("feed_forward", "cross_attention", "self_attention"):
        dx, dh = getattr(layer, f"{name}_residual").backward(dy, getattr(cache, f"{name}_residual"))
        dh = getattr(layer, name).backward(dh, getattr(cache, name))
        dh = (
            dh[0] if isinstance(dh, tuple) else dh
        )  # cross-attention's second one goes to the encoder
        dy = dx + getattr(layer, f"{name}_residual").enter_backward(
            dh, getattr(cache, f"{name}_entered")
        )
        yield name, dy


def loss_of_weights(model, vocabulary, word) -> tuple[Any, np.ndarray, np.ndarray]:
    """(f, w, gradient) of the loss for each letter while the model writes `word` backwards.

    w: all its weights in one vector; f(w): the loss, for complex w, too; gradient: from the
    library's backwards.
    """
    model, complex_model = model.astype("float64"), model.astype("complex128")
    add_gradients(model, vocabulary, word)
    batch = _batch(vocabulary, word)

    def loss(weights) -> Any:
        complex_model.flat.data[...] = weights
        return complex_model.loss_forward(batch)[0].loss / batch.terms

    return loss, model.flat.data, model.flat.grad


def add_gradients(model, vocabulary, word) -> None:
    """Add the gradients of the loss for each letter, while the model writes `word` backwards, to
    those of its parameters.
    """
    batch = _batch(vocabulary, word)
    step.add_gradients(model, [batch], terms=batch.terms)


def _batch(vocabulary, word) -> Batch:
    ids = vocabulary.encode(word)
    return make_batch([(ids, ids[::-1])])
