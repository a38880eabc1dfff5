"""The one error for input that cannot be used, and what helps to word it."""


class InputError(ValueError):
    """Something given by the user is wrong; the message says what, and what would be right.

    The command line prints it as one line and exits with 2.
    """


def one_line(text):
    """`text` with line ends, control characters and broken UTF-8 as escapes, whatever a user typed into it."""
    return "".join(character if character.isprintable() else character.encode("unicode_escape").decode()
                   for character in str(text))


def choices(name, known):
    """The end of a message about the unknown `name`: the nearest of `known`, or all of them."""
    from difflib import get_close_matches    # here: a command is to be ready for Ctrl-C before slow imports

    nearest = get_close_matches(name, known, n=1, cutoff=0.7)
    return f"did you mean {nearest[0]}?" if nearest else f"choose from {', '.join(known)}"
