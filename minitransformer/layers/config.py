"""The sizes and choices of a stack of layers, and named configurations: the paper's, and some for a laptop."""

from dataclasses import dataclass, fields
from typing import TypeVar

from minitransformer.checks import is_real, is_whole
from minitransformer.errors import InputError, choices
from minitransformer.tables import ShownAsTable

NAMED = {
    # From the paper, table 3.
    "base": dict(num_layers=6, d_model=512, num_heads=8, d_ff=2048, dropout=0.1),
    "big": dict(num_layers=6, d_model=1024, num_heads=16, d_ff=4096, dropout=0.3),
    # For a laptop: small corpora, and toy tasks.
    "small": dict(num_layers=3, d_model=256, num_heads=8, d_ff=1024, dropout=0.1),
    "tiny": dict(num_layers=4, d_model=128, num_heads=4, d_ff=256, dropout=0.1),
    "toy": dict(num_layers=2, d_model=64, num_heads=4, d_ff=256, dropout=0.0),
}

ATTENTIONS = ("scaled", "unscaled", "additive", "restricted")

Config = TypeVar("Config", bound="StackConfig")    # a model's configuration class


@dataclass(frozen=True, kw_only=True)
class StackConfig(ShownAsTable):
    """What encoders and decoders are made of; the defaults are the paper's base model.

    `dropout` applies in the paper's places (after each sub-layer, and on the sum of embeddings and positions unless
    `embedding_dropout` is given); in the other two places, on the attention weights and inside the
    feed-forward network, dropout is off by default. Models add further fields (models/).
    """

    num_layers: int = 6                  # of each stack
    d_model: int = 512
    num_heads: int = 8
    d_ff: int = 2048
    d_k: int | None = None               # width of a head's queries and keys; None: d_model / num_heads
    d_v: int | None = None               # width of a head's values; None: the same (d_k if that is not a whole number)
    dropout: float = 0.1
    embedding_dropout: float | None = None    # None: the same as `dropout`
    attention_dropout: float = 0.0
    feed_forward_dropout: float = 0.0
    activation: str = "relu"             # or "gelu"
    pre_norm: bool = False               # False: post-norm, as in the paper
    positions: str = "sinusoidal"        # or "learned"
    max_length: int = 512                # number of learned positions; not the longest sentence in training
    attention: str = "scaled"            # the paper's; or "unscaled", "additive", or "restricted" self-attention
    radius: int | None = None            # of restricted self-attention: how far away a position may look

    def __post_init__(self) -> None:
        whole = ["num_layers", "d_model", "num_heads", "d_ff", "max_length", *self.sizes(),
                 *(name for name in ("d_k", "d_v") if getattr(self, name) is not None)]
        for name in whole:
            value = getattr(self, name)
            if not is_whole(value, 1):
                raise InputError(f"{name} is {value!r}, expected a whole number of at least 1")
        for name in ("dropout", "embedding_dropout", "attention_dropout", "feed_forward_dropout"):
            value = getattr(self, name)
            if value is not None and not (is_real(value) and 0 <= value < 1):
                raise InputError(f"{name} is {value!r}, expected a dropout rate of at least 0 and below 1")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is bool and not isinstance(value, bool):
                raise InputError(f"{field.name} is {value!r}, expected True or False")
        if self.positions not in ("sinusoidal", "learned"):
            raise InputError(f"unknown positions {self.positions!r}; choose sinusoidal or learned")
        self._check_attention()

    def _check_attention(self) -> None:
        if self.attention not in ATTENTIONS:
            raise InputError(f"unknown attention {self.attention!r}; {choices(self.attention, ATTENTIONS)}")
        if self.attention == "restricted" and not is_whole(self.radius, 0):
            raise InputError(f"radius is {self.radius!r}, expected a whole number of at least 0: how far away a position of "
                             "restricted attention may look")
        if self.attention != "restricted" and self.radius is not None:
            raise InputError(f"radius is {self.radius!r}, but only restricted attention has one, and attention is {self.attention}")
        if self.attention in ("additive", "unscaled") and self.attention_dropout:
            raise InputError(f"attention_dropout is {self.attention_dropout}, but {self.attention} attention has no dropout on its "
                             "weights: leave it 0")

    def sizes(self) -> list[str]:
        """The names of the whole-number fields that a model's configuration adds."""
        return []

    @property
    def input_dropout(self) -> float:
        """The dropout rate on the sum of embeddings and positions."""
        return self.dropout if self.embedding_dropout is None else self.embedding_dropout

    @classmethod
    def check_changes(cls, name, **changes) -> None:
        """Raise InputError where `named` would, whatever the vocabulary is."""
        StackConfig.named(name, **changes)

    @classmethod
    def named(cls: type[Config], name, **sizes) -> Config:
        """The configuration called `name`, with `sizes` replacing its fields or adding to them."""
        if not isinstance(name, str) or name not in NAMED:
            raise InputError(f"unknown configuration {name!r}; {choices(str(name), NAMED)}")
        return cls(**{**NAMED[name], **sizes})
