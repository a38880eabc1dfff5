"""The decoder one position at a time: what it has computed for earlier positions is kept, not computed again."""

import numpy as np

from minitransformer.backend import module_of, to_device
from minitransformer.functional import PAD, padding_mask
from minitransformer.data.vocabulary import BOS, EOS


class CachedDecoder:
    """Decodes `width` hypotheses of each of B sentences, source (B, T_k), all at the same position.

    Cross-attention's keys and values are made from the memory once. Those of self-attention are
    appended at each position, and stay where they are: the hypotheses of a sentence share one list
    of keys and values, and a mask says which of them belong to the past of which hypothesis. When a
    search drops one hypothesis and splits another, only the mask changes.
    """

    def __init__(self, model, source, width=1):
        self._model = model
        memory, _ = model.encode(source)
        self._memory_mask = to_device(padding_mask(source), module_of(memory))
        self._memories = [layer.cross_attention.keys_values(memory, memory) for layer in model.decoder.layers]
        self._pasts = [_Past() for _ in model.decoder.layers]
        self._mask = np.zeros((len(source), width, 0), bool)    # (B, width, width * position)
        self.position = 0

    def step(self, tokens, parents=None):
        """The logits of the next token (B, width, V), after `tokens` (B, width) ids at the current position.

        parents: (B, width), which hypothesis of the last position each one continues; None: its own.
        """
        width = tokens.shape[1]
        if parents is not None:
            self._mask = np.take_along_axis(self._mask, parents[:, :, None], axis=1)
        own = np.broadcast_to(np.eye(width, dtype=bool), (len(tokens), width, width))
        self._mask = np.concatenate([self._mask, own], axis=2)
        model = self._model
        x, _ = model.target_embedding.forward(tokens)
        x = model.target_input.positions.at(x, self.position)                # (B, width, d_model)
        mask = to_device(self._mask[:, None], module_of(x))
        for layer, past, memory in zip(model.decoder.layers, self._pasts, self._memories):
            x = layer.self_attention_residual.evaluate(
                x, lambda h: layer.self_attention.attend(h, *past.append(*layer.self_attention.keys_values(h, h)), mask))
            x = layer.cross_attention_residual.evaluate(
                x, lambda h: layer.cross_attention.attend(h, *memory, self._memory_mask))
            x = layer.feed_forward_residual.evaluate(x, lambda h: layer.feed_forward.forward(h)[0])
        if model.decoder.norm:
            x, _ = model.decoder.norm.forward(x)
        self.position += 1
        return model.output.forward(x)[0]

    def keep(self, sentences):
        """Go on with these of the sentences only: an array of their places."""
        self._mask = self._mask[sentences]
        places = to_device(sentences, module_of(self._memory_mask))
        self._memory_mask = self._memory_mask[places]
        self._memories = [(keys[places], values[places]) for keys, values in self._memories]
        for past in self._pasts:
            past.keep(places)


class _Past:
    """Keys and values (B, H, T, d) of one layer's self-attention, with room for more behind them."""

    def __init__(self):
        self._length = 0
        self._keys = self._values = None

    def append(self, keys, values):
        """Put keys and values (B, H, width, d) of one position behind the others; returns all of them."""
        start, self._length = self._length, self._length + keys.shape[2]
        if self._keys is None or self._length > self._keys.shape[2]:
            self._keys, self._values = self._grown(self._keys, keys), self._grown(self._values, values)
        self._keys[:, :, start:self._length] = keys
        self._values[:, :, start:self._length] = values
        return self._keys[:, :, :self._length], self._values[:, :, :self._length]

    def keep(self, places):
        self._keys, self._values = self._keys[places], self._values[places]

    def _grown(self, old, new):
        """An array with twice the room, so that a length of T costs T copies in all, not T^2."""
        batch, heads, _, d = new.shape
        grown = module_of(new).empty((batch, heads, 2 * self._length, d), new.dtype)
        if old is not None:
            grown[:, :, :old.shape[2]] = old
        return grown


def log_normaliser(logits):
    """log(sum(exp(logits))) of the last axis: (..., V) -> (...)."""
    xp = module_of(logits)
    peak = logits.max(axis=-1, keepdims=True)
    z = xp.exp(logits - peak)
    return xp.log(z.reshape(-1, z.shape[-1]) @ xp.ones(z.shape[-1], z.dtype)).reshape(peak.shape[:-1]) + peak[..., 0]


def forbid(logits, position, least, most):
    """Logits of -inf for what may not come next: padding, BOS, EOS before `least` tokens, all but EOS after `most`.

    logits: (B, width, V), changed; `position`: how many tokens there are; least, most: (B,).
    """
    logits[:, :, PAD] = logits[:, :, BOS] = -np.inf
    xp = module_of(logits)
    logits[to_device(np.flatnonzero(position < least), xp), :, EOS] = -np.inf
    full = to_device(np.flatnonzero(position >= most), xp)
    if full.size:
        end = logits[full, :, EOS]
        logits[full] = -np.inf
        logits[full, :, EOS] = end
