"""The tasks that a model can be trained on: `minitransformer train --help` lists a new file's."""

from minitransformer.registry import Registry

TASKS = Registry("task", "TASKS")
