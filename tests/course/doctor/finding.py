"""What the tests of the doctor share: inputs, the library's blocks, and what the doctor finds."""

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
