"""Table 1 measured: products are counted from what is really multiplied, and chains and paths are
those of the layers.
"""

import numpy as np
import pytest

from research.benchmarks import layers as M
from minitransformer.layers import Linear, SelfAttention
from minitransformer.zoo.baselines import GRU, LSTM, Convolution, RestrictedSelfAttention
from minitransformer_course.lab.table_1 import KERNEL, KINDS, RADIUS, Counted, at_steps

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)


def counted(*shape):
    return RNG.standard_normal(shape).view(Counted)


def test_products_are_counted_by_their_shapes():
    Counted.at_step.clear()
    a, b = counted(2, 3, 4), counted(4, 5)
    c = a @ b  # 2 x 3 x 5 sums of 4 terms
    assert Counted.at_step.total() == 120 and c.chain == 1
    d = np.einsum("btd,d->bt", c, counted(5))  # 2 x 3 sums of 5
    assert Counted.at_step.total() == 150 and d.chain == 2
    e = np.concatenate([d * 2, np.ones((1, 3))])  # no product of arrays that are multiplied
    assert Counted.at_step.total() == 150 and e.chain == 2 and e[:, :1].chain == 2
    f = np.zeros((3, 3)).view(Counted)
    f[1:] = e[1:]
    f += 1
    assert f.chain == 2 and (f @ np.ones((3, 1))).chain == 3 and Counted.at_step.total() == 159


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("n, d", [(96, 64), (128, 96)])
def test_the_formulas_hold(name, n, d):
    """At other sizes than the table's: exactly, but for the pairs that blocks of restricted
    attention mask.
    """
    kind = KINDS[name]
    found, _ = M.count(kind.make(d), n, d)
    if name != "restricted":
        assert found == kind.operations(n, d)
        return
    block, side = RADIUS // 2, 2
    assert found == 4 * n * d * d + 2 * n * (2 * side + 1) * block * d > kind.operations(n, d)


def test_products_are_counted_at_the_step_at_which_they_can_begin():
    n, d = 24, 16
    linear, pairs = n * d * d, n * n * d
    for heads in (1, 4):
        assert at_steps(SelfAttention(d, heads, RNG), n, d) == {
            1: 3 * linear,
            2: pairs,
            3: pairs,
            4: linear,
        }
    recurrent = at_steps(KINDS["recurrent"].make(d), n, d)
    assert recurrent == {1: linear + d * d, **dict.fromkeys(range(2, n + 1), d * d)}


def test_all_ratios_of_the_table_are_within_five_percent():
    for kind in KINDS.values():
        found, _ = M.count(kind.make(M.D), M.N, M.D)
        assert found / kind.operations(M.N, M.D) == pytest.approx(1, abs=0.05)


def test_a_product_too_many_is_seen():
    class Wasteful(Linear):
        def forward(self, x):
            super().forward(x)
            return super().forward(x)

    assert (
        M.count(Wasteful(8, 8, RNG), 16, 8)[0]
        == 2 * M.count(Linear(8, 8, RNG), 16, 8)[0]
        == 2 * 16 * 64
    )


def test_gated_recurrence_by_the_same_count():
    """8 n d^2 for the LSTM and 6 n d^2 for the GRU, in steps that wait for each other."""
    for kind, products in ((LSTM, 8), (GRU, 6)):
        assert M.count(kind(8, 8, RNG), 16, 8) == (products * 16 * 64, 16)


def test_the_steps_that_wait():
    """The recurrent layer's grow with the text; the others' do not."""
    for name, kind in KINDS.items():
        short, long = (M.count(kind.make(8), n, 8)[1] for n in (40, 80))
        assert (short, long) == (
            (40, 80)
            if name == "recurrent"
            else {
                "self-attention": (4, 4),
                "restricted": (4, 4),
                "convolutional": (1, 1),
                "separable": (2, 2),
            }[name]
        )


@pytest.mark.parametrize(
    "layer, n, expected",
    [
        (SelfAttention(8, 1, RNG), 50, 1),
        (KINDS["recurrent"].make(8), 50, 49),
        (Convolution(8, 8, RNG, 3), 50, 49),
        (Convolution(8, 8, RNG, 7), 50, 17),
        (Convolution(8, 8, RNG, 3, dilation=7), 50, 7),
        (Convolution(8, 8, RNG, 101), 50, 1),
        (RestrictedSelfAttention(8, 1, RNG, 5), 51, 10),
        (RestrictedSelfAttention(8, 1, RNG, 49), 50, 1),
    ],
)
def test_paths(layer, n, expected):
    assert M.path_length(layer, n, 8) == expected


def test_slopes():
    costs = [{"n": n, "seconds": 3e-6 * n**2} for n in (64, 128, 512)]
    assert M._slope(costs, "n", "seconds") == pytest.approx(2)


def test_all_that_is_told(monkeypatch):
    """At small sizes: a dict for each layer, with every size's time and memory; memory needs no
    clock and is exact enough.
    """
    monkeypatch.setattr(M, "LENGTHS", (8, 256, 1024, 4096))
    monkeypatch.setattr(M, "WIDTHS", (8, 16))
    monkeypatch.setattr(M, "WIDTH", 16)
    monkeypatch.setattr(M, "TURN", 0)
    found = list(M.measure(1))
    assert [row["layer"] for row in found] == list(KINDS)
    for row in found:
        assert [cost["n"] for cost in row["over_n"]] == [8, 256, 1024, 4096] and [
            cost["d"] for cost in row["over_d"]
        ] == [8, 16]
        assert all(
            cost["seconds"] > 0 and cost["bytes"] > 0 for cost in row["over_n"] + row["over_d"]
        )
    slopes = {row["layer"]: row["memory_slope_n"] for row in found}
    assert slopes.pop("self-attention") > 1.7
    assert all(slope == pytest.approx(1, abs=0.1) for slope in slopes.values())
    assert KERNEL == 3
