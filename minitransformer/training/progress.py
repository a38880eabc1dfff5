"""Training progress: a bar in a terminal or a notebook, an occasional plain line in a log file."""

import sys
import time
import warnings

from minitransformer.training.stderr import stderr

BAR = "{percentage:3.0f}% |{bar:10}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
LINE_EVERY = 60    # seconds


def make_progress(total, step) -> "Bar | Lines":
    """A context manager that shows the progress over `total` steps: update(), show(text), write(text)."""
    in_notebook = "ipykernel" in sys.modules
    if in_notebook or stderr.isatty():
        return Bar(total, step, sys.stdout if in_notebook else stderr)    # a notebook shows standard error in red
    return Lines(total, step)


class Bar:
    """tqdm's bar: in a notebook its widget, or text if ipywidgets is not installed."""

    def __init__(self, total, step, file):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")    # about a missing ipywidgets
            from tqdm.auto import tqdm
        self._bar = tqdm(total=total, initial=step, bar_format=BAR, dynamic_ncols=True, file=file)
        self._file = file

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_) -> None:
        self._bar.close()

    def update(self) -> None:
        self._bar.update()

    def show(self, text) -> None:
        self._bar.set_postfix_str(text)

    def write(self, text) -> None:
        self._bar.write(text, file=self._file)


class Lines:
    """One line for the first text that is shown, then one every LINE_EVERY seconds."""

    def __init__(self, total, step):
        self._total, self._step, self._next = total, step, 0.0

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_) -> None:
        pass

    def update(self) -> None:
        self._step += 1

    def show(self, text) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + LINE_EVERY
            self.write(f"step {self._step} of {self._total}: {text}")

    def write(self, text) -> None:
        print(text, file=stderr, flush=True)
