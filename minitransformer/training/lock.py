"""One trainer at a time: a lock on the run folder."""

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from minitransformer.errors import InputError

FILE = "train.lock"


@contextmanager
def only_trainer(folder) -> Iterator[None]:
    """Raises InputError where another process is inside; the lock ends with its process, whatever becomes of the file."""
    lock = FileLock(folder / FILE)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise InputError(f"{folder}: another process is training this run; let it end, or stop it first") from None
    except (OSError, NotImplementedError):    # a file system without locks, or one that cannot be written: that is said later
        pass
    try:
        yield
    finally:
        lock.release()
