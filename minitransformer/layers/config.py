"""The sizes and choices of a stack of layers, and named configurations: the paper's, and some for a laptop."""

from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, TypeVar

from minitransformer.checks import MOST, check_fraction
from minitransformer.data.special import SPECIAL
from minitransformer.errors import InputError, choices
from minitransformer.functional.activations import ACTIVATIONS
from minitransformer.layers.attention_kinds import check_attention
from minitransformer.layers.layer_norm import NORMS
from minitransformer.layers.positions import POSITIONS
from minitransformer.tables import check_settings, setting

NAMED = {
    # From the paper, table 3.
    "base": dict(num_layers=6, d_model=512, num_heads=8, d_ff=2048, dropout=0.1),
    "big": dict(num_layers=6, d_model=1024, num_heads=16, d_ff=4096, dropout=0.3),
    # For a laptop: small corpora, and toy tasks.
    "small": dict(num_layers=3, d_model=256, num_heads=8, d_ff=1024, dropout=0.1),
    "tiny": dict(num_layers=4, d_model=128, num_heads=4, d_ff=256, dropout=0.1),
    "toy": dict(num_layers=2, d_model=64, num_heads=4, d_ff=256, dropout=0.0),
}

MOST_LAYERS = 10_000
SMALLEST = len(SPECIAL)    # vocabulary

Config = TypeVar("Config", bound="ModelConfig")    # a model's configuration class


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The sizes and choices of a model, checked: every whole number is at least 1, and every dropout rate below 1."""

    kind: ClassVar[str] = ""                                     # what the models are called in messages
    examples: ClassVar[dict[str, dict[str, Any]]] = NAMED        # {name: sizes} of the named configurations

    def __post_init__(self) -> None:
        sizes = [one.name for one in fields(self) if one.type in (int, int | None)]
        check_settings(self, {**dict.fromkeys(sizes, (1, MOST)), "num_layers": (1, MOST_LAYERS)})

    @classmethod
    def required(cls) -> list[str]:
        """The names of the fields without a default: sizes that follow from the task and its vocabulary."""
        return [one.name for one in fields(cls) if one.default is MISSING and one.default_factory is MISSING]

    @classmethod
    def named(cls: type[Config], name: str, **sizes: Any) -> Config:
        """The configuration called `name`, with `sizes` replacing its fields or adding to them."""
        if not isinstance(name, str) or name not in cls.examples:
            of = f" of a {cls.kind} model" if cls.kind else ""
            raise InputError(f"unknown configuration {name!r}{of}; {choices(str(name), cls.examples)}")
        return cls(**cls.field_values({**cls.examples[name], **sizes}))

    @classmethod
    def field_values(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments for the fields, from those that `named` got. Raises InputError for an unknown one."""
        known = [one.name for one in fields(cls)]
        for name in settings:
            if name not in known:
                raise InputError(f"{cls.__name__} has no field {name!r}; {choices(name, known)}")
        return settings

    @classmethod
    def smallest(cls: type[Config], name: str, **changes: Any) -> Config:
        """`named` for the smallest vocabulary. Raises InputError if `named` would, whatever the vocabulary is."""
        return cls.named(name, **{**dict.fromkeys(["vocab_size", *cls.required()], SMALLEST), **changes})


@dataclass(frozen=True, kw_only=True)
class StackConfig(ModelConfig):
    """What encoders and decoders are made of; the defaults are the paper's base model.

    `dropout` applies in the paper's places (after each sub-layer, and on the sum of embeddings and positions unless
    `embedding_dropout` is given); in the other two places, on the attention weights and inside the
    feed-forward network, dropout is off by default. Models add further fields (models/).
    """

    num_layers: int = setting("layers of each stack", 6)
    d_model: int = setting("width of the model", 512)
    num_heads: int = setting("attention heads", 8)
    d_ff: int = setting("width of the feed-forward networks", 2048)
    d_k: int | None = setting("width of a head's queries and keys; if not given, d_model / heads", None)
    d_v: int | None = None               # width of a head's values; None: the same (d_k if that is not a whole number)
    dropout: float = setting("dropout rate after each sub-layer and on the embeddings", 0.1)
    embedding_dropout: float | None = setting("dropout rate on the embeddings; if not given, that of `dropout`", None)
    attention_dropout: float = setting("dropout rate on the attention weights", 0.0)
    feed_forward_dropout: float = setting("dropout rate inside the feed-forward networks", 0.0)
    activation: str = setting("activation of the feed-forward networks", "relu", ACTIVATIONS)
    pre_norm: bool = setting("LayerNorm before each sub-layer (in the paper it comes after)", False)
    norm: str = setting("how hidden states are normalised", "layer", NORMS)
    norm_epsilon: float = 1e-5           # added to the variance
    positions: str = setting("how the model knows each token's position", "sinusoidal", POSITIONS)
    max_length: int = 512                # number of learned positions; not the longest sentence in training
    attention: str = "scaled"            # the paper's; or another name in ATTENTIONS
    attention_settings: dict = field(default_factory=dict, hash=False)    # settings that only that kind of attention has

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fraction("norm_epsilon", self.norm_epsilon)
        if not isinstance(self.attention_settings, dict):
            raise InputError(f"attention_settings is {self.attention_settings!r}, expected a dict")
        check_attention(self)
        if POSITIONS[self.positions].attention not in (None, self.attention):
            raise InputError(f"attention is {self.attention}, but {self.positions} positions need "
                             f"{POSITIONS[self.positions].attention} attention")

    @classmethod
    def field_values(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Settings of a kind of attention may stand beside `attention`, by default the kind that the positions need."""
        known = {one.name for one in fields(cls)}
        further = {name: value for name, value in settings.items() if name not in known and value is not None}
        settings = {name: value for name, value in settings.items() if name in known}
        positions = settings.get("positions")
        needed = POSITIONS[positions].attention if isinstance(positions, str) and positions in POSITIONS else None
        if needed:
            settings = {"attention": needed, **settings}
        if further:
            settings["attention_settings"] = {**settings.get("attention_settings", {}), **further}
        return settings

    @property
    def input_dropout(self) -> float:
        """The dropout rate on the sum of embeddings and positions."""
        return self.dropout if self.embedding_dropout is None else self.embedding_dropout
