"""Layers by somebody who had not read the checker: 200 right ones, none of which may fail, and 300
wrong ones, all of which must (research/blind/checker).

Right ones keep widths, lengths and constants of their own, and have numbers from 1e-30 to 1e30.
Some of the wrong ones are right at the given values, because gamma is 1 or a bias 0.
"""

import random
import sys
from importlib import import_module

import pytest

from minitransformer import gradcheck
from tests import ROOT

pytestmark = pytest.mark.usefixtures("without_the_doctor")
FOLDER = ROOT / "research" / "blind" / "checker"
SAMPLE = 20  # of each are tried by README's command


def cases(module, table):
    """A test's parameters: (name, make) of every layer, a sample without the campaigns' mark."""
    sys.path.insert(0, str(FOLDER))
    try:
        found = [case[:2] for case in getattr(import_module(module), table)]
    finally:
        sys.path.remove(str(FOLDER))
    kept = random.Random(0).sample([name for name, _make in found], SAMPLE)
    return [
        pytest.param(make, id=name, marks=[] if name in kept else pytest.mark.campaign)
        for name, make in found
    ]


@pytest.mark.parametrize("make", cases("right", "RIGHT"))
def test_right(make):
    gradcheck(*make()).raise_if_failed()


@pytest.mark.parametrize("make", cases("wrong", "WRONG"))
def test_wrong(make):
    report = gradcheck(*make())
    assert not report.passed, report
