"""The toy task copy."""

from dataclasses import dataclass
from typing import ClassVar

from minitransformer.tasks import TASKS
from minitransformer.tasks.toy import TOY_TRAINING, LetterTask


@TASKS.register("copy")
@dataclass(frozen=True, kw_only=True)
class Copy(LetterTask):
    description: ClassVar[str] = "copy letters: c a b -> c a b"
    defaults: ClassVar[dict] = {**TOY_TRAINING, "steps": 350}
    transform: ClassVar = staticmethod(list)
