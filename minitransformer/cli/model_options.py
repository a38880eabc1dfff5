"""The options of evaluate, translate and generate that choose the model."""

from minitransformer.backend import BACKENDS
from minitransformer.decoding import Ensemble
from minitransformer.errors import InputError
from minitransformer.training.run import Run


def add_model(parser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument("--ensemble", action="append", default=[], metavar="RUN",
                        help="another run on the same task and text, for example with a different seed, to form an ensemble "
                             "with RUN by averaging their logits (can be given several times)")
    parser.add_argument("--backend", choices=BACKENDS, default="numpy", help="default: numpy")


def load_run(args) -> Run:
    """RUN; with --ensemble its model is the Ensemble of all the runs."""
    run, *others = [Run.load(path, args.backend) for path in (args.run, *args.ensemble)]
    for other in others:
        if _answers(other) != _answers(run):
            raise InputError(f"--ensemble {other.path} has a different task or vocabulary from {run.path}; give runs that were "
                             "trained on the same text")
        if _window(other) != _window(run):
            raise InputError(f"--ensemble {other.path} reads windows of {_window(other):,} tokens and {run.path} of "
                             f"{_window(run):,}; give runs with the same --window")
    if others and run.task.command == "classify":
        raise InputError("--ensemble is for models that write text, not for a classifier; leave it out")
    if others:
        run.model = Ensemble([run.model, *(other.model for other in others)])
    return run


def check_command(run, command) -> None:
    """Raise InputError if the run's model belongs to another command."""
    if run.task.command != command:
        raise InputError(f"{run.path} was trained on the task {run.task.name}: use minitransformer {run.task.command} instead")


def _answers(run) -> tuple[str, str]:
    return run.task.name, run.vocabulary.to_json()


def _window(run) -> int | None:
    """The number of tokens that a language model reads at once."""
    return getattr(run.task, "window", None)
