"""What a reader has done so far: a small file in the reader's folder, which `check --all` can write
again.
"""

import json
import sys
from pathlib import Path
from typing import Any

from minitransformer.errors import InputError
from minitransformer.files import free_name, write_durably
from minitransformer_course.judge.course import Chapter, chapters
from minitransformer_course.judge.hints import STEPS
from minitransformer_course.messages import FILE, _, language

STATES = NOT_STARTED, NOT_YET, PASSED = "not started", "not yet", "passed"


class Progress:
    """{name of an exercise: what is known}: state, the last hint given, whether it was given up;
    the folder's language; and whether its reader takes the short path.
    """

    def __init__(self, folder):
        self.path = Path(folder) / FILE
        self.exercises: dict[str, Any] = {}
        self.language = ""  # the one of the moment, if none was kept yet
        self.short = False
        try:
            known = json.loads(self.path.read_text(encoding="utf-8"))
            self.exercises |= known["exercises"]
            self.language = str(known.get("language", ""))
            self.short = known.get("short", False) is True
        except FileNotFoundError:  # nothing was checked yet
            pass
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            kept = free_name(self.path.with_name(FILE + ".damaged"))
            self.path.rename(kept)
            print(
                _(
                    "{path} is damaged: it is kept as {kept}. `minitransformer learn check --all` writes it again"
                ).format(path=self.path, kept=kept),
                file=sys.stderr,
            )

    def of(self, name) -> dict[str, Any]:
        """What is known of an exercise. What a reader wrote in its place by hand does not count."""
        entry = self.exercises.get(name)
        kept = dict(entry) if isinstance(entry, dict) else {}
        if kept.get("state") not in STATES:
            kept.pop("state", None)
        if type(kept.get("hint")) is not int or kept["hint"] not in range(STEPS + 1):
            kept.pop("hint", None)
        return {"state": NOT_STARTED, "hint": 0, "gave_up": False, **kept}

    def state(self, exercise) -> str:
        """Its state: in a chapter that was started, each exercise that does not pass is "not yet"."""
        known = self.of(exercise.name)["state"]
        return (
            NOT_YET
            if known == NOT_STARTED and learner_file(self.path.parent, exercise.chapter)
            else known
        )

    def update(self, name, **changes) -> None:
        self.exercises[name] = {**self.of(name), **changes}

    def save(self) -> None:
        kept: dict[str, Any] = {"language": self.language or language()}
        kept |= {"short": True} if self.short else {}
        kept["exercises"] = self.exercises
        write_durably(self.path, (json.dumps(kept, indent=1) + "\n").encode())


def learner_file(folder, chapter) -> Path | None:
    """The reader's file of a chapter, the newer one of script and notebook; None if it was not
    started.
    """
    files = [
        path
        for path in (Path(folder) / f"{chapter.name}{end}" for end in (".py", ".ipynb"))
        if path.is_file()
    ]
    return max(files, key=lambda path: path.stat().st_mtime) if files else None


def started(folder) -> list[tuple[Chapter, Path]]:
    """[(chapter, file)] of the chapters that the reader has begun, in order."""
    pairs = [(chapter, learner_file(folder, chapter)) for chapter in chapters()]
    return [(chapter, path) for chapter, path in pairs if path]
