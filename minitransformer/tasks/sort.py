"""The toy task sort."""

from dataclasses import dataclass
from typing import ClassVar

from minitransformer.tasks import TASKS
from minitransformer.tasks.toy import TOY_TRAINING, LetterTask


@TASKS.register("sort")
@dataclass(frozen=True, kw_only=True)
class Sort(LetterTask):
    description: ClassVar[str] = "sort letters: c a b -> a b c"
    defaults: ClassVar[dict] = {**TOY_TRAINING, "steps": 3000, "rate_factor": 0.2}
    transform: ClassVar = staticmethod(sorted)
