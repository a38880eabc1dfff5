"""One trainer at a time: a lock on the run folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from minitransformer.errors import InputError

FILE = "train.lock"


@contextmanager
def only_trainer(folder: Path) -> Iterator[None]:
    """Raises InputError if another process holds the lock; the lock ends with its process, even if
    the file stays.
    """
    lock = FileLock(folder / FILE)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise InputError(
            f"{folder}: another process is training this run; wait until it ends, or stop it first"
        ) from None
    except (OSError, NotImplementedError):
        # a file system without locks, or a read-only one, which is reported later
        pass
    try:
        yield
    finally:
        lock.release()
