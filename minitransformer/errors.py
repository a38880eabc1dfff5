"""The one error for input that cannot be used, and what helps to word it."""


class InputError(ValueError):
    """Something given by the user is wrong; the message says what, and what would be right.

    The command line prints it as one line and exits with 2.
    """


def check_shape(name, array, *expected):
    """Raise InputError unless `array` has the `expected` shape.

    An int stands for an axis of that size, a string names an axis of any size, and a leading
    `...` stands for any number of axes: `check_shape("Linear: x", x, ..., 512)`.
    """
    wanted = ", ".join("..." if size is ... else str(size) for size in expected)
    if not hasattr(array, "shape"):
        raise InputError(f"{name} is a {type(array).__name__}, expected an array of shape ({wanted})")
    sizes = expected[1:] if expected[0] is ... else expected
    fits = array.ndim == len(sizes) or (expected[0] is ... and array.ndim > len(sizes))
    tail = array.shape[array.ndim - len(sizes):]
    if not fits or any(isinstance(size, int) and size != got for size, got in zip(sizes, tail)):
        raise InputError(f"{name} has shape {array.shape}, expected ({wanted})")


def one_line(text):
    """`text` with line ends, control characters and broken UTF-8 as escapes, whatever a user typed into it."""
    return "".join(character if character.isprintable() else character.encode("unicode_escape").decode()
                   for character in str(text))


def choices(name, known):
    """The end of a message about the unknown `name`: the nearest of `known`, or all of them."""
    from difflib import get_close_matches    # here: a command is to be ready for Ctrl-C before slow imports

    nearest = get_close_matches(name, known, n=1, cutoff=0.7)
    return f"did you mean {nearest[0]}?" if nearest else f"choose from {', '.join(known)}"
