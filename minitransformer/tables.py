"""Settings: what each means, which values it may have; and HTML tables of them for a run's report and for notebooks."""

from dataclasses import MISSING, field, fields
from html import escape
from inspect import Signature, signature
from typing import Any

from minitransformer.errors import InputError, choices


def setting(meaning, default=MISSING, choices=None, **how) -> Any:
    """A field of a dataclass that is an option of `train`, too: what it means, and the values to choose from, if it has them."""
    return field(default=default, metadata={"meaning": meaning, "choices": choices}, **how)


def check_choices(settings) -> None:
    """Raise InputError if a `setting` of a dataclass is not one of its choices."""
    for one in fields(settings):
        value, known = getattr(settings, one.name), one.metadata.get("choices")
        if known and value not in list(known):
            raise InputError(f"{one.name} is {value!r}; {choices(str(value), list(known))}")


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


class _Checked(type):
    """Checks the arguments before the dataclass is made, so that an unknown one is an InputError, not a TypeError."""

    @property
    def __signature__(cls) -> Signature:
        """What an editor shows: the arguments of the dataclass."""
        itself, *arguments = signature(vars(cls)["__init__"]).parameters.values()
        return Signature(arguments)

    def __call__(cls, *positional, **settings) -> Any:
        return super().__call__(*positional, **cls.field_values(settings))    # type: ignore[attr-defined]    # of ShownAsTable


class ShownAsTable(metaclass=_Checked):
    """A dataclass that a notebook shows as a table of its fields; an unknown one raises an error that says which was meant."""

    @classmethod
    def field_values(cls, settings) -> dict[str, Any]:
        """The keyword arguments for the fields, from those that the caller gave. Raises InputError for an unknown one."""
        known = [field.name for field in fields(cls)]    # type: ignore[arg-type]    # subclasses are dataclasses
        for name in settings:
            if name not in known:
                raise InputError(f"{cls.__name__} has no field {name!r}; {choices(name, known)}")
        return settings

    def _repr_html_(self) -> str:
        rows = [(field.name, getattr(self, field.name)) for field in fields(self)]    # type: ignore[arg-type]    # subclasses are dataclasses
        return f"<b>{escape(type(self).__name__)}</b>\n{table(rows)}"


def _as_text(cell) -> str:
    """The text of a cell; a list, such as one of files, has one item per line."""
    if isinstance(cell, dict):
        return "\n".join(f"{name}: {value}" for name, value in cell.items())
    return "\n".join(map(str, cell)) if isinstance(cell, list) else str(cell)
