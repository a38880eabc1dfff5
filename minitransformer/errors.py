"""The error for unusable input, and helpers for wording its message."""

from collections.abc import Collection, Iterable

LINE = 1500  # characters of a message, at most


class InputError(ValueError):
    """The user's input is wrong; the message says what is wrong and what would be right.

    The command prints it as one line and exits with code 2.
    """


class NonFiniteError(InputError):
    """A gradient contains NaN or infinity: nothing was updated, and the gradients are reset to
    zero.
    """


def one_line(text: object) -> str:
    """`text` with line ends, control characters and broken UTF-8 escaped, whatever the user typed;
    the middle of a long one is left out.
    """
    line = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in str(text)
    )
    return line if len(line) <= LINE else f"{line[:1000]} ... {line[-400:]}"


def span(least: int, most: int) -> str:
    """The whole numbers from `least` to `most`."""
    return f"{least}" if least == most else f"{least} to {most:,}"


def counted(number: int, noun: str) -> str:
    """1 layer, 2 layers, 2 batches."""
    ending = "es" if noun.endswith(("s", "ch")) else "s"
    return f"{number:,} {noun}{'' if number == 1 else ending}"


def some(things: Iterable[str], most: int) -> str:
    """The first of `things`, at most so many, and how many more there are."""
    things = list(things)
    return ", ".join(things[:most]) + (
        f" and {len(things) - most} more" if len(things) > most else ""
    )


def choices(name: str, known: Collection[str]) -> str:
    """The end of a message about the unknown `name`: the nearest name in `known`, or all of them."""
    nearest = nearest_of(name, known)
    return f"did you mean {nearest}?" if nearest else f"choose from {', '.join(known)}"


def nearest_of(name: str, known: Collection[str]) -> str | None:
    """The name in `known` that was probably meant by the unknown `name`, or None: --heads means
    --num-heads.
    """
    from difflib import get_close_matches  # here: a command must handle Ctrl-C before slow imports

    core = name.strip("-")
    ends = [other for other in known if len(core) > 2 and other.endswith(f"-{core}")]
    return next(iter(ends or get_close_matches(name, known, n=1, cutoff=0.7)), None)
