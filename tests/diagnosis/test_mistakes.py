"""Every mistake of the corpus's seen half: caught, never named wrongly, and most of them named."""

import random

import pytest

from minitransformer.checking.blocks import blocks
from tests.diagnosis.corpus import MISSED, RIGHTLY, SEEN, WRONGLY, ask, mistakes_in

MISTAKES = mistakes_in(SEEN)
INSIDE = [mistake for mistake in MISTAKES if mistake.in_model]
SIXTH = random.Random(0).sample(INSIDE, len(INSIDE) // 6)
ENOUGH = 0.7    # of the mistakes must be named


@pytest.fixture(scope="module")
def verdicts():
    """{(name, "alone" or "in a model"): verdict} of the diagnoses so far."""
    return {}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_alone(mistake, verdicts):
    answer = ask(mistake, mistake.block)
    verdicts[mistake.name, "alone"] = answer.verdict
    assert answer.verdict not in (MISSED, WRONGLY), answer.says


@pytest.mark.parametrize("mistake", SIXTH, ids=lambda mistake: mistake.name)
def test_inside_a_model(mistake, verdicts):
    answer = ask(mistake, mistake.in_model)
    verdicts[mistake.name, "in a model"] = answer.verdict
    assert answer.verdict not in (MISSED, WRONGLY), answer.says


@pytest.mark.parametrize("place", ["alone", "in a model"])
def test_most_are_named(verdicts, place):
    asked = [verdict for (_, where), verdict in verdicts.items() if where == place]
    if len(asked) < 20:
        pytest.skip("only some mistakes were asked about")
    assert asked.count(RIGHTLY) >= ENOUGH * len(asked)


def test_the_corpus_is_large_and_about_all_blocks():
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES) >= 60
    assert {mistake.block for mistake in MISTAKES} <= set(blocks())
