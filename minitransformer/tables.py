"""Settings: fields of a dataclass that are options, too. What each means, and which values of a tuple or a table it may have."""

from dataclasses import MISSING, field, fields
from typing import Any

from minitransformer.errors import InputError, choices
from minitransformer.lookup import find, names


def setting(meaning, default=MISSING, choices=None, **how) -> Any:
    """A field of a dataclass that is an option of `train`, too: what it means, and the values to choose from, if it has them.

    They are a tuple, or a table to which others may add (lookup.py).
    """
    return field(default=default, metadata={"meaning": meaning, "choices": choices}, **how)


def check_choices(settings) -> None:
    """Raise InputError if a `setting` of a dataclass is not one of its choices."""
    for one in fields(settings):
        value, known, table = getattr(settings, one.name), choices_of(one), one.metadata.get("choices")
        if known and value not in known:
            raise InputError(f"{one.name} is {value!r}; {choices(str(value), known)}")
        if isinstance(table, dict):
            find(table, one.name, value)    # whoever uses the settings finds it in the table


def choices_of(one) -> list[str]:
    """The values that a field of a dataclass may have; those of a table include what others add."""
    known = one.metadata.get("choices")
    return names(known, one.name) if isinstance(known, dict) else list(known or ())
