"""Detect other programs that ran meanwhile: they do not slow all libraries equally.

Threads that share an operation wait at its end for the slowest of them. On a machine with one busy core, PyTorch's
steps of the copy task took a hundred times as long, and ours twice as long.
"""

import os
import time
from pathlib import Path


class OtherWork:
    """From its creation on, measures the work of all processes that we did not start."""

    def __init__(self):
        self._start, self._others = time.perf_counter(), others_seconds()

    def cores(self) -> float | None:
        """The number of cores they have kept busy on average; None without /proc."""
        others = others_seconds()
        if others is None or self._others is None:
            return None
        return max(0.0, others - self._others) / (time.perf_counter() - self._start)


def others_seconds() -> float | None:
    """Seconds of CPU time since the machine started, without ours and our finished children's; None without /proc."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _idle, _waiting, irq, softirq, steal = map(int, stat.read_text(encoding="utf-8").split()[1:9])
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return busy - sum(os.times()[:4])
