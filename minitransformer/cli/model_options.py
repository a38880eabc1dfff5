"""Which model answers, as evaluate and translate are told."""

from minitransformer.decoding import Ensemble
from minitransformer.errors import InputError
from minitransformer.training.run import Run


def add_model(parser):
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument("--ensemble", action="append", default=[], metavar="RUN",
                        help="another run of the same task and text, say with another seed, that answers together with RUN: "
                             "the mean of their logits decides (can be given several times)")
    parser.add_argument("--backend", choices=("numpy", "cupy", "auto"), default="numpy", help="default: numpy")


def load_run(args):
    """RUN, whose model with --ensemble is the Ensemble of all of them."""
    run, *others = [Run.load(path, args.backend) for path in (args.run, *args.ensemble)]
    for other in others:
        if _answers(other) != _answers(run):
            raise InputError(f"--ensemble {other.path} has another task or vocabulary than {run.path}; give runs that were "
                             "trained on the same text")
    if others:
        run.model = Ensemble([run.model, *(other.model for other in others)])
    return run


def _answers(run):
    return run.settings["task"], run.vocabulary.to_json()
