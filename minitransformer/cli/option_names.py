"""How an error message names an option."""

from collections.abc import Iterator
from contextlib import contextmanager

from minitransformer.errors import InputError


@contextmanager
def options_named_as_typed(args) -> Iterator[None]:
    """An error message that begins with the name of a setting, rate_factor, now begins with its option: --rate-factor."""
    try:
        yield
    except InputError as error:
        setting, _, rest = str(error).partition(" ")
        raise InputError(f"--{setting.replace('_', '-')} {rest}" if setting in vars(args) else str(error)) from None
