"""Choices by name, such as the kinds of attention: one table for each.

The library's choices stand where the table is made; the zoo's stand in zoo/__init__.py, which the
library reaches only from here, for a name that it does not have itself.
"""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

from minitransformer.errors import InputError, choices


class Table(MutableMapping[str, Any]):
    """The choices of one kind by name, to which anyone may add: `ATTENTIONS["mine"] = Mine`.

    The zoo's choices of that kind are in it, too. Each is imported when it is looked up; `loaded`
    has those that need no import any more.
    """

    def __init__(self, kind: str, own: dict[str, Any]):
        self.kind = kind
        self.loaded = dict(own)

    def __getitem__(self, name: str) -> Any:
        if name not in self.loaded:
            self.loaded[name] = imported(of_the_zoo(self.kind)[name])
        return self.loaded[name]

    def __setitem__(self, name: str, choice: Any) -> None:
        self.loaded[name] = choice

    def __delitem__(self, name: str) -> None:
        del self.loaded[name]

    def clear(self) -> None:
        """Remove all choices but the zoo's, which are only looked up."""
        self.loaded.clear()

    def __contains__(self, name: object) -> bool:
        return name in self.loaded or name in of_the_zoo(self.kind)

    def __iter__(self) -> Iterator[str]:
        yield from sorted({*self.loaded, *of_the_zoo(self.kind)})

    def __len__(self) -> int:
        return len(list(iter(self)))


def of_the_zoo(kind: str) -> dict[str, str]:
    """{name: where it is} of the zoo's choices of one kind."""
    return imported("zoo:CHOICES").get(kind, {})


def imported(place: str) -> Any:
    """What "module:attribute" of this package names."""
    module, attribute = place.split(":")
    return getattr(import_module("minitransformer." + module), attribute)


def find(table: Table, name: Any) -> Any:
    """table[name]. Raises InputError if there is no such choice."""
    if not isinstance(name, str) or name not in table:
        raise InputError(f"unknown {table.kind} {name!r}; {choices(str(name), list(table))}")
    return table[name]


def name_of(table: Table, thing: Any, variable: str) -> str:
    """The name of the class of `thing` in the table called `variable`. Raises InputError if it has
    none.
    """
    own = type(thing)
    if own.__module__ == "builtins" or isinstance(thing, type):  # None, a name, a class
        raise InputError(
            f"{table.kind} is {thing!r:.60}, expected an object of a registered class: {', '.join(table)}"
        )
    for names in table.loaded, table:  # those that need an import come last
        for name in list(names):
            if table[name] is own:
                return name
    for name, known in table.items():
        if (known.__module__, known.__qualname__) == (own.__module__, own.__qualname__):
            raise InputError(
                f"another class is now registered as the {table.kind} {name}, as when a notebook's cell runs again; "
                f"make this {own.__name__} again, too"
            )
    raise InputError(
        f"{own.__name__} is not registered, so a run folder with it could not be opened again; "
        f'add it to the table: {variable}["a-name"] = {own.__name__}'
    )
