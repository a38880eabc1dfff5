"""Check a file each time that it is saved."""

import time

POLL = 0.4    # seconds


def watch(find, check, sleep=time.sleep):
    """Call check(path) at once and at every save of the newest file that find() gives, until Ctrl-C."""
    seen = None
    while True:
        path = find()
        stamp = path and (path, path.stat().st_mtime_ns, path.stat().st_size)
        if stamp and stamp != seen:
            seen = stamp
            check(path)
        try:
            sleep(POLL)
        except KeyboardInterrupt:
            return
