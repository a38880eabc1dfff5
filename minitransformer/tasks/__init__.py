"""The tasks that a model can be trained on, a file each: a new one is at once in `minitransformer train --help`."""

from minitransformer.registry import Registry

TASKS = Registry("task", "minitransformer.tasks", "TASKS")
