"""The process in which a learner's file runs. It hands back arrays and words, never a verdict: the judge is elsewhere."""

import faulthandler
import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from minitransformer.learn.bounded import bounded_output
from minitransformer.learn.call import call_on, describe, remember


def main(folder) -> NoReturn:
    """Run the job in `folder`: job.pickle, written by run_file.py. Each result is a file of its own."""
    folder = Path(folder)
    job = pickle.loads((folder / "job.pickle").read_bytes())
    with open(folder / "late", "w", encoding="utf-8") as late:
        _stop_after(job["limit"], late)
        namespace = _load(folder, job)
        for name, arguments in job["work"].items() if namespace else ():
            _stop_after(job["limit"], late)
            function = namespace.get(name)
            if callable(function):
                _work(job["kind"], folder, name, function, arguments)
            else:
                _write(folder, name, {"missing": True})
    os._exit(0)    # not waiting for threads that the learner's code started


def check(folder, name, function, cases) -> None:
    """Call the function on the cases: what it returned goes into NAME.npz, all else into NAME.json."""
    outcomes, printed = call_on(function, cases)
    arrays = {f"{i}.{k}": array for i, outcome in enumerate(outcomes) for k, array in enumerate(outcome.arrays)}
    np.savez(folder / f"{name}.npz", **arrays)
    _write(folder, name, {"outcomes": [{**outcome._asdict(), "arrays": len(outcome.arrays)} for outcome in outcomes],
                          "printed": printed})


def plug(folder, name, function, steps) -> None:
    """Train with the function in the model's place of the exercise NAME, and without; say whether it passes its check."""
    from minitransformer.learn.course import find_exercise    # late: a check does without the chapters
    from minitransformer.learn.judgement import check_function
    from minitransformer.learn.plug import train_with

    with bounded_output():
        result = train_with(find_exercise(name), function, steps)
        result["passed"] = "error" not in result and check_function(find_exercise(name), function, watched=False).passed
        _write(folder, name, result)


def _work(kind, folder, name, function, arguments) -> None:
    try:
        {"check": check, "plug": plug}[kind](folder, name, function, arguments)
    except Exception as error:    # not the learner's: that one was caught where it was called
        _write(folder, name, {"failed": f"{type(error).__name__}: {error}"})


def _stop_after(seconds, file) -> None:
    faulthandler.dump_traceback_later(seconds, exit=True, file=file)


def _load(folder, job) -> dict[str, Any]:
    """The names that the learner's file defines; none if it does not run."""
    remember(job["sources"])
    namespace = {"__name__": "learner", "__file__": job["path"]}
    before = _callables()
    try:
        with bounded_output() as printed:
            for name, source in job["sources"].items():
                exec(compile(source, name, "exec"), namespace)
    except BaseException as error:    # the learner's own code, sys.exit and Ctrl-C included
        said, place = describe(error)
        _write(folder, "file", {"error": said, "line": place})
        return {}
    changed = [f"{module.__name__}.{name}" for module, name, value in before if getattr(module, name, None) is not value]
    _write(folder, "file", {"printed": printed.text(), "changed": changed})
    return namespace


def _callables() -> list[tuple[Any, str, Any]]:
    """What a file must leave alone: (module, name, function) of NumPy and of minitransformer."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("minitransformer") or name == "numpy"]
    return [(module, name, value) for module in modules for name, value in vars(module).items() if callable(value)]


def _write(folder, name, result) -> None:
    new = folder / f"{name}.new"
    new.write_text(json.dumps(result), encoding="utf-8")
    new.replace(folder / f"{name}.json")
