"""The tasks that a model can be trained on."""

from typing import Any

from minitransformer.tasks.classify import Classify
from minitransformer.tasks.language import Language
from minitransformer.tasks.numbers import Numbers
from minitransformer.tasks.toy import Copy, Reverse, Sort
from minitransformer.tasks.translate import Translate

TASKS: dict[str, Any] = {
    task.name: task for task in (Classify, Copy, Language, Numbers, Reverse, Sort, Translate)
}
