"""What is read from a pretrained model's files, whatever their format: options, arrays, vocabulary
and licence.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from minitransformer.checks import check_integer, check_kind
from minitransformer.errors import InputError
from minitransformer.interchange.weights import Arrays


class Tensor(NamedTuple):
    """Where a parameter here comes from."""

    ours: str
    theirs: str  # without the prefix that all names of the architecture may have
    shape: tuple  # theirs
    transposed: bool = False  # theirs is (d_out, d_in)
    # which third of its columns: theirs is query, key and value side by side
    part: int | None = None
    of_tokens: bool = False  # a row for each token


class PretrainedArrays(Arrays):
    """{its name in the file: array}, and their shapes, which need no reading."""

    def shape_of(self, name: str) -> tuple[int, ...]:
        raise NotImplementedError

    def find(self, theirs: str) -> str | None:
        """The name in the file of what Hugging Face calls `theirs`, with or without the
        architecture's prefix.
        """
        raise NotImplementedError


class Checkpoint(NamedTuple):
    architecture: ModuleType
    options: "Options"
    arrays: PretrainedArrays
    vocabulary: dict[str, Any]  # the arguments of PretrainedVocabulary.arrange, but the size
    licence: str | None  # its name, such as apache-2.0
    licence_text: str
    notes: list[str]  # what differs from the reference implementation, a line each


class Options:
    """The options of a pretrained model. One that may change the mathematics must be understood:
    its name matches `changing`.
    """

    def __init__(self, values: Mapping[str, Any], where: str | Path, changing: str = ""):
        self._values, self._where, self._changing = dict(values), where, changing

    def take(self, name: str, *default: Any) -> Any:
        """The value of an option. Raises InputError if it is missing and has no default."""
        if name not in self._values and not default:
            raise InputError(f"{self._where}: {name} is missing")
        value = self._values.pop(name, *default)
        return default[0] if value is None and default else value

    def whole(self, name: str, *default: Any) -> int:
        """A whole number of at least 1."""
        value = self.take(name, *default)
        check_integer(f"{self._where}: {name}", value)
        return value

    def number(self, name: str, *default: Any) -> float:
        """A number above 0."""
        value = self.take(name, *default)
        if type(value) not in (int, float) or not 0 < value <= sys.float_info.max:
            raise InputError(f"{self._where}: {name} is {value!r:.60}, expected a number above 0")
        return value

    def part(self, name: str) -> "Options":
        """The options within an option, which may be missing."""
        value = self.take(name, {})
        check_kind(isinstance(value, dict), f"{self._where}: {name}", value, "a dict")
        return Options(value, f"{self._where}: {name}")

    def one_of(self, name: str, known: Iterable[Any], *default: Any) -> Any:
        """The value of an option. Raises InputError for one that is not in `known`."""
        value = self.take(name, *default)
        if value not in list(known):
            raise InputError(
                f"{self._where}: {name} is {value!r}, expected {' or '.join(map(repr, known))}"
                + ": anything else is not supported, and would change the results" * bool(default)
            )
        return value

    def leave_out(self, *names: str) -> None:
        """Options that do not change what the model computes."""
        for name in names:
            self._values.pop(name, None)

    def finish(self) -> None:
        """Raise InputError if an option that may change the results is left, is not off, and was
        never asked for.
        """
        for name, value in self._values.items():
            if not value or not re.search(self._changing, name):
                continue
            raise InputError(
                f"{self._where}: the option {name} ({value!r:.60}) is not known here, and may change the results"
            )
