"""Several models that answer as one."""

import numpy as np

from minitransformer.backend import module_of
from minitransformer.decoding.cached import CachedDecoder
from minitransformer.errors import InputError
from minitransformer.layers.embedding import OutputProjection
from minitransformer.parameter import Parameter


class Ensemble:
    """Trained Transformers of one vocabulary, whose mean logits decide: source (B, T_k), target (B, T_q) -> (B, T_q, V).

    The mean of logits is the geometric mean of probabilities, normalised again: a token is likely
    where no model finds it unlikely. Models that differ by their seeds alone make different mistakes,
    so together they make fewer (Sutskever et al. 2014, https://arxiv.org/abs/1409.3215). With hidden states
    x_i and output weights W_i it is one product, of all models' hidden states side by side:

        (x_1 W_1^T + ... + x_n W_n^T) / n = [x_1 ... x_n] [W_1 ... W_n]^T / n

    Decodes, and is measured, as a Transformer is; it cannot be trained. Raises InputError where the
    models have not one vocabulary size and one array module, or there are none.
    """

    def __init__(self, models):
        if not models:
            raise InputError("an ensemble needs at least one model")
        sizes = {(model.config.source_vocab, model.config.target_vocab) for model in models}
        if len(sizes) > 1:
            raise InputError("the models of an ensemble have vocabularies of (source, target) sizes "
                             f"{' and '.join(map(str, sorted(sizes)))}, expected one pair")
        if len({model.xp for model in models}) > 1:
            raise InputError("the models of an ensemble lie on different backends; bring them to one with model.to(...)")
        self.models = list(models)
        self.xp = models[0].xp
        self.config = min((model.config for model in models), key=_positions)
        weight = self.xp.concatenate([model.output.weight.data for model in models], axis=1) / len(models)
        self.output = OutputProjection(*weight.shape, rng=None, weight=Parameter(weight))

    def forward(self, source, target):
        """Returns logits (B, T_q, V) and, as a Transformer, a cache."""
        return self.output.forward(_side_by_side([model.hidden(source, target)[0] for model in self.models]))


class EnsembleDecoder:
    """The CachedDecoders of all models of an Ensemble as one."""

    def __init__(self, ensemble, source):
        self._decoders = [CachedDecoder(model, source) for model in ensemble.models]

    @property
    def position(self):
        return self._decoders[0].position

    def advance(self, tokens, parents=None):
        """As CachedDecoder's: tokens and parents (B, width) -> hidden states (B, width, the sum of all d_model)."""
        return _side_by_side([decoder.advance(tokens, parents) for decoder in self._decoders])

    def keep(self, sentences):
        for decoder in self._decoders:
            decoder.keep(sentences)


def cached_decoder(model, source):
    """What decodes `source` (B, T_k) with a Transformer or an Ensemble, one position at a time."""
    return (EnsembleDecoder if isinstance(model, Ensemble) else CachedDecoder)(model, source)


def _side_by_side(hidden):
    return module_of(hidden[0]).concatenate(hidden, axis=-1)


def _positions(config):
    return config.max_length if config.positions == "learned" else np.inf
