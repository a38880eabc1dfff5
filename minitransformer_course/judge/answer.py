"""The answer to a check: at most eight lines that say what passed, where it is wrong, why, what is likely, and what is next."""

from dataclasses import dataclass
from typing import Any

from minitransformer_course.judge.messages import _


@dataclass
class Answer:
    """What a check found. `print` it; a notebook shows it."""

    exercise: str
    stage: str            # the stage that failed (stages.py); "passed" if none did
    stages: list[str]     # what is said of those that passed, in order
    where: str = ""       # the worst element, yours and expected; or the line
    why: str = ""         # what is violated, with the number
    likely: str = ""      # the diagnosis, or why there is none
    diagnosis: str = ""   # the mistake, if it alone explains the difference
    hint: int = 1         # which hint to begin with
    next: str = ""
    printed: str = ""     # what the learner's code printed

    @property
    def passed(self) -> bool:
        return self.stage == "passed"

    @property
    def title(self) -> str:
        return (_("{name}: passed") if self.passed else _("{name}: not yet")).format(name=self.exercise)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """[(label, text)] of what there is to say; a text may have several lines."""
        lines = (("PASSED", "; ".join(self.stages)), ("WHERE", self.where), ("WHY", self.why), ("LIKELY", self.likely),
                 ("NEXT", self.next))
        return [(label, text) for label, text in lines if text]

    def __str__(self) -> str:
        indent = "\n" + 10 * " "
        return "\n".join([self.title, *(f"  {label:7} {text}".replace("\n", indent) for label, text in self.lines)])

    __repr__ = __str__    # a notebook shows it

    def as_dict(self) -> dict[str, Any]:
        return {"exercise": self.exercise, "passed": self.passed, "stage": self.stage, "where": self.where or None,
                "why": self.why or None, "diagnosis": self.diagnosis or None}
