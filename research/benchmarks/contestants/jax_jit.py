"""The same training step in plain JAX, as a single jitted function."""

import math
from collections.abc import Callable
from functools import partial
from itertools import count

import jax
import jax.numpy as jnp

from research.benchmarks.cases import BETA1, BETA2, CLIP, DROPOUT, EPSILON, LEARNING_RATE, SMOOTHING
from minitransformer.functional import sinusoids
from minitransformer.data.special import PAD
from minitransformer.models import Transformer

jax.config.update("jax_platforms", "cpu")
jax.config.update(
    "jax_threefry_partitionable", False
)  # otherwise, dropout's bytes cost as much as everything else
jax.jit(jnp.sin)(
    0.0
)  # starts XLA and its compiler, so that they count as import, not as memory of the step


def make_step(case, threads) -> Callable[[], float]:
    """A function that makes one training step on each batch and returns the last loss; it starts
    with minitransformer's weights.

    The environment sets the number of XLA's threads.
    """
    config, batches, steps = case.config(), case.batches(), count(1)
    padded = any((batch.source == PAD).any() for batch in batches)
    weights = {
        name: jnp.array(parameter.data)
        for name, parameter in Transformer(config).parameters().items()
    }
    state = weights, jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights)
    update = jax.jit(partial(training_step, config, padded), donate_argnums=0)

    def step() -> float:
        nonlocal state
        for batch in batches:
            state, loss = jax.block_until_ready(update(state, next(steps), *batch[:3]))
        return float(loss)

    return step


def training_step(
    config, padded, state, steps, source, target, next_target
) -> tuple[tuple[dict, dict, dict], jax.Array]:
    """(weights, m, v), each {name: array}, after one step of Adam; and the loss."""
    weights, m, v = state
    drop = dropout(jax.random.fold_in(jax.random.key(0), steps))
    loss, grad = jax.value_and_grad(
        lambda weights: cross_entropy(
            logits(config, weights, source, target, drop, padded), next_target
        )
    )(weights)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in grad.values()))
    grad = jax.tree.map(lambda g: g * (CLIP / jnp.maximum(norm, CLIP)), grad)
    m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, grad)
    v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, grad)
    mean_scale, square_scale = 1 / (1 - BETA1**steps), 1 / (1 - BETA2**steps)
    weights = jax.tree.map(
        lambda w, m, v: w - LEARNING_RATE * mean_scale * m / (jnp.sqrt(square_scale * v) + EPSILON),
        weights,
        m,
        v,
    )
    return (weights, m, v), loss


def dropout(key) -> Callable[[jax.Array], jax.Array]:
    """A dropout function; each call draws from its own key, and one byte decides each element, as
    in ours.
    """
    calls, dropped = count(), round(256 * DROPOUT)

    def drop(x) -> jax.Array:
        keep = jax.random.bits(jax.random.fold_in(key, next(calls)), x.shape, "uint8") >= dropped
        return jnp.where(keep, x * (256 / (256 - dropped)), 0)

    return drop


def cross_entropy(logits, targets) -> jax.Array:
    log_p = jax.nn.log_softmax(logits)  # (B, T_q, V)
    right = jnp.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    loss = (1 - SMOOTHING) * right + SMOOTHING * log_p.mean(axis=-1)
    return -loss.mean(where=targets != PAD)


def logits(config, weights, source, target, drop, padded=False) -> jax.Array:
    """source (B, T_k), target (B, T_q) token ids -> logits (B, T_q, V). `padded`: whether a source
    has padding.
    """
    table = weights["target_embedding.weight"]
    real = (source != PAD)[:, None, None] if padded else True

    def embed(ids) -> jax.Array:
        return drop(
            math.sqrt(config.d_model) * table[ids]
            + sinusoids(ids.shape[1], config.d_model, dtype="float32")
        )

    def linear(name, x) -> jax.Array:
        rows = x.reshape(
            -1, x.shape[-1]
        )  # XLA is faster with one matrix product for all leading axes
        y = rows @ weights[f"{name}.weight"] + weights[f"{name}.bias"]
        return y.reshape(*x.shape[:-1], -1)

    def attention(name, x, memory, mask) -> jax.Array:
        q, k, v = (
            linear(f"{name}.{part}", y).reshape(
                *y.shape[:2], config.num_heads, -1
            )  # (B, T, H, d_k)
            for part, y in (("query", x), ("key", memory), ("value", memory))
        )
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
        p = drop(jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)))
        return linear(f"{name}.output", jnp.einsum("bhqk,bkhd->bqhd", p, v).reshape(x.shape))

    def feed_forward(name, x) -> jax.Array:
        return linear(f"{name}.outer", drop(jax.nn.relu(linear(f"{name}.inner", x))))

    def add_norm(name, x, y) -> jax.Array:
        y = x + drop(y)
        gamma, beta = weights[f"{name}_residual.norm.gamma"], weights[f"{name}_residual.norm.beta"]
        return gamma * jax.nn.standardize(y, epsilon=1e-5) + beta

    memory, y = embed(source), embed(target)
    causal = jnp.tri(target.shape[1], dtype=bool)
    for i in range(config.num_layers):
        name = f"encoder.layers.{i}"
        memory = add_norm(
            f"{name}.self_attention",
            memory,
            attention(f"{name}.self_attention", memory, memory, real),
        )
        memory = add_norm(
            f"{name}.feed_forward", memory, feed_forward(f"{name}.feed_forward", memory)
        )
    for i in range(config.num_layers):
        name = f"decoder.layers.{i}"
        y = add_norm(f"{name}.self_attention", y, attention(f"{name}.self_attention", y, y, causal))
        y = add_norm(
            f"{name}.cross_attention", y, attention(f"{name}.cross_attention", y, memory, real)
        )
        y = add_norm(f"{name}.feed_forward", y, feed_forward(f"{name}.feed_forward", y))
    return (y.reshape(-1, config.d_model) @ table.T).reshape(*target.shape, -1)
