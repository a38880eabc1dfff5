"""What a learner's process is refused: the course's own files, libraries that have the answers, and
other programs.

A refused import fails as if the library were not installed, and a refused file as if it could not
be read.
"""

import os
import signal
import sys
from os import stat  # by name: the learner's file may replace that of os
from pathlib import Path

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
PROGRAMS = (
    "subprocess.",
    "os.system",
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "os.fork",
    "ctypes.",
    "socket.connect",
    "os.kill",
    "fcntl.",
    "resource.prlimit",
)  # events; the last three reach the process that judges


class Forbidden(Exception):
    """The learner's code uses a file, a library or a program that is off limits."""


class _Import(Forbidden, ImportError):
    pass


class _Use(Forbidden, PermissionError):
    pass


def refuse(folders) -> None:
    """From now on, deny this process everything that has answers. This cannot be undone.

    folders: those that hold answers.
    """
    refused = {
        _identity(path) for folder in map(Path, folders) for path in (folder, *folder.rglob("*"))
    }

    def hook(event, arguments) -> None:
        if event == "import" and arguments[0].partition(".")[0] in LIBRARIES:
            raise _Import(_("it imports {name}").format(name=arguments[0]))
        if event.startswith(PROGRAMS):
            raise _Use(_("it calls {name}").format(name=event))
        if event == "open":
            try:
                identity = _identity(arguments[0])
            except (OSError, ValueError, TypeError):  # it is missing, or not a file
                return
            if identity in refused:
                raise _Use(_("it reads {name}").format(name=os.path.basename(arguments[0])))

    for name in [name for name in sys.modules if name.partition(".")[0] in LIBRARIES]:
        del sys.modules[name]  # importing it again is an event
    for module in (signal, sys.modules["_signal"]):
        vars(module).pop("pidfd_send_signal", None)  # which is none
    sys.addaudithook(hook)


def _identity(path) -> tuple[int, int]:
    """What identifies a file, whichever path, link or folder leads to it."""
    found = stat(path)
    return found.st_dev, found.st_ino
