"""Several models that answer as one."""

import numpy as np

from minitransformer.backend import module_of
from minitransformer.errors import InputError
from minitransformer.layers import LinearCrossEntropy, OutputProjection
from minitransformer.models.next_token import NextTokenModel
from minitransformer.parameter import Parameter


class Ensemble(NextTokenModel):
    """Trained models of the next token, with one vocabulary, whose mean logits decide.

    The mean of logits is the geometric mean of probabilities, normalised again: a token is likely
    where no model finds it unlikely. Models that differ by their seeds alone make different mistakes,
    so together they make fewer (Sutskever et al. 2014, https://arxiv.org/abs/1409.3215). With hidden states
    x_i and output weights W_i it is one product, of all models' hidden states side by side:

        (x_1 W_1^T + ... + x_n W_n^T) / n = [x_1 ... x_n] [W_1 ... W_n]^T / n

    Decodes, and is measured, as its models are; it cannot be trained. Raises InputError where the
    models are not of one kind, vocabulary size and array module, or there are none.
    """

    def __init__(self, models):
        if not models:
            raise InputError("an ensemble needs at least one model")
        kinds = {type(model).__name__ for model in models}
        if len(kinds) > 1:
            raise InputError(f"the models of an ensemble are a {' and a '.join(sorted(kinds))}, expected one kind")
        sizes = {_vocabulary_sizes(model.config) for model in models}
        if len(sizes) > 1:
            raise InputError("the models of an ensemble have vocabularies of sizes "
                             f"{' and '.join(map(str, sorted(sizes)))}, expected the same")
        if len({model.xp for model in models}) > 1:
            raise InputError("the models of an ensemble lie on different backends; bring them to one with model.to(...)")
        self.models = list(models)
        weight = self.xp.concatenate([model.output.weight.data for model in models], axis=1) / len(models)
        self.output = OutputProjection(*weight.shape, rng=None, weight=Parameter(weight))
        self.loss = LinearCrossEntropy(self.output.weight)

    def forward(self, *ids):
        """Returns logits (B, T, V) and, as each model, a cache."""
        return self.output.forward(self.hidden(*ids)[0])

    def hidden(self, *ids, rng=None):
        return _side_by_side([model.hidden(*ids)[0] for model in self.models]), None

    def start(self, source):
        return EnsembleState([model.start(source) for model in self.models], self.output)


class EnsembleState:
    """The states of all models of an Ensemble as one."""

    def __init__(self, states, output):
        self._states = states
        self.output = output
        self.first = states[0].first
        self.limit = np.minimum.reduce([state.limit for state in states])

    def advance(self, ids, parents=None):
        """ids and parents (B, width) -> hidden states (B, width, the sum of all d_model)."""
        return _side_by_side([state.advance(ids, parents) for state in self._states])

    def keep(self, rows):
        for state in self._states:
            state.keep(rows)


def _vocabulary_sizes(config):
    return tuple(getattr(config, name) for name in config.sizes())


def _side_by_side(hidden):
    return module_of(hidden[0]).concatenate(hidden, axis=-1)
