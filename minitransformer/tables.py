"""Settings: what each means, which values it may have; and HTML tables of them for a run's report and for notebooks."""

from dataclasses import MISSING, field, fields
from html import escape
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


def table(rows, header=()) -> str:
    """Rows of cells, each shown as text, below the column names in `header`, if given."""
    lines = ["".join(f"<th>{escape(str(name))}</th>" for name in header)] if header else []
    lines += ["".join(f"<td>{escape(_as_text(cell))}</td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>\n" for line in lines) + "</table>"


def settings_tables(settings) -> str:
    """A table for each part of RunSettings.as_dict(): the task, the model, training, and then all other settings."""
    parts = {name: part for name, part in settings.items() if isinstance(part, dict)}
    parts["other"] = {name: part for name, part in settings.items() if not isinstance(part, dict)}
    return "\n".join(f"<h3>{escape(name)}</h3>\n" + table((key.replace("_", " "), value) for key, value in part.items())
                     for name, part in parts.items())


class ShownAsTable:
    """A dataclass that a notebook shows as a table of its fields."""

    def _repr_html_(self) -> str:
        rows = [(field.name, getattr(self, field.name)) for field in fields(self)]    # type: ignore[arg-type]    # subclasses are dataclasses
        return f"<b>{escape(type(self).__name__)}</b>\n{table(rows)}"


def _as_text(cell) -> str:
    """The text of a cell; a list, such as one of files, has one item per line."""
    if isinstance(cell, dict):
        return "\n".join(f"{name}: {value}" for name, value in cell.items())
    return "\n".join(map(str, cell)) if isinstance(cell, list) else str(cell)
