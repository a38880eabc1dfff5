"""What training writes: the log, checkpoints, snapshots and the trained weights. A full disk ends
it with one line that says what is kept.
"""

from collections.abc import Callable, Iterable

from minitransformer.errors import InputError
from minitransformer.runs import checkpoint
from minitransformer.runs.checkpoint import Checkpoint
from minitransformer.runs.config import TrainingConfig
from minitransformer.runs.log import FILE, Record, write_log
from minitransformer.runs.run import Run
from minitransformer.runs.snapshots import save_snapshot


class Writer:
    """Writes a run's files, if this is the main process: the others leave that to it."""

    def __init__(self, run: Run, is_main: bool):
        self.run = run
        self.is_main = is_main
        self.saved: int | None = None  # the step of the last checkpoint

    def new_log(self, records: Iterable[Record]) -> None:
        self._write(FILE, lambda: write_log(self.run.path, records, "w"))

    def log(self, record: Record) -> None:
        self._write(FILE, lambda: write_log(self.run.path, [record]))

    def checkpoint(self, made: Checkpoint, config: TrainingConfig) -> None:
        """Save it, and remove the older ones that `config` does not need any more."""
        what = f"the checkpoint of step {made.step}"
        self._write(what, lambda: checkpoint.save(self.run.path, made))
        self.saved = made.step
        if self.is_main:
            checkpoint.forget_old(self.run.path, config, made.state["best_step"])

    def snapshot(self, step: int) -> None:
        what = f"the weights of step {step}"
        self._write(what, lambda: save_snapshot(self.run.path, step, self.run.model))

    def trained_weights(self, provenance: Record) -> None:
        self._write("the trained weights", lambda: self.run.save_weights(provenance))

    @property
    def kept(self) -> str:
        """What is left if training ends here, and how it then goes on."""
        kept = "no checkpoint was saved before"
        if self.saved:
            kept = f"the checkpoint of step {self.saved} is kept"
        return f"{kept}. Once that is fixed: {self.run.resume_command}"

    def _write(self, what: str, write: Callable[[], None]) -> None:
        if not self.is_main:
            return
        try:
            write()
        except OSError as error:
            raise InputError(f"{what} cannot be saved ({error.strerror}); {self.kept}") from None
