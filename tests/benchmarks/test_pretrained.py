"""research/benchmarks/pretrained.py: a part of it that fails ends it, and no number comes of it."""

import pytest

from research.benchmarks import pretrained
from minitransformer.errors import InputError

pytestmark = pytest.mark.slow


def test_a_command_that_fails_is_named():
    with pytest.raises(
        InputError, match="^`minitransformer generate no/such/run Why.` failed: .*no/such/run"
    ):
        pretrained.process("generate", "no/such/run", "Why?")


def test_nothing_is_faster_than_the_bound():
    rounds = [(4.0, 1.0, 100e6), (5.0, 1.0, 100e6), (6.0, 1.0, 100e6)]  # tokens/s of both, bytes/s
    assert pretrained.share_of_bound(rounds, 10e6) == 0.5
    with pytest.raises(
        InputError, match="the model wrote 1.40 times as fast as its 28 MB were read"
    ):
        pretrained.share_of_bound(rounds, 28e6)
