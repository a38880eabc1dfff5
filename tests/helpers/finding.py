"""What the tests of the doctor share: inputs, the library's blocks, and what the doctor finds."""

import inspect
import linecache
import sys

import numpy as np

from minitransformer import gradcheck
from minitransformer.checking.blocks import blocks

X = np.random.default_rng(3).standard_normal((2, 3, 5))
ALL = blocks()


def finding(block, inputs, methods=("complex",)):
    """What the doctor finds; the check must have failed."""
    report = gradcheck(block, inputs, name="it", methods=methods)
    assert not report.passed
    return report.findings["it"]


def written(cls, right, wrong):
    """The class as a reader might have written it, in a cell of a notebook: its source can be read,
    too.
    """
    source, cell = inspect.getsource(cls), f"<{wrong or right}>"
    assert right in source
    source = source.replace(right, wrong)
    linecache.cache[cell] = (len(source), None, source.splitlines(keepends=True), cell)
    namespace = dict(vars(sys.modules[cls.__module__]))
    exec(compile(source, cell, "exec"), namespace)
    return namespace[cls.__name__]
