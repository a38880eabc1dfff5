"""Training progress: a bar in a terminal or a notebook, an occasional plain line in a log file."""

import sys
import time
import warnings
from contextlib import nullcontext
from typing import Any

from tqdm import tqdm

from minitransformer.stderr import stderr

BAR = "{percentage:3.0f}% |{bar:10}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
LINE_EVERY = 60  # seconds


def make_progress(total: int, step: int) -> Any:
    """A context manager that shows the progress over `total` steps: update(), show(text),
    write(text).
    """
    in_notebook = "ipykernel" in sys.modules
    if not in_notebook and not stderr.isatty():
        return nullcontext(Lines(total, step))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a missing ipywidgets
        # in a notebook its widget, or text if ipywidgets is not installed
        from tqdm.auto import tqdm as suitable

    class Bar(suitable):
        show = suitable.set_postfix_str

        def write(self, text: str) -> None:
            super().write(text, file=file)

    file = sys.stdout if in_notebook else stderr  # a notebook shows standard error in red
    return Bar(total=total, initial=step, bar_format=BAR, dynamic_ncols=True, file=file)


def brief_bar(total: int, unit: str) -> tqdm:
    """A bar in a terminal that is gone when the work is done."""
    return tqdm(total=total, unit=unit, leave=False, disable=None)


class Lines:
    """A line for the first text that is shown, one for each tenth of the steps, and at least one
    every LINE_EVERY seconds.
    """

    def __init__(self, total: int, step: int):
        self._total, self._step, self._first, self._since = total, step, step, time.monotonic()
        self._next, self._tenth = 0.0, -1

    def update(self) -> None:
        self._step += 1

    def show(self, text: str) -> None:
        now, tenth = time.monotonic(), 10 * self._step // self._total
        if (
            now >= self._next or tenth > self._tenth
        ) and self._step < self._total:  # the validation says how the last step ended
            self._next, self._tenth = now + LINE_EVERY, tenth
            left = (
                (now - self._since) / max(1, self._step - self._first) * (self._total - self._step)
            )
            self.write(
                f"step {self._step} of {self._total}: {text}, {tqdm.format_interval(left)} left"
            )

    def write(self, text: str) -> None:
        print(text, file=stderr, flush=True)
