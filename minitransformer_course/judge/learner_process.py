"""The process in which a learner's file runs. It hands back arrays and words, never a verdict: the
judge is elsewhere.
"""

import faulthandler
import importlib
import json
import os
import pickle
import runpy
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from minitransformer_course.judge.call import call_on, describe, failed, remember
from minitransformer_course.judge.forbidden import refuse
from minitransformer_course.limits import limit_this_process, limited_output

MODULE = "my_transformer"  # the functions that passed


def main(folder) -> NoReturn:
    """Run the job in `folder`: job.pickle, written by run_file.py. Each result is a file of its
    own.
    """
    folder = Path(folder)
    job = pickle.loads((folder / "job.pickle").read_bytes())
    with open(folder / "late", "w", encoding="utf-8") as late:
        _stop_after(job["limit"], late)
        if job["kind"] == "check":
            limit_this_process(job["limit"] * (1 + len(job["work"])))
            refuse()
        namespace = _load(folder, job)
        if namespace and job["kind"] == "capstone":
            capstone(folder, namespace, job, late)
        elif namespace:
            for name, cases in job["work"].items():
                _stop_after(job["limit"], late)
                check(folder, name, namespace, cases)
    os._exit(0)  # not waiting for threads that the learner's code started


def check(folder, name, namespace, cases) -> None:
    """Call the function on the cases; each Outcome is there as soon as the call has returned."""
    with _reported(folder, name):
        for i, outcome in enumerate(call_on(namespace[name], cases, watched=False)):
            outcome.save(folder / f"{name}.{i}")


def capstone(folder, namespace, job, late) -> None:
    """Prove and train a model of the functions of my_transformer.py and of the reader's own file."""
    from minitransformer_course.judge import my_transformer
    from minitransformer_course.judge.capstone import run
    from minitransformer_course.judge.run_file import TRAINING_LIMIT

    def say(text) -> None:
        _stop_after(TRAINING_LIMIT, late)
        print(text, file=sys.__stderr__, flush=True)

    with _reported(folder, "capstone"), limited_output():
        own = {
            name: namespace[name]
            for name in my_transformer.FUNCTIONS
            if callable(namespace.get(name))
        }
        try:
            parts = runpy.run_path(my_transformer.FILE) if job["work"] else {}
        except Exception as error:  # the reader may have edited it
            return _write(
                folder, "capstone", {"own": [], "not_passed": [], "error": describe(error)}
            )
        _write(
            folder,
            "capstone",
            run({name: parts[name] for name in job["work"]}, own, job["steps"], say),
        )


@contextmanager
def _reported(folder, name) -> Iterator[None]:
    """Write to the folder what the judge could not do."""
    try:
        yield
    except Exception as error:  # not the learner's: that one was caught where it was called
        _write(folder, name, {"failed": f"{type(error).__name__}: {error}"})


def _stop_after(seconds, file) -> None:
    faulthandler.dump_traceback_later(seconds, exit=True, file=file)


def _load(folder, job) -> dict[str, Any]:
    """The names that the learner's file defines; none if it does not run, or lacks a function."""
    remember(job["sources"])
    namespace = {"__name__": "learner", "__file__": job["path"]}
    before = dict(vars(np))
    try:
        with limited_output() as printed:
            if job["kind"] == "check":
                _also_from_here(namespace, job["work"])
            for name, source in job["sources"].items():
                exec(compile(source, name, "exec"), namespace)
    except BaseException as error:  # the learner's own code, sys.exit and Ctrl-C included
        outcome = failed(error)
        if outcome.forbidden:
            for name in job["work"]:
                outcome.save(folder / f"{name}.0")
        _write(
            folder,
            "file",
            {
                "error": outcome.error,
                "line": outcome.line,
                "printed": "",
                "changed": [],
                "missing": [],
            },
        )
        return {}
    changed = [f"numpy.{name}" for name, value in before.items() if vars(np).get(name) is not value]
    missing = [
        name
        for name in job["work"]
        if job["kind"] != "capstone" and not callable(namespace.get(name))
    ]
    _write(
        folder,
        "file",
        {"error": "", "printed": printed.text(), "changed": changed, "missing": missing},
    )
    return {} if missing else namespace


def _also_from_here(namespace, names) -> None:
    """Let `from my_transformer import softmax` find a function of this very file, which is added to
    that module once it has passed. A module that does not run is left to whoever imports it.
    """
    try:
        module = importlib.import_module(MODULE)
    except ModuleNotFoundError as error:
        if error.name != MODULE:
            return
        module = sys.modules[MODULE] = types.ModuleType(MODULE)
    except Exception:
        return

    def later(name) -> Any:
        if name not in names or name not in namespace:
            raise AttributeError(f"module {MODULE!r} has no attribute {name!r}")
        return namespace[name]

    vars(module).setdefault("__getattr__", later)


def _write(folder, name, result) -> None:
    new = folder / f"{name}.new"
    new.write_text(json.dumps(result), encoding="utf-8")
    new.replace(folder / f"{name}.json")
