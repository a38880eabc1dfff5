"""The kinds of attention that have no dropout on their weights."""

from typing import ClassVar

from minitransformer.errors import InputError
from minitransformer.layers.attention import CrossAttention, SelfAttention
from minitransformer.layers.attention_kinds import ScaledAttention


class WithoutDropout(ScaledAttention):
    """A subclass names its two layers."""

    kinds: ClassVar[tuple[type[SelfAttention], type[CrossAttention]]]

    @classmethod
    def check(cls, config) -> None:
        if config.attention_dropout:
            raise InputError(f"attention_dropout is {config.attention_dropout}, but {cls.name} attention has no dropout on its "
                             "weights: leave it 0")

    @classmethod
    def make_self(cls, config, rng, causal) -> SelfAttention:
        return cls.kinds[0](config.d_model, config.num_heads, rng, config.d_k, config.d_v)

    @classmethod
    def make_cross(cls, config, rng) -> CrossAttention:
        return cls.kinds[1](config.d_model, config.num_heads, rng, config.d_k, config.d_v)
