"""The decoder one position at a time: what it has computed for earlier positions is kept, not computed again."""

import numpy as np

from minitransformer.backend import module_of, to_device
from minitransformer.functional import padding_mask


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
        self._self_attentions = [_SelfAttention(layer.self_attention) for layer in model.decoder.layers]
        self._cross_attentions = [_CrossAttention(layer.cross_attention, memory) for layer in model.decoder.layers]
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
        for layer, self_attention, cross_attention in zip(
                model.decoder.layers, self._self_attentions, self._cross_attentions):
            x = layer.self_attention_residual.evaluate(x, lambda h: self_attention.attend(h, mask))
            x = layer.cross_attention_residual.evaluate(x, lambda h: cross_attention.attend(h, self._memory_mask))
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
        for attention in (*self._self_attentions, *self._cross_attentions):
            attention.keep(places)


class _CrossAttention:
    """One layer's cross-attention; the memory's keys and values (B, H, T_k, d) are made once."""

    def __init__(self, attention, memory):
        self._attention = attention
        self._keys, self._values = (attention.split(linear.forward(memory)[0])
                                    for linear in (attention.key, attention.value))

    def attend(self, x, mask):
        queries = self._attention.split(self._attention.query.forward(x)[0])
        return self._attention.attend(queries, self._keys, self._values, mask)

    def keep(self, places):
        self._keys, self._values = self._keys[places], self._values[places]


class _SelfAttention:
    """One layer's self-attention; the keys and values (B, H, T, d) of earlier positions stay, with room for more."""

    def __init__(self, attention):
        xp = attention.xp
        self._attention = attention
        parts = attention.query, attention.key, attention.value    # one product for all three
        self._weight = xp.concatenate([part.weight.data for part in parts], axis=1)
        self._bias = xp.concatenate([part.bias.data for part in parts])
        self._ends = parts[0].weight.shape[1], parts[0].weight.shape[1] + parts[1].weight.shape[1]
        self._length = 0
        self._keys = self._values = None

    def attend(self, x, mask):
        """x (B, width, d_model), one position of `width` hypotheses -> the same of what they attend to."""
        projected = x.reshape(-1, x.shape[-1]) @ self._weight + self._bias
        projected = projected.reshape(*x.shape[:-1], len(self._bias))
        first, second = self._ends
        queries, keys, values = (self._attention.split(part) for part in (
            projected[..., :first], projected[..., first:second], projected[..., second:]))
        return self._attention.attend(queries, *self._append(keys, values), mask)

    def keep(self, places):
        self._keys, self._values = self._keys[places], self._values[places]

    def _append(self, keys, values):
        """Put keys and values (B, H, width, d) behind the others; returns all of them."""
        start, self._length = self._length, self._length + keys.shape[2]
        if self._keys is None or self._length > self._keys.shape[2]:
            self._keys, self._values = self._grown(self._keys, keys), self._grown(self._values, values)
        self._keys[:, :, start:self._length] = keys
        self._values[:, :, start:self._length] = values
        return self._keys[:, :, :self._length], self._values[:, :, :self._length]

    def _grown(self, old, new):
        """An array with twice the room, so that a length of T costs T copies in all, not T^2."""
        batch, heads, _, d = new.shape
        grown = module_of(new).empty((batch, heads, 2 * self._length, d), new.dtype)
        if old is not None:
            grown[:, :, :old.shape[2]] = old
        return grown
