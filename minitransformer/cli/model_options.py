"""Which model answers, as evaluate, translate and generate are told."""

from minitransformer.backend import BACKENDS
from minitransformer.decoding import Ensemble
from minitransformer.errors import InputError
from minitransformer.training.run import Run


def add_model(parser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument("--ensemble", action="append", default=[], metavar="RUN",
                        help="another run of the same task and text, say with another seed, that answers together with RUN: "
                             "the mean of their logits decides (can be given several times)")
    parser.add_argument("--backend", choices=BACKENDS, default="numpy", help="default: numpy")


def load_run(args) -> Run:
    """RUN, whose model with --ensemble is the Ensemble of all of them."""
    run, *others = [Run.load(path, args.backend) for path in (args.run, *args.ensemble)]
    for other in others:
        if _answers(other) != _answers(run):
            raise InputError(f"--ensemble {other.path} has another task or vocabulary than {run.path}; give runs that were "
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
    """Raise InputError where another command uses the run's model."""
    if run.task.command != command:
        raise InputError(f"{run.path} was trained on the task {run.task.name}: use minitransformer {run.task.command} instead")


def _answers(run) -> tuple[str, str]:
    return run.task.name, run.vocabulary.to_json()


def _window(run) -> int | None:
    """How many tokens a language model reads at once."""
    return getattr(run.task, "window", None)
