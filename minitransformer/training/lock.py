"""One trainer at a time: a lock on the run folder."""

import os
from contextlib import contextmanager

from minitransformer.errors import InputError


@contextmanager
def only_trainer(folder):
    """Raises InputError where another process is inside; the lock ends with its process (Windows has no such lock)."""
    if os.name == "nt":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{folder}: another process is training this run; let it end, or stop it first") from None
        except OSError:
            pass    # a file system without locks
        yield
    finally:
        os.close(descriptor)
