"""The tasks that a model can be trained on."""

from minitransformer.lookup import Table
from minitransformer.tasks.classify import Classify
from minitransformer.tasks.language import Language
from minitransformer.tasks.numbers import Numbers
from minitransformer.tasks.toy import Copy, Reverse, Sort
from minitransformer.tasks.translate import Translate

TASKS = Table(
    "task",
    {task.name: task for task in (Classify, Copy, Language, Numbers, Reverse, Sort, Translate)},
)
