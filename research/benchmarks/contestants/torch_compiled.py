"""The model of torch_eager.py, compiled by torch.compile."""

from collections.abc import Callable

import torch

# the compiler, so that it counts as import, not as memory of the step
import torch._inductor.compile_fx

from research.benchmarks.contestants import torch_eager


def make_step(case, threads, device="cpu") -> Callable[[], float]:
    return torch_eager.make_step(case, threads, device, torch.compile)
