"""The answer to a check: at most eight lines that say what passed, where it is wrong, why, what is likely, and what is next."""

from dataclasses import dataclass
from typing import Any

from minitransformer_course.judge.messages import _


def stage_words() -> dict[str, tuple[str, str]]:
    """{stage: (what is said of a function that passed it, and of one that failed it)}, in the order of a check."""
    return {"runs": (_("it runs"), _("does not run")), "own": (_("NumPy alone"), _("borrowed")),
            "shape": (_("right shapes"), _("wrong shape or type")), "inputs": (_("inputs unchanged"), _("changes its inputs")),
            "repeats": (_("same inputs, same answer"), _("same inputs, another answer")),
            "invariants": (_("rules kept"), _("breaks a rule")), "values": (_("right numbers"), _("wrong numbers")),
            "gradients": (_("right gradients"), _("wrong gradients")), "float32": (_("float32 stays float32"), _("not in float32"))}


@dataclass
class Answer:
    """What a check found. `print` it; a notebook shows it."""

    exercise: str
    passed: bool
    stage: str            # the stage that failed: a key of `stage_words`; "passed" if none did
    stages: list          # the stages of this exercise, in order
    where: str = ""       # the worst element, yours and expected; or the line
    why: str = ""         # what is violated, with the number
    diagnosis: str = ""   # the mistake, if it alone explains the difference
    candidates: int = 0   # how many mistakes explain it equally well, if several do
    hint: int = 1         # which hint to begin with
    next: str = ""
    printed: str = ""     # what the learner's code printed

    @property
    def title(self) -> str:
        return (_("{name}: passed") if self.passed else _("{name}: not yet")).format(name=self.exercise)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """[(label, text)] of what there is to say; a text may have several lines."""
        words = stage_words()
        done = self.stages if self.passed else self.stages[:self.stages.index(self.stage)]
        lines = (("PASSED", "; ".join(words[stage][0] for stage in done)), ("WHERE", self.where), ("WHY", self.why),
                 ("LIKELY", self._likely()), ("NEXT", self.next))
        return [(label, text) for label, text in lines if text]

    def _likely(self) -> str:
        if self.stage not in ("runs", "shape", "invariants", "values", "gradients"):
            return ""
        if self.diagnosis:
            return self.diagnosis
        if self.candidates:
            return _("one of {n} known mistakes: all of them give these numbers").format(n=self.candidates)
        return "" if self.stage in ("runs", "shape") else _("no known pattern: none of the usual mistakes gives this answer")

    def __str__(self) -> str:
        indent = "\n" + 10 * " "
        return "\n".join([self.title, *(f"  {label:7} {text}".replace("\n", indent) for label, text in self.lines)])

    __repr__ = __str__    # a notebook shows it

    def as_dict(self) -> dict[str, Any]:
        return {"exercise": self.exercise, "passed": self.passed, "stage": self.stage, "where": self.where or None,
                "why": self.why or None, "diagnosis": self.diagnosis or None}
