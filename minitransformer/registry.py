"""Registries find things of one kind by name, each in its own file."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from minitransformer.errors import InputError, choices

Kind = TypeVar("Kind", bound=type)    # a decorated class keeps its type


class Registry:
    """All models, tasks or vocabularies: {name: class}.

    When the registry is first read, every module of `package` is imported and registers its classes; a new class only
    needs a new file in that folder. Register your own classes elsewhere with the same decorator:

        @MODELS.register("my-model")
        class MyModel(Layer): ...
    """

    def __init__(self, kind, package, variable):
        self.kind, self.package, self.variable = kind, package, variable
        self._classes, self._loaded = {}, False

    def register(self, name) -> Callable[[Kind], Kind]:
        """A class decorator, which also gives the class its `name`."""
        def add(made: Kind) -> Kind:
            made.name = name    # type: ignore[attr-defined]
            self._classes[name] = made
            return made
        return add

    def __getitem__(self, name) -> Any:
        """The class called `name`. Raises InputError if there is no such class."""
        if name not in self._all():
            raise InputError(f"unknown {self.kind} {name!r}; {choices(str(name), list(self))}")
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))    # independent of the order of imports

    def name_of(self, thing) -> str:
        """The name under which the class of `thing` is registered. Raises InputError if it is not registered."""
        kind = type(thing)
        if kind.__module__ == "builtins":    # None, a name, a class
            raise InputError(f"{self.kind} is {thing!r:.60}, expected an object of a registered class: {', '.join(self)}")
        if self._all().get(getattr(kind, "name", "")) is not kind:
            raise InputError(f"{kind.__name__} is not registered, so a run folder with it could not be opened again; "
                             f"put @{self.variable}.register(\"a-name\") above the class")
        return kind.name

    def _all(self) -> dict[str, type]:
        if not self._loaded:
            package = import_module(self.package)
            for module in iter_modules(package.__path__, f"{package.__name__}."):
                import_module(module.name)
            self._loaded = True
        return self._classes
