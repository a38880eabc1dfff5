"""The model of torch_eager.py, compiled by torch.compile."""

import torch
import torch._inductor.compile_fx    # the compiler: it shall count as import, not as memory of the step

from minitransformer.benchmarks import torch_eager


def make_step(case, threads):
    return torch_eager.make_step(case, threads, torch.compile)
