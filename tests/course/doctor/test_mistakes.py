"""Every mistake of the corpus's seen half: caught, never named wrongly, and most of them named.

Which of these, and of a sixth of the other corpora, are not named is as recorded
(tests/fixtures/record.py).
"""

import random

import pytest

from minitransformer.checking.blocks import blocks
from tests.course.doctor.corpus import (
    CORPORA,
    MISSED,
    RIGHTLY,
    SEEN,
    WRONGLY,
    ask,
    cases_in,
    mistakes_in,
)
from tests.fixtures.record import VERDICTS, read

pytestmark = pytest.mark.campaign

MISTAKES = mistakes_in(SEEN)
INSIDE = [mistake for mistake in MISTAKES if mistake.in_model]
HALF = random.Random(1).sample(MISTAKES, len(MISTAKES) // 2)
SIXTH = random.Random(0).sample(INSIDE, len(INSIDE) // 6)
NOT_NAMED = read(VERDICTS)  # {case: its verdict}
OTHERS = {
    name: case for corpus in CORPORA if corpus != "seen" for name, case in cases_in(corpus).items()
}
ENOUGH = 0.7  # of the mistakes must be named


@pytest.fixture(scope="module")
def verdicts():
    """{(name, "alone" or "in a model"): verdict} of the diagnoses so far."""
    return {}


@pytest.mark.parametrize("mistake", HALF, ids=lambda mistake: mistake.name)
def test_alone(mistake, verdicts):
    answer = ask(mistake, mistake.block)
    verdicts[mistake.name, "alone"] = answer.verdict
    assert answer.verdict not in (MISSED, WRONGLY), answer.says
    assert answer.verdict == NOT_NAMED.get(f"seen {mistake.name}, alone", RIGHTLY), answer.says


@pytest.mark.parametrize("mistake", SIXTH, ids=lambda mistake: mistake.name)
def test_inside_a_model(mistake, verdicts):
    answer = ask(mistake, mistake.in_model)
    verdicts[mistake.name, "in a model"] = answer.verdict
    assert answer.verdict not in (MISSED, WRONGLY), answer.says
    recorded = NOT_NAMED.get(f"seen {mistake.name}, in a model", RIGHTLY)
    assert answer.verdict == recorded, answer.says


@pytest.mark.parametrize("name", random.Random(0).sample(sorted(OTHERS), len(OTHERS) // 6))
def test_the_other_corpora_are_answered_as_recorded(name):
    answer = ask(*OTHERS[name])
    assert answer.verdict == NOT_NAMED.get(name, RIGHTLY), answer.says


def test_what_is_recorded_is_in_the_corpora():
    assert NOT_NAMED.keys() <= {name for corpus in CORPORA for name in cases_in(corpus)}


@pytest.mark.parametrize("place", ["alone", "in a model"])
def test_most_are_named(verdicts, place):
    asked = [verdict for (_, where), verdict in verdicts.items() if where == place]
    if len(asked) < 20:
        pytest.skip("only some mistakes were asked about")
    assert asked.count(RIGHTLY) >= ENOUGH * len(asked)


def test_the_corpus_is_large_and_about_all_blocks():
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES) >= 60
    assert {mistake.block for mistake in MISTAKES} <= set(blocks())
