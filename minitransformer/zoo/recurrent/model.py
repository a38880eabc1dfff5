"""Recurrent encoder-decoders: the models that the paper's introduction is about."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from minitransformer.backend import Array, Generator, module_of, to_device
from minitransformer.checks import check_model, check_shape
from minitransformer.decoding.state import DecodingState, RecomputedState, first_and_limit
from minitransformer.decoding.stepwise import is_stepwise, runs
from minitransformer.errors import InputError
from minitransformer.data.special import PAD
from minitransformer.layers import Embedding, LinearCrossEntropy
from minitransformer.layers.embedding import EmbeddingCache
from minitransformer.models.next_token import NextTokenModel
from minitransformer.models.transformer import EncoderDecoderConfig
from minitransformer.zoo.attention.additive import AdditiveAttention
from minitransformer.zoo.recurrent.attentional_state import AttentionalState, AttentionalStateCache
from minitransformer.zoo.recurrent.bidirectional import Bidirectional
from minitransformer.zoo.recurrent.gru import GRU
from minitransformer.zoo.recurrent.layer import RecurrentCache
from minitransformer.zoo.recurrent.lstm import LSTM
from minitransformer.zoo.recurrent.rnn import RNN
from minitransformer.zoo.recurrent.stack import RecurrentStack

NAMED: dict[str, dict[str, Any]] = {
    "toy": dict(num_layers=1, d_model=64, dropout=0.0),
    # For small corpora such as Multi30K: an LSTM with additive attention has about as many parameters as the tiny Transformer.
    "tiny": dict(num_layers=2, d_model=176, dropout=0.1),
}


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig(EncoderDecoderConfig):
    """All sizes and choices of a recurrent encoder-decoder. `dropout` is on what each layer reads and each stack returns."""

    kind, examples = "recurrent", NAMED

    num_layers: int = 1                  # in the encoder, and in the decoder
    d_model: int = 64                    # width of embeddings and hidden states
    dropout: float = 0.0
    bidirectional: bool = True           # the encoder reads from both ends, each with half of the width

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bidirectional and self.d_model % 2:
            raise InputError(f"d_model is {self.d_model}, expected an even number: half of it for each direction of the encoder")


class RecurrentEncodeCache(NamedTuple):
    embedding: EmbeddingCache
    encoder: RecurrentCache    # of the stack
    shape: tuple               # of the memory


class RecurrentHiddenCache(NamedTuple):
    encode: RecurrentEncodeCache
    embedding: EmbeddingCache                  # of the target
    decoder: RecurrentCache                    # of the stack
    readout: AttentionalStateCache | None      # with attention only


class RecurrentModel(NextTokenModel):
    """source (B, T_k), target (B, T_q) token ids -> logits (B, T_q, V) of the token after each target token.

    The encoder's last state is the decoder's first: without attention, this *context vector* is all that the decoder knows
    of the source (Sutskever et al. 2014, https://arxiv.org/abs/1409.3215). The two directions of a bidirectional encoder have
    half of the width each, so that their states side by side fit the decoder.
    """

    Config = RecurrentConfig
    _cell: ClassVar[type[RNN] | type[GRU] | type[LSTM]]
    readout: AttentionalState | None = None

    def __init__(self, config: RecurrentConfig, seed: int = 0):
        check_model(self, config, seed)
        rng = np.random.default_rng(seed)
        self.config = config
        self.target_embedding = Embedding(config.target_vocab, config.d_model, rng)
        self.source_embedding = (self.target_embedding if config.share_embeddings
                                 else Embedding(config.source_vocab, config.d_model, rng))
        self.encoder = RecurrentStack([self._encoder_layer(rng) for _ in range(config.num_layers)], config.dropout)
        self.decoder = RecurrentStack([self._cell(config.d_model, config.d_model, rng, config.dropout)
                                       for _ in range(config.num_layers)], config.dropout)
        self.output = self.make_output(config.target_vocab, rng)
        self.loss = LinearCrossEntropy()

    def _encoder_layer(self, rng: Generator | None) -> RNN | GRU | LSTM | Bidirectional:
        width, dropout = self.config.d_model, self.config.dropout
        if not self.config.bidirectional:
            return self._cell(width, width, rng, dropout)
        return Bidirectional(self._cell(width, width // 2, rng, dropout), self._cell(width, width // 2, rng, dropout))

    def hidden(self, source: Array, target: Array,
               rng: Generator | None = None) -> tuple[Array, RecurrentHiddenCache]:
        """The last hidden states y (B, T_q, d_model), from which `output` computes the logits, and `loss` the loss."""
        name = type(self).__name__
        check_shape(f"{name}: source", source, "B", "T_k")
        check_shape(f"{name}: target", target, source.shape[0], "T_q")
        memory, context, encode = self.encode(source, rng)
        x, embedding = self.target_embedding.forward(target)
        (y, _), decoder = self.decoder.forward(x, context, rng=rng)
        readout = None
        if self.readout:
            y, readout = self.readout.forward(y, memory, self.memory_mask(source, memory), rng)
        return y, RecurrentHiddenCache(encode, embedding, decoder, readout)

    def hidden_backward(self, dy: Array, cache: RecurrentHiddenCache) -> None:
        dmemory = None
        if self.readout and cache.readout:
            dy, dmemory = self.readout.backward(dy, cache.readout)
        xp = module_of(dy)
        dx, dcontext = self.decoder.backward((dy, xp.zeros((len(dy), self.decoder.state_size), dy.dtype)), cache.decoder)
        self.target_embedding.backward(dx, cache.embedding)
        if dmemory is None:
            dmemory = xp.zeros(cache.encode.shape, dy.dtype)
        dx = cast(Array, self.encoder.backward((dmemory, dcontext), cache.encode.encoder))    # no state was given
        self.source_embedding.backward(dx, cache.encode.embedding)

    def encode(self, source: Array,
               rng: Generator | None = None) -> tuple[Array, Array, RecurrentEncodeCache]:
        """source (B, T_k) -> memory (B, T_k, d_model), the context vector (B, S), and the cache."""
        x, embedding = self.source_embedding.forward(source)
        real = source != PAD    # on the host, where the ids are: a batch of sentences of one length needs no mask
        mask = None if real.all() else to_device(real, module_of(x))
        (memory, context), encoder = self.encoder.forward(x, None, mask, rng)
        return memory, context, RecurrentEncodeCache(embedding, encoder, memory.shape)

    def memory_mask(self, source: Array, memory: Array) -> Array:
        """(B, 1, T_k) bool: every position of the target may attend to the real tokens of its source."""
        return to_device((source != PAD)[:, None, :], module_of(memory))

    def start(self, source: Array) -> DecodingState:
        """The DecodingState that writes the outputs for source (B, T_k), token by token."""
        check_shape("source", source, "B", "T_k")
        self.check_shared()
        parts = [self.target_embedding, self.decoder, *([self.readout] if self.readout else [])]
        if runs(self, RecurrentModel, "hidden") and all(map(is_stepwise, parts)):
            return RecurrentState(self, source)
        first, limit = first_and_limit(source)
        return RecomputedState(lambda rows, ids: self.hidden(source[rows], ids)[0], self.output, first, limit,
                               np.empty((len(source), 1, 0), int))


class RNNModel(RecurrentModel):
    """Elman networks with a context vector."""

    _cell = RNN


class GRUModel(RecurrentModel):
    """Gated recurrent units with a context vector (Cho et al. 2014, https://arxiv.org/abs/1406.1078)."""

    _cell = GRU


class LSTMModel(RecurrentModel):
    """LSTMs with a context vector."""

    _cell = LSTM


class LSTMAttentionModel(LSTMModel):
    """LSTMs whose decoder also attends to all of the source: additive scores (Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473).

    The decoder attends after its recurrence, as in Luong et al. 2015 (https://arxiv.org/abs/1508.04025): Bahdanau's
    attends before it, which makes every position wait for the attention of the one before.
    """

    def __init__(self, config: RecurrentConfig, seed: int = 0):
        super().__init__(config, seed)
        rng = np.random.default_rng([seed, 1])
        attention = AdditiveAttention(config.d_model, config.d_model, config.d_model, rng)
        self.readout = AttentionalState(attention, config.d_model, config.d_model, rng, config.dropout)

    def attention_weights(self, source: Array, target: Array) -> dict[str, list[Array]]:
        """The attention weights: {"cross": [(B, 1, T_q, T_k)]}, one layer with one head."""
        readout: Any = self.hidden(source, target)[1].readout
        return {"cross": [readout.attention.attention.softmax.p[:, None]]}


class RecurrentState(DecodingState):
    """A recurrent decoder that runs one position at a time: its state for each hypothesis, and the memory for each source."""

    def __init__(self, model: RecurrentModel, source: Array):
        self.output = model.output
        self.first, self.limit = first_and_limit(source)
        self._model = model
        self._memory, context, _ = model.encode(source)
        self._mask = model.memory_mask(source, self._memory)
        self._states = context[:, None]     # (B, width, S)

    def advance(self, ids: Array, parents: Array | None = None) -> Array:
        model, (batch, width), xp = self._model, ids.shape, module_of(self._states)
        if parents is not None:
            self._states = self._states[xp.arange(batch)[:, None], to_device(parents, xp)]
        x, _ = model.target_embedding.forward(ids.reshape(-1, 1))
        (y, states), _ = model.decoder.forward(x, self._states.reshape(batch * width, -1))
        self._states, y = states.reshape(batch, width, -1), y.reshape(batch, width, -1)
        return model.readout.forward(y, self._memory, self._mask)[0] if model.readout else y

    def keep(self, rows: Array) -> None:
        rows = to_device(rows, module_of(self._states))
        self._states, self._memory, self._mask = self._states[rows], self._memory[rows], self._mask[rows]
