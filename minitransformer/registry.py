"""A registry finds things of one kind, each in its own file, by name."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, TypeVar

from minitransformer.errors import InputError, choices

Kind = TypeVar("Kind", bound=Callable)    # a decorated class or function keeps its type
PACKAGES: dict[str, list[str]] = {}    # {kind: the packages whose modules register such things}


class Registry:
    """All things of one kind, such as models or tasks: {name: class}.

    What is not registered yet is looked for in the PACKAGES that minitransformer/__init__.py names, so a new class only
    needs a new file there. Register your own classes elsewhere with the same decorator:

        @MODELS.register("my-model")
        class MyModel(Layer): ...
    """

    def __init__(self, kind, variable):
        self.kind, self.variable = kind, variable
        self._registered, self._loaded = {}, False

    def register(self, name) -> Callable[[Kind], Kind]:
        """A decorator, which also gives the class its `name`."""
        def add(made: Kind) -> Kind:
            made.name = name    # type: ignore[attr-defined]
            self._registered[name] = made
            return made
        return add

    def __getitem__(self, name) -> Any:
        """The thing called `name`. Raises InputError if there is no such thing."""
        if not isinstance(name, str) or (name not in self._registered and name not in self._all()):
            raise InputError(f"unknown {self.kind} {name!r}; {choices(str(name), list(self))}")
        return self._registered[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))    # independent of the order of imports

    def name_of(self, thing) -> str:
        """The name under which the class of `thing` is registered. Raises InputError if it is not registered."""
        kind = type(thing)
        if kind.__module__ == "builtins" or isinstance(thing, type):    # None, a name, a class
            raise InputError(f"{self.kind} is {thing!r:.60}, expected an object of a registered class: {', '.join(self)}")
        named = self._all().get(getattr(kind, "name", ""))
        if named is not kind and named and "name" in vars(kind):    # it was registered itself, unlike a subclass
            raise InputError(f"another class is now registered as the {self.kind} {kind.name}, as when a notebook's cell runs again"
                             f"; make this {kind.__name__} again, too")
        if named is not kind:
            raise InputError(f"{kind.__name__} is not registered, so a run folder with it could not be opened again; "
                             f"put @{self.variable}.register(\"a-name\") above the class")
        return kind.name

    def _all(self) -> dict[str, Any]:
        if not self._loaded:
            for package in map(import_module, PACKAGES.get(self.kind, [])):
                for module in walk_packages(package.__path__, f"{package.__name__}."):
                    import_module(module.name)
            self._loaded = True
        return self._registered
