"""What the configurations of the recurrent and the convolutional encoder-decoder have in common."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

from minitransformer.checks import is_real, is_whole
from minitransformer.errors import InputError, choices
from minitransformer.models.transformer import check_sharing
from minitransformer.tables import ShownAsTable

Config = TypeVar("Config", bound="RivalConfig")


@dataclass(frozen=True, kw_only=True)
class RivalConfig(ShownAsTable):
    kind: ClassVar[str]                  # for messages
    known: ClassVar[dict[str, dict[str, Any]]]    # the named configurations
    whole: ClassVar[tuple[str, ...]] = ("num_layers", "d_model")    # the fields that are whole numbers

    source_vocab: int                    # number of source tokens
    target_vocab: int                    # number of target tokens
    num_layers: int = 1                  # of the encoder, and of the decoder
    d_model: int = 64                    # width of embeddings and hidden states
    dropout: float = 0.0
    share_embeddings: bool = True        # source embedding = target embedding
    share_output: bool = True            # target embedding = pre-softmax linear

    def __post_init__(self) -> None:
        for name in (*self.whole, *self.sizes()):
            if not is_whole(getattr(self, name), 1):
                raise InputError(f"{name} is {getattr(self, name)!r}, expected a whole number of at least 1")
        if not (is_real(self.dropout) and 0 <= self.dropout < 1):
            raise InputError(f"dropout is {self.dropout!r}, expected a dropout rate of at least 0 and below 1")
        for one in fields(self):
            if one.type is bool and not isinstance(getattr(self, one.name), bool):
                raise InputError(f"{one.name} is {getattr(self, one.name)!r}, expected True or False")
        check_sharing(self)

    def sizes(self) -> list[str]:
        """The names of the whole numbers that the vocabulary decides."""
        return ["source_vocab", "target_vocab"]

    @classmethod
    def named(cls: type[Config], name, vocab_size, **changes) -> Config:
        """The configuration called `name`, for a vocabulary shared by source and target, with `changes`."""
        if not isinstance(name, str) or name not in cls.known:
            raise InputError(f"unknown configuration {name!r} of a {cls.kind} model; {choices(str(name), cls.known)}")
        return cls(**{**cls.known[name], "source_vocab": vocab_size, "target_vocab": vocab_size, **changes})

    @classmethod
    def check_changes(cls, name, **changes) -> None:
        """Raise InputError where `named` would, whatever the vocabulary is."""
        cls.named(name, 1, **changes)
