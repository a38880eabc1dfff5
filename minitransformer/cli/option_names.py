"""How an error message names an option."""

from collections.abc import Iterator
from contextlib import contextmanager

from minitransformer.errors import InputError


@contextmanager
def options_named_as_typed(options) -> Iterator[None]:
    """An error message that begins with one of the names `options`, rate_factor, now begins with its option: --rate-factor."""
    try:
        yield
    except InputError as error:
        setting, _, rest = str(error).partition(" ")
        raise InputError(f"--{setting.replace('_', '-')} {rest}" if setting in options else str(error)) from None
