"""Whether something else ran meanwhile: that does not slow all contestants alike.

Threads that share each operation wait for the slowest at its end. On a machine with a busy core PyTorch's
steps of the copy task were seen to take a hundred times as long, and ours twice.
"""

import os
import time
from pathlib import Path


class OtherWork:
    """From its making on, watches what the processes of the machine do that we have not started."""

    def __init__(self):
        self._start, self._others = time.perf_counter(), others_seconds()

    def cores(self) -> float | None:
        """How many cores they kept busy on average, so far; None where there is no /proc."""
        others = others_seconds()
        if others is None or self._others is None:
            return None
        return max(0.0, others - self._others) / (time.perf_counter() - self._start)


def others_seconds() -> float | None:
    """Seconds of computing since the machine's start, without ours and our ended children's; None without /proc."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _idle, _waiting, irq, softirq, steal = map(int, stat.read_text(encoding="utf-8").split()[1:9])
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return busy - sum(os.times()[:4])
