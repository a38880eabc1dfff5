"""The decoder one position at a time, with a key-value (KV) cache: earlier positions are not computed again."""

import numpy as np

from minitransformer.backend import module_of, to_device
from minitransformer.functional import padding_mask


class CachedDecoder:
    """Decodes one or more hypotheses of each of B sentences, source (B, T_k), all at the same position.

    Cross-attention's keys and values are made from the memory once. Those of self-attention are
    appended at each position, and stay where they are: the hypotheses of a sentence share one list
    of keys and values, and a mask says which of them belong to the past of which hypothesis. When a
    search drops one hypothesis and splits another, only the mask changes. When the list is full, those
    that belong to no hypothesis any more are left out of a new one.
    """

    def __init__(self, model, source):
        self._model = model
        memory, _ = model.encode(source)
        self._memory_mask = to_device(padding_mask(source), module_of(memory))
        self._self_attentions = [_SelfAttention(layer.self_attention, len(source)) for layer in model.decoder.layers]
        self._cross_attentions = [_CrossAttention(layer.cross_attention, memory) for layer in model.decoder.layers]
        self._mask = None    # (B, width, list): whose past is what
        self._room = 0       # of the list
        self.position = 0

    def advance(self, tokens, parents=None):
        """The hidden states (B, width, d_model) after `tokens` (B, width) ids at the current position.

        parents: (B, width), which hypothesis of the last position each one continues; None: its own.
        """
        batch, width = tokens.shape
        if self.position == 0:
            self._mask = np.zeros((batch, width, 0), bool)
        elif parents is not None:
            self._mask = np.take_along_axis(self._mask, parents[:, :, None], axis=1)
        if self._mask.shape[2] + width > self._room:
            self._make_room()
        own = np.broadcast_to(np.eye(width, dtype=bool), (batch, width, width))
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
        return x

    def keep(self, sentences):
        """Drop all but some sentences: row i of what is kept becomes the old row sentences[i] (see `those_left`)."""
        moved = np.flatnonzero(sentences != np.arange(len(sentences)))
        self._mask = _kept(self._mask, sentences, moved)
        sentences, moved = (to_device(a, module_of(self._memory_mask)) for a in (sentences, moved))
        self._memory_mask = _kept(self._memory_mask, sentences, moved)
        for attention in (*self._self_attentions, *self._cross_attentions):
            attention.keys = _kept(attention.keys, sentences, moved)
            attention.values = _kept(attention.values, sentences, moved)

    def _make_room(self):
        """New lists of what belongs to a hypothesis, with as much room again."""
        width, live = self._mask.shape[1], self._mask.any(axis=1)            # (B, list)
        length = live.sum(axis=1).max(initial=0)
        places = np.argsort(~live, axis=1, kind="stable")[:, :length]
        self._mask = np.take_along_axis(self._mask, places[:, None], axis=2)
        self._room = 2 * (length + width)
        places = to_device(places, module_of(self._memory_mask))
        for attention in self._self_attentions:
            attention.make_room(places, self._room)


def those_left(done):
    """Which rows go on, for `keep`; done: (B,) bool. A row that is done is filled from the end, so that few rows move:
    done 0 1 0 0 1 0 1 0 gives 0 5 2 3 7."""
    left = np.flatnonzero(~done)
    places = np.arange(len(left))
    places[done[:len(left)]] = left[left >= len(left)]
    return places


def _kept(array, places, moved):
    """array[places] without copying those that stay where they are; changes `array`."""
    array[moved] = array[places[moved]]
    return array[:len(places)]


class _CrossAttention:
    """One layer's cross-attention; the memory's keys and values (B, H, T_k, d) are made once."""

    def __init__(self, attention, memory):
        self._attention = attention
        self.keys, self.values = (
            attention.xp.ascontiguousarray(attention.split(linear.forward(memory)[0]))    # a head's lie together
            for linear in (attention.key, attention.value))

    def attend(self, x, mask):
        queries = self._attention.split(self._attention.query.forward(x)[0])
        return self._attention.attend(queries, self.keys, self.values, mask)


class _SelfAttention:
    """One layer's self-attention; earlier positions' keys and values (B, H, list, d) stay, with room for more."""

    def __init__(self, attention, batch):
        xp = attention.xp
        self._attention = attention
        parts = attention.query, attention.key, attention.value    # one product for all three
        self._weight = xp.concatenate([part.weight.data for part in parts], axis=1)
        self._bias = xp.concatenate([part.bias.data for part in parts])
        self._ends = parts[0].weight.shape[1], parts[0].weight.shape[1] + parts[1].weight.shape[1]
        self._length = 0
        self.keys, self.values = (attention.split(xp.empty((batch, 0, len(part.bias.data)), self._bias.dtype))
                                  for part in parts[1:])

    def attend(self, x, mask):
        """x: (B, width, d_model), one position of `width` hypotheses. Returns the attention's output, of the same shape."""
        batch, width, d_model = x.shape
        projected = x.reshape(-1, d_model) @ self._weight
        projected += self._bias
        projected = projected.reshape(batch, width, len(self._bias))
        first, second = self._ends
        queries, keys, values = (self._attention.split(part) for part in (
            projected[:, :, :first], projected[:, :, first:second], projected[:, :, second:]))
        start, self._length = self._length, self._length + width
        self.keys[:, :, start:self._length] = keys
        self.values[:, :, start:self._length] = values
        return self._attention.attend(queries, self.keys[:, :, :self._length], self.values[:, :, :self._length], mask)

    def make_room(self, places, room):
        """Lists with that much room, of what lies in `places` (B, length) of those there are."""
        self._length = places.shape[1]
        self.keys, self.values = (self._gathered(old, places, room) for old in (self.keys, self.values))

    def _gathered(self, old, places, room):
        xp, (batch, heads, _, d) = module_of(old), old.shape
        new = xp.empty((batch, heads, room, d), old.dtype)
        new[:, :, :self._length] = old[xp.arange(batch)[:, None, None], xp.arange(heads)[:, None], places[:, None]]
        return new
