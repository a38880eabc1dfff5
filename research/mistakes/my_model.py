"""What a reader may write from a blank file after part two, with functions of the exercises before
it.
"""

import itertools

import numpy as np
from my_transformer import (
    adam_step, attention, attention_backward, cross_entropy_backward, embedding, feed_forward_backward, layer_norm,
    layer_norm_backward, linear_backward, merge_heads, schedule, shared_backward, sinusoids, softmax, split_heads, three_masks)

HEADS = 4


def rows(x):
    return x.reshape(-1, x.shape[-1])


def linear(x, w, name):
    return x @ w[name + ".weight"] + w[name + ".bias"]


def back_linear(dy, x, w, name, grads):
    dx, grads[name + ".weight"], grads[name + ".bias"] = linear_backward(rows(dy), rows(x), w[name + ".weight"])
    return dx.reshape(x.shape)


def attend(x, memory, mask, w, name):
    q, k, v = (split_heads(linear(one, w, f"{name}.{part}"), HEADS)
               for one, part in ((x, "query"), (memory, "key"), (memory, "value")))
    y, p = attention(q, k, v, np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2])))
    merged = merge_heads(y)
    return linear(merged, w, name + ".output"), (x, memory, q, k, v, p, merged)


def drop(x, dropout, rng):
    mask = 1.0 if rng is None else (rng.random(x.shape) >= dropout) / (1 - dropout)
    return x * mask, mask


def back_attend(dy, cache, w, name, grads):
    x, memory, q, k, v, p, merged = cache
    dheads = split_heads(back_linear(dy, merged, w, name + ".output", grads), HEADS)
    dq, dk, dv = map(merge_heads, attention_backward(dheads, q, k, v, p))
    return (back_linear(dq, x, w, name + ".query", grads),
            back_linear(dk, memory, w, name + ".key", grads) + back_linear(dv, memory, w, name + ".value", grads))


def norm(x, h, w, name, noise):
    h, mask = drop(h, *noise)
    y, n, s = layer_norm(x + h, w[name + "_residual.gamma"], w[name + "_residual.beta"], 1e-5)
    return y, (n, s, mask)


def back_norm(dy, cache, w, name, grads):
    gamma = name + "_residual.gamma"
    n, s, mask = cache
    dx, grads[gamma], grads[name + "_residual.beta"] = layer_norm_backward(dy, n, s, w[gamma])
    return dx, dx * mask


def layer(x, mask, w, name, noise, memory=None, memory_mask=None):
    caches = []
    for part, asked, allowed in (("self_attention", None, mask), ("cross_attention", memory, memory_mask)):
        if part == "self_attention" or memory is not None:
            h, cache = attend(x, x if asked is None else asked, allowed, w, f"{name}.{part}")
            x, normed = norm(x, h, w, f"{name}.{part}", noise)
            caches.append((part, cache, normed))
    inner = linear(x, w, name + ".feed_forward.inner")
    h = linear(np.maximum(inner, 0), w, name + ".feed_forward.outer")
    y, normed = norm(x, h, w, name + ".feed_forward", noise)
    return y, (caches, x, normed)


def back_layer(dy, cache, w, name, grads):
    caches, x, normed = cache
    (dx, dh), dmemory, inner = back_norm(dy, normed, w, name + ".feed_forward", grads), 0, name + ".feed_forward.inner"
    outer = name + ".feed_forward.outer"
    dh, grads[inner + ".weight"], grads[inner + ".bias"], grads[outer + ".weight"], grads[outer + ".bias"] = feed_forward_backward(
        rows(dh), rows(x), w[inner + ".weight"], w[inner + ".bias"], w[outer + ".weight"])
    dx = dx + dh.reshape(x.shape)
    for part, attended, normed in reversed(caches):
        dx, dh = back_norm(dx, normed, w, f"{name}.{part}", grads)
        dasks, dasked = back_attend(dh, attended, w, f"{name}.{part}", grads)
        dx = dx + dasks
        if part == "cross_attention":
            dmemory = dasked
        else:
            dx = dx + dasked
    return dx, dmemory


def embed(ids, w):
    E = w["embedding.weight"]
    return embedding(ids, E) + sinusoids(np.arange(ids.shape[1]), E.shape[1])


def layers_of(w, stack):
    return sorted({".".join(name.split(".")[:2]) for name in w if name.startswith(stack)})


def forward(w, source, target, *noise):
    noise = noise or (0.0, None)
    alone = source is None
    source = np.zeros((len(target), 0), int) if alone else source
    encoder, decoder, cross = three_masks(source, target)
    (memory, *masks), (x, mask), caches = drop(embed(source, w), *noise), drop(embed(target, w), *noise), []
    for name in layers_of(w, "encoder"):
        memory, cache = layer(memory, encoder, w, name, noise)
        caches.append(cache)
    for name in layers_of(w, "decoder"):
        x, cache = layer(x, decoder, w, name, noise, None if alone else memory, cross)
        caches.append(cache)
    return x @ w["embedding.weight"].T, (caches, x, source, target, (*masks, mask))


def backward(dlogits, cache, w):
    caches, h, source, target, masks = cache
    names, grads, dmemory = [*layers_of(w, "encoder"), *layers_of(w, "decoder")], {}, np.zeros((*source.shape, h.shape[-1]))
    dx = dlogits @ w["embedding.weight"]
    for name, one in reversed([*zip(names, caches)]):
        if name.startswith("decoder"):
            dx, dpart = back_layer(dx, one, w, name, grads)
            dmemory = dmemory + dpart
        else:
            dmemory, _zero = back_layer(dmemory, one, w, name, grads)
    dmemory, dx = dmemory * masks[0], dx * masks[1]
    _dh, grads["embedding.weight"] = shared_backward(dmemory, dx, dlogits, h, source, target, w["embedding.weight"])
    return grads


def loss(logits, next_target):
    p = softmax(logits)
    right = np.take_along_axis(p, next_target[..., None], axis=-1)[..., 0]
    return -np.log(right[next_target != 0]).sum(), cross_entropy_backward(1.0, p, next_target)


def greedy(w, source, length):
    target = np.ones((len(source), 1), int)
    for _step in range(length):
        logits, _cache = forward(w, source, target)
        target = np.concatenate([target, 2 + logits[:, -1:, 2:].argmax(axis=-1)], axis=1)
    return target[:, 1:]


def padded(rows):
    longest = max(map(len, rows))
    return np.array([[*row, *[0] * (longest - len(row))] for row in rows])


def initial(rng):
    w = {"embedding.weight": rng.standard_normal((29, 32)) / np.sqrt(32)}

    def matrix(name, rows, columns):
        w[name + ".weight"] = rng.standard_normal((rows, columns)) * np.sqrt(2 / (rows + columns))
        w[name + ".bias"] = np.zeros(columns)

    for stack, attentions in (("encoder", ["self"]), ("decoder", ["self", "cross"])):
        for layer in ("0", "1"):
            for kind in attentions:
                for part in ("query", "key", "value", "output"):
                    matrix(f"{stack}.{layer}.{kind}_attention.{part}", 32, 32)
            matrix(f"{stack}.{layer}.feed_forward.inner", 32, 64)
            matrix(f"{stack}.{layer}.feed_forward.outer", 64, 32)
            for part in (*(kind + "_attention" for kind in attentions), "feed_forward"):
                w[f"{stack}.{layer}.{part}_residual.gamma"] = np.ones(32)
                w[f"{stack}.{layer}.{part}_residual.beta"] = np.zeros(32)
    return w


def train(pairs, rng, dropout, warmup):
    w = initial(rng)
    m, v = ({name: np.zeros_like(one) for name, one in w.items()} for _moment in range(2))
    for step in itertools.count(1):
        drawn = [pairs[i] for i in rng.integers(len(pairs), size=32)]
        source = padded([[*one, 2] for one, _answer in drawn])
        target, next_target = padded([[1, *one] for _word, one in drawn]), padded([[*one, 2] for _word, one in drawn])
        logits, cache = forward(w, source, target, dropout, rng)
        total, dlogits = loss(logits, next_target)
        tokens = (next_target != 0).sum()
        grads = backward(dlogits / tokens, cache, w)
        factor = 1 / max(1, np.sqrt(sum((one ** 2).sum() for one in grads.values())))
        learning_rate = schedule(np.array([step]), 32, warmup)[0]
        for name in w:
            w[name], m[name], v[name] = adam_step(w[name], grads[name] * factor, m[name], v[name], step, learning_rate,
                                                  0.9, 0.98, 1e-9)
        yield total / tokens, w
