"""What a learner's process is refused: libraries that have the answers.

A refused import fails as if the library were not installed. It is a mistake that is told, not a
wall: what contains a submission is bubblewrap, where that runs (limits.py).
"""

import sys

from minitransformer_course.messages import _

LIBRARIES = {
    "minitransformer",
    "minitransformer_course",
    "tutorials",
    "torch",
    "jax",
    "tensorflow",
    "scipy",
    "sacrebleu",
    "nltk",
}


class Forbidden(Exception):
    """The learner's code uses a library that is off limits."""


class _Import(Forbidden, ImportError):
    pass


class _Refusing:
    """The first that Python asks for a module."""

    @staticmethod
    def find_spec(name, path=None, target=None) -> None:
        if name.partition(".")[0] in LIBRARIES:
            raise _Import(_("it imports {name}").format(name=name))


def refuse() -> None:
    """From now on, this process imports nothing that has answers."""
    for name in [name for name in sys.modules if name.partition(".")[0] in LIBRARIES]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Refusing())
