"""The one error for input that cannot be used, and what helps to word it."""


class InputError(ValueError):
    """Something given by the user is wrong; the message says what, and what would be right.

    The command line prints it as one line and exits with 2.
    """


class FolderTaken(InputError):
    """A new run cannot have the folder: something is there already."""


class NonFiniteError(InputError):
    """A gradient holds NaN or infinity: nothing was updated, and the gradients are zero again."""


def one_line(text) -> str:
    """`text` with line ends, control characters and broken UTF-8 as escapes, whatever a user typed into it."""
    return "".join(character if character.isprintable() else character.encode("unicode_escape").decode()
                   for character in str(text))


def choices(name, known) -> str:
    """The end of a message about the unknown `name`: the nearest of `known`, or all of them."""
    nearest = nearest_of(name, known)
    return f"did you mean {nearest}?" if nearest else f"choose from {', '.join(known)}"


def nearest_of(name, known) -> str | None:
    """The one of `known` that the unknown `name` was probably meant to be, or None: --heads is --num-heads."""
    from difflib import get_close_matches    # here: a command is to be ready for Ctrl-C before slow imports

    core = name.strip("-")
    ends = [other for other in known if len(core) > 2 and other.endswith(f"-{core}")]
    return next(iter(ends or get_close_matches(name, known, n=1, cutoff=0.7)), None)
