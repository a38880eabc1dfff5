"""Run the functions of a learner's file in a process of its own, with a time limit."""

import contextlib
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import minitransformer_course
from minitransformer.errors import InputError, nearest_of
from minitransformer_course.judge import cells
from minitransformer_course.judge.call import Outcome, place_of, remember
from minitransformer_course.judge.course import exercises
from minitransformer_course.limits import still_running, wrapped
from minitransformer_course.messages import VARIABLE, _, spoken
from minitransformer_course.judge.my_transformer import FUNCTIONS, MODEL_FILE
from minitransformer_course.judge.own_code import own_code, statements
from minitransformer_course.judge.submission import is_of_the_page, read

COURSE = Path(minitransformer_course.__file__).parent
LIMIT = 10  # seconds, for the file and for each function
PROOF_LIMIT, TRAINING_LIMIT = (
    60,
    600,
)  # of plug; capstone.py has a limit of processor time, a busy machine takes longer
START = """import sys
sys.path = [folder for folder in sys.path if folder] + [{package!r}]
from minitransformer_course.judge.learner_process import main
sys.path.insert(0, {folder!r})
main({job!r})
"""


def run_file(
    path, sources, cases, limit=LIMIT, graded=False
) -> tuple[dict[str, list[Outcome]], str]:
    """({name: outcomes}, what the file printed) for the functions named in `cases`; an outcome for
    each case, up to an error.

    sources: what `submission.read` gave. cases: {name of a function: [(name, arguments)]}. graded:
    within bubblewrap if that runs. Raises InputError if the file itself does not run, if it changes
    NumPy, or if it lacks one of the functions.
    """
    own = own_code(sources, cases)
    results, waiting, printed = {}, dict(cases), ""
    while waiting:  # again without a function that never came back
        with _process(path, own, "check", waiting, limit, graded) as folder:
            printed = _file_ran(path, sources, folder)
            for name, work in list(waiting.items()):
                _judge_ran(folder, name)
                results[name] = [
                    Outcome.load(file)
                    for i in range(len(work))
                    if (file := folder / f"{name}.{i}").exists()
                ]
                del waiting[name]
                if len(results[name]) < len(work) and not (
                    results[name] and results[name][-1].is_last
                ):
                    results[name].append(_stopped(folder, limit))
                    break
    for outcomes in results.values():
        outcomes[-1] = outcomes[-1]._replace(error=_explained(outcomes[-1].error))
    return results, printed


def run_capstone(path, model, names, steps) -> dict[str, Any]:
    """What capstone.run returns for the functions `names` of the file `path` and those of FUNCTIONS
    that the file `model` has.

    Progress goes to standard error. Raises InputError as run_file does.
    """
    sources = (
        {model.name: "\n".join(own_code(read(model), FUNCTIONS).values())} if model.exists() else {}
    )
    remember(sources)
    with _process(
        model if sources else path, sources, "capstone", names, PROOF_LIMIT, steps=steps
    ) as folder:
        _file_ran(path, sources, folder)
        _judge_ran(folder, "capstone")
        late = _stopped(folder, PROOF_LIMIT)
        said = (
            late.error + _(" It need not be wrong: a loop over single numbers is slow.") * late.late
        )
        return _read(folder, "capstone") or {
            "own": [],
            "not_passed": [],
            "error": (said, late.line),
        }


@contextlib.contextmanager
def _process(path, sources, kind, work, limit, graded=False, steps=0) -> Iterator[Path]:
    """The folder with what the learner's process left behind, once it has ended."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = {
            "path": str(path.resolve()),
            "sources": sources,
            "kind": kind,
            "work": work,
            "limit": limit,
            "steps": steps,
        }
        (folder / "job.pickle").write_bytes(pickle.dumps(job))
        if kind == "capstone":
            _start(
                folder, path, PROOF_LIMIT + TRAINING_LIMIT, graded, stderr=None
            )  # it reports its progress
        else:
            _start(folder, path, limit * (1 + len(work)), graded, stderr=subprocess.DEVNULL)
        try:
            yield folder
        except (InputError, OSError):
            raise
        except Exception as error:  # whatever a learner's process may leave behind
            raise InputError(
                _(
                    "{path} leaves no answer that can be read ({error}): does it replace functions of Python?"
                ).format(path=path.name, error=type(error).__name__)
            ) from None


def _start(folder, path, seconds, graded, stderr) -> None:
    """Run the process, with one BLAS thread: the arrays are small, and each thread would use up
    memory, which is limited.
    """
    environment = {
        **os.environ,
        "MPLBACKEND": "agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        VARIABLE: spoken(),
    }
    code = START.format(
        folder=str(path.resolve().parent), package=str(COURSE.parent), job=str(folder)
    )
    command = [sys.executable, "-c", code]
    with contextlib.suppress(
        subprocess.TimeoutExpired
    ):  # where the process's own clock did not stop it
        subprocess.run(
            wrapped(command, folder) if graded else command,
            cwd=path.resolve().parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            timeout=seconds + 20,
            start_new_session=True,
        )  # a signal to its group, or Ctrl-C, reaches one of the two


def _file_ran(path, sources, folder) -> str:
    """What the file printed. Raises InputError with what keeps it from being judged."""
    file, late = _read(folder, "file"), _late(folder)
    if file is None:
        said = (
            _(
                "{path} ends the process while it is read: is there an exit in it, or does it replace functions of Python?"
            )
            if late is None
            else _("{path}: still running after the time limit: an endless loop?")
        )
        raise InputError(said.format(path=_at(path, late)))
    if file["error"]:
        raise InputError(
            _("{path}: {error}").format(
                path=_at(path, file["line"]), error=_explained(file["error"])
            )
        )
    if file["changed"]:
        raise InputError(
            _(
                "{path} replaces {name}: remove that; the judge runs in another process and does not notice"
            ).format(path=path.name, name=file["changed"][0])
        )
    if file["missing"]:
        missing = file["missing"][0]
        nearest = nearest_of(
            missing, {word for one in statements(sources) for word in one.defined} - {missing}
        )
        raise InputError(
            (
                _("{path} has no function {name}: did you rename it to {nearest}?")
                if nearest
                else _(
                    "{path} has no function {name}; move the file away, and `minitransformer learn start` writes it again"
                )
            ).format(path=path.name, name=missing, nearest=nearest)
        )
    return file["printed"]


def _judge_ran(folder, name) -> None:
    """Raises InputError if the judge failed to call the function."""
    result = _read(folder, name) or {}
    if "failed" in result:
        raise InputError(
            _("the judge itself failed ({error}): is the installation complete?").format(
                error=result["failed"]
            )
        )


def _stopped(folder, limit) -> Outcome:
    """The Outcome of the call that never came back."""
    line = _late(folder)
    return Outcome(
        error=_("it ends the process") if line is None else still_running(limit),
        line=line or "",
        late=line is not None,
    )


def _explained(error) -> str:
    """The error, with what to type for a name that is missing."""
    name = re.fullmatch(r"NameError: name '(\w+)' is not defined", error)
    if name and (name[1] == "np" or name[1] in sys.stdlib_module_names):
        module = "numpy as np" if name[1] == "np" else name[1]
        return error + _(": write `import {module}` above your function").format(module=module)
    if not name or not is_of_the_page(name[1]):
        return error
    said = error + _(
        "; the judge runs your own code without the page's cells: define {name} yourself"
    ).format(name=name[1])
    return said + (
        _(", or write `from my_transformer import {name}` above your function").format(name=name[1])
        if name[1] in exercises()
        else ""
    )


def _at(path, line) -> str:
    return f"{path.name}, {line}" if line else path.name


def _late(folder) -> str | None:
    """The line of the learner's code that ran when the time was up; "" if that is unknown, None if
    time was not up.
    """
    late = folder / "late"
    text = late.read_text(encoding="utf-8", errors="replace") if late.exists() else ""
    place = re.search(
        rf'File "({cells.FILE}|{MODEL_FILE}|{cells.CELL}\d+>)", line (\d+)', text
    )  # the innermost call comes first
    return place_of(place[1], int(place[2])) if place else "" if text else None


def _read(folder, name) -> Any:
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
