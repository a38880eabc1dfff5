"""The kinds of attention that a configuration can name: the paper's, and others that are added to the table."""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from minitransformer.backend import Array, Generator
from minitransformer.errors import InputError, choices
from minitransformer.functional import causal_mask, padding_mask
from minitransformer.layers.attention import CrossAttention, SelfAttention
from minitransformer.lookup import Table, find

if TYPE_CHECKING:
    from minitransformer.layers.config import StackConfig


class ScaledAttention:
    """The paper's kind. Another one is a subclass that says what it does differently."""

    description: ClassVar[str] = "the paper's"     # for the help
    settings: ClassVar[dict[str, str]] = {}        # {a setting that only this kind has: what it means, or "": no option}
    layers: ClassVar[tuple[type[SelfAttention], type[CrossAttention]]] = SelfAttention, CrossAttention

    @classmethod
    def check(cls, config: "StackConfig") -> None:
        """Raise InputError for a StackConfig that this kind cannot use."""

    @classmethod
    def make_self(cls, config: "StackConfig", rng: Generator | None, causal: bool) -> SelfAttention:
        """The self-attention that a StackConfig asks for; `causal`: whether no position may look ahead."""
        return cls.layers[0](config.d_model, config.num_heads, rng, config.d_k, config.d_v, config.attention_dropout)

    @classmethod
    def make_cross(cls, config: "StackConfig", rng: Generator | None) -> CrossAttention:
        return cls.layers[1](config.d_model, config.num_heads, rng, config.d_k, config.d_v, config.attention_dropout)

    @classmethod
    def causal_self_mask(cls, ids: Array) -> np.ndarray:
        """(B, 1, T, T) for ids (B, T): position t may attend to the real tokens up to t."""
        return causal_mask(ids) & padding_mask(ids)


ATTENTIONS = Table("attention", {"scaled": ScaledAttention})


def check_attention(config: "StackConfig") -> None:
    """Raise InputError for a StackConfig with an unknown attention, or with settings that its attention does not have."""
    kind = find(ATTENTIONS, config.attention)
    for name, value in config.attention_settings.items():
        if name in kind.settings:
            continue
        owners = [other for other, one in ATTENTIONS.items() if name in one.settings]
        if not owners:
            raise InputError(f"{type(config).__name__} has no field {name!r}; {choices(name, vars(config))}")
        raise InputError(f"{name} is {value!r}, but only {' and '.join(owners)} attention has one, and attention is "
                         f"{config.attention}")
    kind.check(config)
