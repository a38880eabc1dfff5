"""Errors planted in the engine and in its explanations, one at a time: the comparison with the
library finds each of them.
"""

import pytest

from minitransformer_course.explorer.page import script
from tests.course.explorer.engine import blank_page, differences, random_case

pytestmark = pytest.mark.slow

# (file of the engine, what stands there, what is planted)
PLANTED = [
    ("linear", "this.bias.add(sumOfRows(dy))", "this.bias.add(sumOfRows(scale(dy, 0.5)))"),
    ("embedding", "table[ids[t]][i] += ", "table[ids[t]][i] = "),
    ("positions", "this.weight.grad.data[n] += a", "this.weight.grad.data[n] -= a"),
    ("positions", "i % 2 ? Math.cos", "i % 2 === 0 ? Math.cos"),
    ("softmax", "a * (dp.data[i] - mean[Math.floor(i / d)])", "a * dp.data[i]"),
    (
        "attention",
        "return [matmul(ds, k), matmul(transpose(ds), q)]",
        "return [matmul(dscores, k), matmul(transpose(ds), q)]",
    ),
    ("attention", "return [dquery, add(dkey, dvalue)]", "return [dquery, dkey]"),
    ("layer_norm", "n[i] * throughVariance", "throughVariance"),
    ("feed_forward", "x > 0 ? 1 : 0", "1"),
    ("residual", "const dx = add(past, through)", "const dx = through"),
    ("decoder", "dmemory ? add(dmemory, dlayer) : dlayer", "dlayer"),
    ("cross_entropy", "row[targets[t]] -= (1 - smoothing) * dloss", "row[targets[t]] -= dloss"),
    ("adam", "g => -g * this.scale(g)", "g => -g"),
    # explanations
    ("terms", '(how === "a" ? k * ac + row : row * ac + k)', "row * ac + k"),
    ("terms", '(how === "b" ? column * bc + k : k * bc + column)', "k * bc + column"),
    ("terms", ".filter(j => p.data[j] > 0)", ""),
    ("terms", "this.uses.get(array).flatMap(terms => terms(i))", "this.uses.get(array)[0](i)"),
    ("terms", "array.parts.map(part => [[part, i]])", "[[[array.parts[0], i]]]"),
    ("linear", "[...products(x, W, i), [[b, i % b.data.length]]]", "products(x, W, i)"),
    ("embedding", "[[root, [W, ids", "[[1, [W, ids"),
    ("embedding", "id === Math.floor(i / d) ? [[root, ", "id === i % d ? [[root, "),
    ("positions", "{ y: i => [[[x, i]], [[table, i]]]", "{ y: i => [[[x, i]]]"),
    ("softmax", "[-1, [p, i], [p, j], [dp, j]]", "[-1, [p, j], [p, j], [dp, j]]"),
    (
        "attention",
        'return { y: i => products(q, k, i, "b", factor)',
        'return { y: i => products(q, k, i, "b")',
    ),
    (
        "attention",
        'n ? products(p, dheads, i, "a") : products(dheads, v, i, "b")',
        'products(dheads, v, i, "b")',
    ),
    ("layer_norm", "-of(i) / d * (1 + normed.data[i] * normed.data[j])", "-of(i) / d"),
    ("layer_norm", "[[dy, n], [normed, n]]", "[[dy, n]]"),
    ("residual", "return { y: i => [[[x, i]], [[h, i]]]", "return { y: i => [[[x, i]], [[x, i]]]"),
    ("feed_forward", "[[this.derivative(x.data[i]), [dy, i]]]", "[[[dy, i]]]"),
    ("output", 'weight: i => products(dlogits, x, i, "a")', "weight: i => products(dlogits, x, i)"),
    ("cross_entropy", "smoothing / size + (", "("),
    ("cross_entropy", "[-dloss, q(i)]]", "[dloss, q(i)]]"),
    (
        "adam",
        "[[-1, [grad, i], this.scale(grad.data[i])]]",
        "[[[grad, i], this.scale(grad.data[i])]]",
    ),
]
SEEDS = range(8)  # of both kinds, pre-norm and post-norm, with padding and without


def test_nothing_is_planted_twice():
    assert len({*PLANTED}) == len(PLANTED) == 33
    for name, right, _ in PLANTED:
        assert script(f"engine/{name}").count(right) == 1, (name, right)


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        pytest.param(*one, marks=() if i % 11 == 0 else pytest.mark.campaign)
        for i, one in enumerate(PLANTED)
    ],
)
def test_a_planted_error_is_found(browser, tmp_path_factory, name, right, wrong):
    def planted(other):
        text = script(other)
        return text.replace(right, wrong) if other == f"engine/{name}" else text

    browser.open(blank_page(tmp_path_factory.mktemp("planted"), planted).as_uri())
    worst = 0.0
    for seed in SEEDS:
        try:
            worst = max(worst, *differences(browser, *random_case(seed)).values())
        except Exception:  # it raises, or gives another shape or no number
            return
        if not worst < 1e-9:
            return
    raise AssertionError(f"not found: {worst}")
