"""The judge of the chapters: which wrong formula is it, or none."""

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer.diagnosis.judge import judge

rng = np.random.default_rng(0)
INPUTS = [(rng.standard_normal((2, 3)),), (rng.standard_normal((4, 5)),)]


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def over_columns(x):
    return softmax(x.T).T


def without_division(x):
    return np.exp(x - x.max(axis=-1, keepdims=True))


MISTAKES = {"the sum runs over the wrong axis": over_columns, "the division by the sum is missing": without_division}


def test_a_right_function():
    verdict = judge(lambda x: softmax(x), softmax, MISTAKES, INPUTS)
    assert verdict.right and str(verdict) == "right"


@pytest.mark.parametrize("sentence", MISTAKES)
def test_a_known_mistake_is_named(sentence):
    verdict = judge(MISTAKES[sentence], softmax, MISTAKES, INPUTS)
    assert not verdict.right and verdict.sentence == sentence
    assert verdict.after < 1e-12 < verdict.error
    assert str(verdict).startswith(f"{sentence} (with this undone the error falls from ")


def test_an_unknown_mistake_is_not_guessed():
    verdict = judge(lambda x: softmax(x) + 1e-3, softmax, MISTAKES, INPUTS)
    assert not verdict.right and not verdict.sentence and not verdict.candidates
    assert "none of the known mistakes" in str(verdict)


def test_of_two_that_explain_it_equally_well_none_is_named():
    twins = {"one": over_columns, "two": lambda x: over_columns(x)}
    verdict = judge(over_columns, softmax, twins, INPUTS)
    assert not verdict.sentence and set(verdict.candidates) == {"one", "two"}


def test_at_a_batch_of_two_twice_and_times_the_batch_are_kept_apart():
    mistakes = {"twice": lambda x: 2 * x, "times the batch": lambda x: len(x) * x}
    for sentence, wrong in mistakes.items():
        assert judge(wrong, lambda x: x, mistakes, INPUTS).sentence == sentence
    with pytest.raises(InputError, match="expected at least 2 of different sizes"):
        judge(mistakes["twice"], lambda x: x, mistakes, INPUTS[:1])


def test_a_formula_that_gives_infinity_explains_no_finite_answer():
    mistakes = {"divided by 0": lambda x: (x / 0, x)}
    assert not judge(lambda x: (x + 1, x + 2), lambda x: (x, x), mistakes, INPUTS).sentence


def in_place(x):
    x *= 2
    return x


@pytest.mark.parametrize("function, words", [
    (in_place, "in place"),
    (lambda x: x[0], "shape"),
    (lambda x: (x, x), "returns 2 arrays, expected 1"),
    (lambda x: x * np.nan, "NaN"),
    (lambda x: x @ x, "raises ValueError"),
    (lambda x: None, "shape"),
])
def test_what_cannot_be_compared_is_said(function, words):
    verdict = judge(function, lambda x: x, MISTAKES, INPUTS)
    assert not verdict.right and words in str(verdict)


def test_several_arrays():
    verdict = judge(lambda x: (2 * x, -x), lambda x: (x, -x), {"the first is doubled": lambda x: (2 * x, -x)}, INPUTS)
    assert verdict.sentence == "the first is doubled"


def test_a_mistake_is_named_by_its_nan_its_shape_and_its_masks():
    large = [(1000 * x,) for (x,) in INPUTS]
    overflow = {"the maximum is not subtracted": lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)}
    assert judge(overflow["the maximum is not subtracted"], softmax, overflow, large).sentence == "the maximum is not subtracted"
    dropped = {"keepdims is missing": lambda x: x.sum(axis=-1)}
    verdict = judge(lambda x: x @ np.ones(x.shape[1]), lambda x: x.sum(axis=-1, keepdims=True), dropped, INPUTS)
    assert verdict.sentence == "keepdims is missing"
    turned = {"the comparison is the wrong way round": lambda x: x <= 0}
    assert judge(lambda x: ~(x > 0), lambda x: x >= 0, turned, INPUTS).sentence == "the comparison is the wrong way round"
