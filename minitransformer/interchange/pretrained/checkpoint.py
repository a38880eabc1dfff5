"""What is read from a pretrained model's files, whatever their format: options, arrays, vocabulary and licence."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from minitransformer.errors import InputError


class Tensor(NamedTuple):
    """Where a parameter here comes from."""

    ours: str
    theirs: str                 # without the prefix that all names of the architecture may have
    shape: tuple                # theirs
    transposed: bool = False    # theirs is (d_out, d_in)
    part: int | None = None     # which third of its columns: theirs is query, key and value side by side
    of_tokens: bool = False     # a row for each token


class Arrays(Mapping):
    """{name: array}, each read when it is asked for; and their shapes, which are known before."""

    def shape_of(self, name) -> tuple[int, ...]:
        raise NotImplementedError


class Checkpoint(NamedTuple):
    architecture: str
    options: "Options"
    arrays: Any                 # Arrays, by the names that Hugging Face gives them
    vocabulary: dict            # the arguments of PretrainedVocabulary.arrange
    licence: str | None         # its name, such as apache-2.0
    licence_text: str


class Options:
    """The options of a pretrained model. Each must be understood, because one that is overlooked may change the mathematics."""

    def __init__(self, values, where):
        self._values, self._where = dict(values), where

    def take(self, name, *default) -> Any:
        """The value of an option. Raises InputError if it is missing and has no default."""
        if name not in self._values and not default:
            raise InputError(f"{self._where}: {name} is missing")
        value = self._values.pop(name, *default)
        return default[0] if value is None and default else value

    def one_of(self, name, known, default) -> Any:
        """The value of an option. Raises InputError for one that is not in `known`."""
        value = self.take(name, default)
        if value not in list(known):
            raise InputError(f"{self._where}: {name} is {value!r}, expected {' or '.join(map(repr, known))}: "
                             "anything else is not supported, and would change the results")
        return value

    def leave_out(self, *names) -> None:
        """Options that do not change what the model computes."""
        for name in names:
            self._values.pop(name, None)

    def finish(self) -> None:
        """Raise InputError if an option is left that nobody has asked for."""
        for name, value in self._values.items():
            raise InputError(f"{self._where}: the option {name} ({value!r:.60}) is not known here, and may change the results")
