"""The toy task reverse."""

from dataclasses import dataclass
from typing import ClassVar

from minitransformer.tasks import TASKS
from minitransformer.tasks.toy import LetterTask


@TASKS.register("reverse")
@dataclass(frozen=True, kw_only=True)
class Reverse(LetterTask):
    description: ClassVar[str] = "reverse letters: c a b -> b a c"
    transform: ClassVar = staticmethod(lambda letters: letters[::-1])
