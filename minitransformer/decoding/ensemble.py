"""An ensemble: several models that decode as one."""

import numpy as np

from minitransformer.backend import Array, module_of
from minitransformer.decoding.state import DecodingState
from minitransformer.errors import InputError
from minitransformer.layers import LinearCrossEntropy, OutputProjection
from minitransformer.models.next_token import NextTokenModel
from minitransformer.layers.parameter import Parameter


class Ensemble(NextTokenModel):
    """Trained next-token models with the same vocabulary, which decode with the mean of their logits.

    The mean of the logits gives the geometric mean of the probabilities, normalised again: a token is likely
    if no model finds it unlikely. Models that differ only in their seeds make different mistakes,
    so an ensemble makes fewer (Sutskever et al. 2014, https://arxiv.org/abs/1409.3215). With hidden states
    x_i and output weights W_i, the mean is a single product with all models' hidden states side by side:

        (x_1 W_1^T + ... + x_n W_n^T) / n = [x_1 ... x_n] [W_1 ... W_n]^T / n

    An ensemble decodes and is evaluated like one of its models; it cannot be trained. Raises InputError if the
    models differ in kind, vocabulary size or array module, or if there are none.
    """

    def __init__(self, models):
        if not isinstance(models, (list, tuple)) or not all(isinstance(model, NextTokenModel) for model in models):
            raise InputError("an ensemble needs a list of models that predict the next token: Ensemble([model, other])")
        if not models:
            raise InputError("an ensemble needs at least one model")
        kinds = {type(model).__name__ for model in models}
        if len(kinds) > 1:
            raise InputError(f"the models of an ensemble are a {' and a '.join(sorted(kinds))}, expected models of one kind")
        sizes = {tuple(getattr(model.config, name) for name in model.config.required()) for model in models}
        if len(sizes) > 1:
            raise InputError("the models of an ensemble have vocabularies of sizes "
                             f"{' and '.join(map(str, sorted(sizes)))}, expected the same")
        if len({model.xp for model in models}) > 1:
            raise InputError("the models of an ensemble are on different backends; move them to one with model.to(...)")
        self.models = list(models)
        weight = self.xp.concatenate([model.output.weight.data for model in models], axis=1) / len(models)
        vocab_size, width = weight.shape
        self.output = OutputProjection(vocab_size, width, rng=None, weight=Parameter(weight))
        self.loss = LinearCrossEntropy(self.output.weight)

    def hidden(self, *ids, rng=None) -> tuple[Array, None]:
        return _side_by_side([model.hidden(*ids)[0] for model in self.models]), None

    def start(self, source, *extra_length) -> "EnsembleState":
        return EnsembleState([model.start(source, *extra_length) for model in self.models], self.output)


class EnsembleState(DecodingState):
    """The decoding states of all models of an Ensemble, as one."""

    def __init__(self, states, output):
        self._states = states
        self.output = output
        self.first = states[0].first
        self.limit = np.minimum.reduce([state.limit for state in states])

    def advance(self, ids, parents=None) -> Array:
        return _side_by_side([state.advance(ids, parents) for state in self._states])

    def keep(self, rows) -> None:
        for state in self._states:
            state.keep(rows)


def _side_by_side(hidden) -> Array:
    return module_of(hidden[0]).concatenate(hidden, axis=-1)
