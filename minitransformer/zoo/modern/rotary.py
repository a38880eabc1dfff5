"""Rotary positions (Su et al. 2021, https://arxiv.org/abs/2104.09864, section 3.2): queries and keys turn by their position."""

import sys
from functools import lru_cache
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from minitransformer.backend import Array, Generator, module_of, to_device
from minitransformer.checks import check_cache, check_floats, check_shape, is_number
from minitransformer.errors import InputError, choices
from minitransformer.layers.config import StackConfig
from minitransformer.layers.layer import Layer
from minitransformer.layers.positions import PositionsCache
from minitransformer.dispatch import replaceable

# Which numbers of a head of width d are a pair that turns together: neighbours, as in the paper, or i and i + d/2.
LAYOUTS = {"interleaved": lambda d: (slice(0, d, 2), slice(1, d, 2)), "half": lambda d: (slice(0, d // 2), slice(d // 2, d))}


class StretchedBase(NamedTuple):
    """Llama 3.1's base, for texts longer than `length`, which it first learned from.

    A pair that turns at most `low` times in `length` positions turns `factor` times slower. One that
    turns at least `high` times stays as it is; those in between get a mixture.
    """

    base: float
    factor: float
    low: float
    high: float
    length: int


class RotaryCache(NamedTuple):
    cos: Array    # (T, d/2)
    sin: Array    # (T, d/2)
    layout: str


@replaceable
def rotary_forward(x: Array, positions: Array | None = None, base: float | StretchedBase = 10000.0,
                   layout: str = "interleaved") -> tuple[Array, RotaryCache]:
    """Turns pair i of x (..., T, d) by the angle t base^(-2i / d), t = positions (T,), ints, or else 0 to T - 1: y (..., T, d).

    The base is a number, or a StretchedBase.

    (y_1, y_2) = (x_1 cos - x_2 sin, x_1 sin + x_2 cos). The product of a query at t and a key at s, both turned, depends on
    their distance alone: the angles' difference is (t - s) base^(-2i / d).
    """
    check_floats("rotary_forward: x", x, ..., "T", "d")
    check_rotary(x.shape[-1], base, layout)
    positions = np.arange(x.shape[-2]) if positions is None else positions
    check_shape("rotary_forward: positions", positions, x.shape[-2])
    if positions.dtype.kind not in "iu" or positions.min(initial=0) < 0:
        raise InputError(f"rotary_forward: positions are {positions!r:.60}, expected whole numbers of at least 0")
    cos, sin = rotary_angles(positions, x.shape[-1], base, module_of(x), x.real.dtype.name)
    return _turned(x, cos, sin, layout), RotaryCache(cos, sin, layout)


@replaceable
def rotary_backward(dy: Array, cache: RotaryCache) -> Array:
    """A rotation's transpose turns back, by the negative angle: dx_1 = dy_1 cos + dy_2 sin, dx_2 = -dy_1 sin + dy_2 cos."""
    cos, sin, layout = cache
    return _turned(dy, cos, -sin, layout)


def _turned(x: Array, cos: Array, sin: Array, layout: str) -> Array:
    first, second = LAYOUTS[layout](x.shape[-1])
    y = module_of(x).empty(x.shape, x.dtype)
    y[..., first] = x[..., first] * cos - x[..., second] * sin
    y[..., second] = x[..., first] * sin + x[..., second] * cos
    return y


def rotary_angles(positions: Array, d: int, base: float | StretchedBase, xp: ModuleType,
                  dtype: str) -> tuple[Array, Array]:
    """cos and sin (T, d/2) of t base^(-2i / d) at positions t (T,), ints on the host."""
    room = max(64, 1 << int(positions.max(initial=0)).bit_length())    # a few tables, each twice as long, serve all positions
    cos, sin = _tables(room, d, base, xp, dtype)
    places = to_device(positions, xp)
    return cos[places], sin[places]


@lru_cache(maxsize=64)
def _tables(length: int, d: int, base: float | StretchedBase, xp: ModuleType,
            dtype: str) -> tuple[Array, Array]:
    angles = np.arange(length)[:, None] * rotary_frequencies(d, base)    # in float64
    return to_device(np.cos(angles).astype(dtype), xp), to_device(np.sin(angles).astype(dtype), xp)


def rotary_frequencies(d: int, base: float | StretchedBase) -> np.ndarray:
    """The angle by which each pair turns from one position to the next, (d/2,) in float64."""
    stretched = base if isinstance(base, StretchedBase) else None
    frequencies = (stretched.base if stretched else base) ** (-np.arange(0, d, 2) / d)
    if stretched is None:
        return frequencies
    turns = stretched.length * frequencies / (2 * np.pi)
    kept = np.clip((turns - stretched.low) / (stretched.high - stretched.low), 0, 1)
    return frequencies * (kept + (1 - kept) / stretched.factor)


def base_of(setting: float | dict[str, Any]) -> float | StretchedBase:
    """A configuration's rotary_base: a number, or the fields of a StretchedBase by their names."""
    if not isinstance(setting, dict):
        return setting
    if setting.keys() != set(StretchedBase._fields):
        raise InputError(f"rotary_base has {[*setting]}, expected {[*StretchedBase._fields]}")
    return StretchedBase(**setting)


def check_rotary(d_k: int, base: float | StretchedBase, layout: str) -> None:
    if d_k % 2:
        raise InputError(f"a head has {d_k} numbers, but rotary positions turn pairs: d_k must be even")
    number = base.base if isinstance(base, StretchedBase) else base
    if not is_number(number, 1) or not 1 < number < float("inf"):
        raise InputError(f"rotary_base is {number!r}, expected a number above 1")
    if isinstance(base, StretchedBase):
        numbers = all(is_number(field, 0) for field in base)
        if not numbers or not (base.factor >= 1 and 0 < base.low < base.high and base.length >= 1):
            expected = "factor, length >= 1, 0 < low < high"
            raise InputError(f"rotary_base is {base._asdict()}, expected {expected}")
    if layout not in list(LAYOUTS):
        raise InputError(f"unknown rotary_layout {layout!r}; {choices(str(layout), LAYOUTS)}")


class RotaryPositions(Layer):
    """y = x, for x (B, T, d_model): nothing is added to the embeddings, as attention itself turns its queries and keys."""

    attention: ClassVar[str | None] = "grouped"
    max_length = sys.maxsize

    @classmethod
    def of(cls, config: StackConfig, rng: Generator | None) -> "RotaryPositions":
        return cls()

    def forward(self, x: Array) -> tuple[Array, PositionsCache]:
        check_floats("RotaryPositions: x", x, "B", "T", "d_model")
        return x, PositionsCache(x.shape)

    def at(self, x: Array, position: int) -> Array:
        return x

    def backward(self, dy: Array, cache: PositionsCache) -> Array:
        check_cache(self, cache, PositionsCache)
        check_shape("RotaryPositions: dy", dy, *cache.shape)
        return dy
