"""The tasks that a model can be trained on, one file each: `minitransformer train --help` lists a new one automatically."""

from minitransformer.registry import Registry

TASKS = Registry("task", "TASKS")
