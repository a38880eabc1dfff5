"""Run the functions of a learner's file in a process of its own, with a time limit."""

import contextlib
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import minitransformer
from minitransformer.errors import InputError
from minitransformer.learn import cells
from minitransformer.learn.call import Outcome, place_of, remember
from minitransformer.learn.learner_file import read
from minitransformer.learn.messages import _
from minitransformer.learn.time_limit import still_running

LIMIT = 10    # seconds, for the file and for each function
PLUG_LIMIT = 120
START = """import sys
sys.path = [folder for folder in sys.path if folder] + [{package!r}]
from minitransformer.learn.learner_process import main
sys.path.insert(0, {folder!r})
main({job!r})
"""


def run_file(path, cases, limit=LIMIT) -> tuple[dict[str, tuple[list[Outcome], str]], str]:
    """({name: (outcomes, what was printed)}, what the file printed) for the functions named in `cases`.

    cases: {name of a function: [(name, arguments)]}. Raises InputError if the file itself does not run, if it changes the
    judge, or if it lacks one of the functions.
    """
    sources = compiled(path)
    results, waiting, printed = {}, dict(cases), ""
    while waiting:    # again without a function that never came back
        answered, printed, late = _run(path, sources, "check", waiting, limit, _outcomes)
        results |= answered
        waiting = {name: work for name, work in waiting.items() if name not in answered}
        if waiting:
            results[next(iter(waiting))] = [Outcome(error=late[0], line=late[1])], ""
            waiting = dict(list(waiting.items())[1:])
    return results, printed


def run_plug(path, name, steps) -> dict[str, Any]:
    """What plug.train_with returns for the function `name` of a file. Raises InputError as run_file does."""
    results, _printed, late = _run(path, compiled(path), "plug", {name: steps}, PLUG_LIMIT, _read)
    return results.get(name) or {"error": late, "calls": 0}


def _run(path, sources, kind, work, limit, result_of) -> tuple[dict[str, Any], str, tuple[str, str]]:
    """({name: result}, what the file printed, (error, line) of the function that never came back)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = {"path": str(path.resolve()), "sources": sources, "kind": kind, "work": work, "limit": limit}
        (folder / "job.pickle").write_bytes(pickle.dumps(job))
        _start(folder, path, limit * (1 + len(work)))
        try:
            return _results(folder, path, work, limit, result_of)
        except (InputError, OSError):
            raise
        except Exception as error:    # whatever a learner's process may leave behind
            raise InputError(_("{path} leaves no answer that can be read ({error}): does it replace functions of Python?").format(
                path=path.name, error=type(error).__name__)) from None


def _results(folder, path, work, limit, result_of) -> tuple[dict[str, Any], str, tuple[str, str]]:
    """What the learner's process left in the folder."""
    printed = _file_ran(path, folder)
    done = [name for name in work if (folder / f"{name}.json").exists()]
    for name in done:
        result = _read(folder, name)
        if "missing" in result:
            raise InputError(_("{path} has no function {name}; `minitransformer learn reset` writes the chapter anew").format(
                path=path.name, name=name))
        if "failed" in result:
            raise InputError(_("the judge itself failed ({error}): is the installation complete?").format(error=result["failed"]))
    line = _late(folder)
    error = _("it ends the process") if line is None else still_running(limit)
    return {name: result_of(folder, name) for name in done}, printed, (error, line or "")


def compiled(path) -> dict[str, str]:
    """The sources that the judge runs, {name: source}. Raises InputError if one is no Python."""
    sources = read(path)
    remember(sources)
    for name, source in sources.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(source, name, "exec")
        except SyntaxError as error:
            where = f"{place_of(name, error.lineno or 1)}: {(error.text or '').strip()}"
            raise InputError(_("{path}, {where}: {error}").format(path=path.name, where=where, error=error.msg)) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise InputError(_("{path}: {error}").format(path=path.name, error=error)) from None
    return sources


def _start(folder, path, seconds) -> None:
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    package = str(Path(minitransformer.__file__).parents[1])
    code = START.format(folder=str(path.resolve().parent), package=package, job=str(folder))
    with contextlib.suppress(subprocess.TimeoutExpired):    # where the process's own clock did not stop it
        subprocess.run([sys.executable, "-c", code], cwd=path.resolve().parent, env=environment, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds + 20)


def _file_ran(path, folder) -> str:
    """What the file printed. Raises InputError with what keeps it from being judged."""
    file, late = _read(folder, "file"), _late(folder)
    if file is None:
        said = (_("{path} ends the process while it is read: is there an exit in it, or does it replace functions of Python?")
                if late is None else _("{path}: still running after the time limit: an endless loop?"))
        raise InputError(said.format(path=_at(path, late)))
    if "error" in file:
        raise InputError(_("{path}: {error}").format(path=_at(path, file["line"]), error=file["error"]))
    if file["changed"]:
        raise InputError(_("{path} replaces {name}: remove that; the judge runs in another process and does not notice").format(
            path=path.name, name=file["changed"][0]))
    return file["printed"]


def _at(path, line) -> str:
    return f"{path.name}, {line}" if line else path.name


def _late(folder) -> str | None:
    """The line of the learner's code that ran when the time was up; "" if that is unknown, None if time was not up."""
    late = folder / "late"
    text = late.read_text(encoding="utf-8", errors="replace") if late.exists() else ""
    place = re.search(rf'File "({cells.FILE}|{cells.CELL}\d+>)", line (\d+)', text)    # the innermost call comes first
    return place_of(place[1], int(place[2])) if place else "" if text else None


def _outcomes(folder, name) -> tuple[list[Outcome], str]:
    """(outcomes, what was printed)."""
    result = _read(folder, name)
    with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
        outcomes = [Outcome(**{**fields, "arrays": [arrays[f"{i}.{k}"] for k in range(fields["arrays"])]})
                    for i, fields in enumerate(result["outcomes"])]
    return outcomes, result["printed"]


def _read(folder, name) -> Any:
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
