"""Settings: fields of a dataclass that are options, too. What each means, and which values it may
have.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from typing import Any

from minitransformer.checks import check_fraction, check_integer
from minitransformer.errors import InputError, choices
from minitransformer.lookup import Table, find


def setting(meaning: str, default: Any = MISSING, choices: Any | None = None, **how: Any) -> Any:
    """A field of a dataclass that is an option of `train`, too: what it means, and the values to
    choose from, if it has them.

    They are a tuple, or a table to which others may add (lookup.py).
    """
    return field(default=default, metadata={"meaning": meaning, "choices": choices}, **how)


def check_settings(settings: Any, limits: Mapping[str, tuple[int, ...]]) -> None:
    """Raise InputError unless each field of a dataclass is within its limits, and one of its
    choices if it has them.

    limits: {name of a whole number: (the least,) or (the least, the most)}. A dropout rate is
    always below 1, a flag True or False.
    """
    for one in fields(settings):
        name, value, known, table = (
            one.name,
            getattr(settings, one.name),
            choices_of(one),
            one.metadata.get("choices"),
        )
        if value is None and one.default is None:
            continue
        if name in limits:
            check_integer(name, value, *limits[name])
        if name.endswith("dropout"):
            check_fraction(name, value)
        if one.type is bool and not isinstance(value, bool):
            raise InputError(f"{name} is {value!r}, expected True or False")
        if known and value not in known:
            raise InputError(f"{name} is {value!r}; {choices(str(value), known)}")
        if isinstance(table, Table):
            find(table, value)  # whoever uses the settings finds it in the table


def choices_of(one: Field) -> list[str]:
    """The values that a field of a dataclass may have; those of a table include what others add."""
    known = one.metadata.get("choices")
    return list(known or ())
