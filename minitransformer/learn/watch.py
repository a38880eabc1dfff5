"""Check a file each time that it is saved."""

import time

POLL = 0.4    # seconds


def watch(find, check, sleep=time.sleep) -> None:
    """Call check(path) at once and at every save of the newest file that find() gives, until Ctrl-C."""
    seen = None
    try:
        while True:
            stamp = _stamp(find)
            if stamp and stamp != seen:
                seen = stamp
                check(stamp[0])
            sleep(POLL)
    except KeyboardInterrupt:
        return


def _stamp(find) -> tuple | None:
    """(path, time and size) of the newest file; None while an editor that saves has taken it away."""
    try:
        path = find()
        return path and (path, path.stat().st_mtime_ns, path.stat().st_size)
    except FileNotFoundError:
        return None
