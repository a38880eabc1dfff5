"""A corpus of mistakes, and the doctor's diagnosis of each: alone on its smallest block, and inside
a whole Transformer.

A folder of the corpus holds Python files, each with a list MISTAKES (research/mistakes/mistake.py).
"""

import runpy
import time
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from minitransformer.checking import gradcheck
from minitransformer.checking.blocks import blocks
from minitransformer.checking.report import EVIDENCE
from minitransformer.checking.gradcheck import find_doctor
from minitransformer.dispatch import TABLE, plugged
from minitransformer.zoo import checked_blocks  # noqa: F401 - its functions are in the TABLE
from tests import ROOT

CORPORA = ("seen", "held_out", "second")  # folders beside each other
SEEN = ROOT / "research" / "mistakes" / "seen"
RIGHTLY, WRONGLY, ONLY_EVIDENCE, MISSED = "named rightly", "named wrongly", "evidence", "not caught"


class Answer(NamedTuple):
    verdict: str  # one of the four above
    kind: str  # that of the finding: named, contract, observed or evidence; passed without one
    says: str  # the report's last word
    seconds: float  # of the processor: how busy the machine is makes no difference


def mistakes_in(folder):
    """Every Mistake of the files in a folder, in their order."""
    return [
        mistake
        for path in sorted(Path(folder).glob("*.py"))
        for mistake in runpy.run_path(str(path)).get("MISTAKES", [])
    ]


def cases_in(corpus):
    """{"corpus mistake, place": (mistake, name of the block)} of every mistake, alone and inside a
    model.
    """
    return {
        f"{corpus} {mistake.name}, {place}": (mistake, block)
        for mistake in mistakes_in(SEEN.with_name(corpus))
        for place, block in (("alone", mistake.block), ("in a model", mistake.in_model))
        if block
    }


@contextmanager
def made(mistake):
    """Within it, the mistake replaces its operation everywhere."""
    if mistake.replaces in TABLE:
        with plugged(TABLE[mistake.replaces], mistake.wrong):
            yield
        return
    module, _, path = mistake.replaces.partition(":")
    *owners, name = path.split(".")
    owner = import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    before = vars(owner)[name]
    setattr(owner, name, mistake.wrong)
    try:
        yield
    finally:
        setattr(owner, name, before)


def ask(mistake, block_name, seed=0):
    """The doctor's Answer for the block of that name with the mistake in it."""
    find_doctor()  # it looks at the library before a mistake is made in it
    with made(mistake):
        block, inputs = blocks(seed)[block_name]
        start = time.process_time()
        report = gradcheck(
            block, inputs, name=block_name, methods=("complex",), projection=True, seed=seed
        )
        seconds = time.process_time() - start
    if report.passed:
        return Answer(MISSED, "passed", "", seconds)
    finding = report.findings[block_name]
    said = f"{finding.place}: {finding.sentence}"
    if finding.kind == EVIDENCE:
        return Answer(ONLY_EVIDENCE, EVIDENCE, said, seconds)
    return Answer(
        RIGHTLY if is_right(mistake, finding.sentence) else WRONGLY, finding.kind, said, seconds
    )


def is_right(mistake, sentence):
    """Whether a sentence has a word of each group that a right diagnosis has, and none that it must
    not have.
    """
    text = sentence.lower()
    return all(any(word.lower() in text for word in group) for group in mistake.says) and not any(
        word.lower() in text for word in mistake.excludes
    )
