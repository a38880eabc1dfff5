"""Every exercise is proven: the reference passes, every listed mistake fails with its own
diagnosis, nothing cheap passes.
"""

import re

import numpy as np
import pytest

from minitransformer.checking.compare import relative_error
from minitransformer.checking.numeric import central, complex_step, of_each
from minitransformer_course.judge.cells import parse
from minitransformer_course.judge.changes_of_arrays import (
    factors,
    other_inputs,
    other_outputs,
)
from minitransformer_course.judge.course import chapters, exercises
from minitransformer_course.judge.exercise import BLANK, blanks, skeleton
from minitransformer_course.judge.explanation import EXACT
from minitransformer_course.judge.hints import SHORT, STEPS, hint, shuffled
from minitransformer_course.judge.judgement import check_function
from minitransformer_course.judge.learner_file import percent_page
from minitransformer_course.judge.lines import lines_of
from minitransformer_course.judge.plug import in_the_paper, plugs, train

pytestmark = pytest.mark.campaign

EXERCISES = exercises()
find_leaks = EXERCISES["find_leaks"].reference
MISTAKES = [(name, mark) for name, one in EXERCISES.items() for mark in one.mistakes]


def judged(exercise, function, **options):
    return check_function(exercise, function, watched=False, **options)


def arrays(returned):
    return [np.asarray(one) for one in (returned if isinstance(returned, tuple) else (returned,))]


@pytest.fixture(params=EXERCISES)
def exercise(request):
    return EXERCISES[request.param]


def test_the_reference_passes_at_any_sizes(exercise):
    for seed in range(2):
        answer = judged(exercise, exercise.reference, seed=seed)
        assert answer.passed, answer


def test_a_gradient_is_proven_by_both_methods(exercise):
    if exercise.loss:
        for _name, arguments in exercise.cases()[:2]:
            expected = arrays(exercise.reference(*arguments))
            assert (
                relative_error(differentiate(exercise, arguments, complex_step), expected) <= EXACT
            )
            assert relative_error(differentiate(exercise, arguments, central), expected) <= 1e-6


def differentiate(exercise, arguments, method):
    """The gradients of the exercise's loss, each element by `method`."""
    loss, given = exercise.loss(*arguments)
    moved = [np.array(array, dtype=complex if method is complex_step else float) for array in given]
    return [of_each(method, lambda: loss(*moved), 1, array) for array in moved]


@pytest.fixture
def unnamed(monkeypatch):
    """No mistake is looked for, which takes most of the time: the verdict does not depend on it."""
    monkeypatch.setattr(
        "minitransformer_course.judge.judgement.fitting_mistakes", lambda *given, **options: []
    )


@pytest.mark.usefixtures("unnamed")
@pytest.mark.parametrize("cheap", ["zeros", "the input"])
def test_what_is_cheap_does_not_pass(exercise, cheap):
    """Nor does a constant: it has a test below."""

    def function(*arguments):
        right = exercise.reference(*arguments)
        first = next((one for one in arguments if isinstance(one, np.ndarray)), np.zeros(3))
        made = [np.zeros_like(one) if cheap == "zeros" else first for one in arrays(right)]
        return tuple(made) if isinstance(right, tuple) else made[0]

    assert not judged(exercise, function).passed


@pytest.mark.usefixtures("unnamed")
def test_the_blank_does_not_pass(exercise):
    namespace = {"np": np, "math": __import__("math")}
    exec(skeleton(exercise.source, exercise.name), namespace)
    answer = judged(exercise, namespace[exercise.name])
    assert not answer.passed and "where you begin" in answer.why


@pytest.mark.parametrize(
    "name, mark", MISTAKES, ids=[f"{name}-{mark.wrong.__name__}" for name, mark in MISTAKES]
)
def test_a_mistake_fails_with_its_own_diagnosis(name, mark):
    answer = judged(EXERCISES[name], mark.wrong, seed=len(mark.sentence) % 2)
    assert not answer.passed and answer.diagnosis == mark.sentence, answer
    assert len(str(answer).splitlines()) <= 8


def test_at_least_four_mistakes_and_another_style(exercise):
    assert len(exercise.mistakes) >= 4 and len(
        {mark.sentence for mark in exercise.mistakes}
    ) == len(exercise.mistakes)
    assert exercise.styles
    for style in exercise.styles:
        assert judged(exercise, style).passed, (style.__name__, judged(exercise, style))


def test_the_skeleton_is_the_reference_without_its_blanks(exercise):
    empty = skeleton(exercise.source, exercise.name)
    full = [blank["lines"] for blank in BLANK.finditer(exercise.source)]
    assert full and max(len(lines.splitlines()) for lines in full) <= 15
    refill = iter(full)
    assert (
        BLANK.sub(lambda blank: blank["begin"] + next(refill) + blank["end"], empty)
        == exercise.source
    )
    assert all(lines.strip() not in empty for lines in full)


def test_a_borrowed_answer_is_not_passed(exercise):
    answer = check_function(exercise, exercise.reference)
    assert not answer.passed and answer.stage == "own" and "borrowed" in answer.why


def test_the_hints(exercise):
    question, _term, hole = exercise.module.hints
    assert "?" in question
    lines = [line.strip() for blank in blanks(exercise.source) for line in blank]
    before, _, after = hole.partition("___")
    assert any(
        line.startswith(before) and line.endswith(after) and len(line) > len(before + after)
        for line in lines
    ), hole
    assert len(lines) > 1 and shuffled(exercise) != lines
    if len(lines) > SHORT:
        assert sorted(shuffled(exercise)) == sorted(lines)
    else:  # the lines alone would be the solution
        assert [sorted(re.sub(r"[\s()\[\],]", "", line)) for line in shuffled(exercise)] == [
            sorted(re.sub(r"[\s()\[\],]", "", line)) for line in lines
        ]
        assert not [
            mixed
            for line, mixed in zip(lines, shuffled(exercise))
            if re.search(r" ([-+*/@]|[=<>!]=) ", line) and mixed.split() == line.split()
        ]
    assert len({hint(exercise, step) for step in range(1, STEPS + 1)}) == STEPS


def test_the_section_to_read_again_is_in_the_chapter(exercise):
    assert f"# ## {exercise.module.section}\n" in exercise.chapter.text


def test_every_word_can_be_shown_on_a_korean_console(exercise):
    words = [
        exercise.title,
        exercise.task,
        exercise.source,
        *(hint(exercise, step) for step in range(1, STEPS + 1)),
        *(mark.sentence for mark in (*exercise.mistakes, *exercise.invariants)),
    ]
    for text in words:
        text.encode("cp949")


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_a_chapter_has_at_most_six_exercises_in_its_file(chapter):
    assert len(chapter.exercises) <= 6
    page = percent_page(chapter)
    assert all(f"def {one.name}(" in page for one in chapter.exercises)
    in_the_page = [cell.name for cell in parse(chapter.text) if cell.kind == "exercise"]
    assert sorted(in_the_page) == sorted(one.name for one in chapter.exercises)


LATER = {  # {the module of a block that came after the paper: the configuration that has it}
    "rms_norm": dict(norm="rms"),
    "rotary": dict(positions="rotary", attention="grouped"),
    "gated": dict(activation="swiglu"),
    "grouped_attention": dict(attention="grouped", attention_settings={"kv_heads": 2}),
}


@pytest.mark.parametrize("name", [name for name, one in EXERCISES.items() if one.plug])
def test_a_plugged_function_runs_in_the_model_and_trains_like_the_librarys(name):
    calls = []

    def own(*arguments):
        calls.append(name)
        return EXERCISES[name].reference(*arguments)

    later = LATER.get(EXERCISES[name].plug.replaced.__module__.rpartition(".")[2], {})
    assert bool(later) != (name in in_the_paper())
    np.testing.assert_allclose(
        train(plugs({name: own}), steps=2, **later).losses,
        train(steps=2, **later).losses,
        rtol=1e-4,
    )
    assert calls


def test_what_happens_at_a_loss_of_0_and_at_a_small_move_is_seen():
    leaks, loss = EXERCISES["find_leaks"].module, EXERCISES["masked_loss"].module
    assert "threshold is larger" in judged(EXERCISES["find_leaks"], leaks.large_threshold).diagnosis
    assert not judged(EXERCISES["masked_loss"], loss.losses_not_0).passed


def test_a_sum_of_terms_that_is_right_is_not_blamed():
    right = EXERCISES["layer_norm_backward"].reference
    answer = judged(
        EXERCISES["layer_norm_backward"],
        lambda *given: (right(*given)[0], right(*given)[1] + 1e-3, right(*given)[2]),
    )
    assert "as a sum" not in answer.why and "dx, dbeta" in answer.why


UNLISTED = {  # a wrong solution that no exercise lists
    "softmax_backward": lambda dp, p: p * (dp - 1.01 * (dp * p).sum(axis=-1, keepdims=True)),
    "layer_norm_backward": lambda dy, normed, inverse, gamma: (
        dy * inverse**2,
        *EXERCISES["layer_norm_backward"].reference(dy, normed, inverse, gamma)[1:],
    ),
    "linear_backward": lambda dy, x, W: (dy @ W.T, x.T @ dy, dy.sum(axis=0) + 1e-3),
    "attention_backward": lambda dy, q, k, v, p: tuple(
        g + 1e-6 for g in EXERCISES["attention_backward"].reference(dy, q, k, v, p)
    ),
}


@pytest.mark.parametrize("name", UNLISTED)
def test_what_is_not_listed_is_not_named(name):
    answer = judged(EXERCISES[name], UNLISTED[name])
    assert not answer.passed and not answer.diagnosis
    assert ("no known pattern" in str(answer)) == (
        answer.stage != "shape"
    )  # a wrong shape says enough


def test_a_right_sum_is_not_blamed_for_another_array():
    answer = judged(EXERCISES["residual_backward"], lambda dy, x, W: (dy + dy @ W.T, 2 * x.T @ dy))
    assert (
        answer.where.startswith("dW")
        and answer.why == "right: dx; dW is 2 times what is expected, everywhere"
    )


def test_an_exception_is_told_with_the_shapes_of_its_call():
    answer = judged(
        EXERCISES["dropouts_backward"], lambda dy, x, W, keep1, keep2, rate: dy @ x[0, :, :3]
    )
    said, call = answer.why.split("\n")
    assert said.startswith("ValueError") and "dy (" in call and "rate = 0.3" in call


def test_two_mistakes_are_both_named():
    diagnosis = judged(
        EXERCISES["linear_backward"], lambda dy, x, W: (dy @ W.T, dy.T @ x, dy)
    ).diagnosis
    assert "dW is dy^T x" in diagnosis and "db is not summed" in diagnosis


def test_wrong_numbers_are_told_before_float32():
    lossy = EXERCISES["embedding_backward"].mistakes[0].wrong
    answer = judged(
        EXERCISES["embedding_backward"], lambda dy, ids, W: np.float64(1) * lossy(dy, ids, W)
    )
    assert answer.stage == "invariants" and "repeated tokens" in answer.diagnosis


def test_a_numeric_derivative_need_not_keep_float32():
    function = lambda f, dy, x, v, h: (dy * f(x.astype(complex) + 1j * h * v).imag).sum() / h
    assert judged(EXERCISES["slope_along"], function).passed


def test_numbers_before_an_exception_name_the_mistake():
    """A cache that is not reordered gives wrong numbers while each hypothesis has one child, and
    does not fit when one has two.
    """

    def not_reordered(query, key, value, keys, values, parents):
        return EXERCISES["cached_step"].reference(
            query, key, value, keys, values, np.arange(len(key))
        )

    answer = judged(EXERCISES["cached_step"], not_reordered)
    assert answer.stage == "runs" and "LIKELY  the cache is not reordered" in str(answer)


def test_an_exception_says_what_the_function_was_called_with():
    answer = judged(EXERCISES["linear_backward"], lambda dy, x, W: (dy @ W, x, W))
    assert (
        answer.stage == "runs"
        and "it was called with dy (" in answer.why
        and "LIKELY" not in str(answer)
    )


def test_the_terms_of_a_sum_are_told_with_their_factors():
    answer = judged(EXERCISES["softmax_backward"], UNLISTED["softmax_backward"])
    assert "1 (p dp) + 1.01 (- p sum(dp p))" in answer.why


@pytest.mark.parametrize(
    "name, wrong, words",
    [
        (
            "find_leaks",
            lambda model, ids: (
                ~find_leaks(model, ids) & np.triu(np.ones((len(ids), len(ids)), bool), 1)
            ),
            "leak: True where False belongs",
        ),
        (
            "find_leaks",
            lambda model, ids: np.zeros((len(ids), len(ids)), bool),
            "leak is False everywhere",
        ),
        (
            "shifted",
            lambda target: (
                EXERCISES["shifted"].reference(target)[0],
                np.concatenate([target, np.full_like(target[:, :1], 2)], axis=1),
            ),
            "right: decoder_input; next_target[",
        ),
        (
            "embedding",
            lambda ids, W: 3 * EXERCISES["embedding"].reference(ids, W),
            "y is 3 times what is expected, everywhere",
        ),
        (
            "softmax_backward",
            lambda dp, p: p * (dp - dp * p.sum(axis=-1, keepdims=True)),
            "dx is 0 everywhere",
        ),
    ],
)
def test_the_difference_is_told_in_the_words_of_its_kind(name, wrong, words):
    """True and False, token ids and numbers differ in other ways: a factor means nothing to a mask."""
    assert judged(EXERCISES[name], wrong).why.startswith(words)


@pytest.mark.parametrize(
    "name, wrong, where, why",
    [
        (
            "softmax",
            lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True),
            "p[0, 0]: nan; NaN or",
            "exp(1000) overflows",
        ),
        ("softmax_backward", lambda dp, p: dp / (p - p), "dx[0, 0, 0]: ", "a division by 0"),
        (
            "clip",
            lambda dW, db, limit: tuple(
                one / (norm := np.sqrt((dW**2).sum() + (db**2).sum())) * min(norm, limit)
                for one in (dW, db)
            ),
            "dW[0, 0]: nan",
            "0 / 0",
        ),
    ],
)
def test_nan_and_infinity_come_first_and_with_the_usual_causes(name, wrong, where, why):
    """Many a change makes all numbers NaN, so none is likely; what the exercise itself lists is
    told as a cause.
    """
    answer = judged(EXERCISES[name], lambda *given: wrong(*given))
    assert (
        answer.stage == "finite"
        and where in answer.where
        and why in answer.why
        and not answer.likely
    )


def test_a_constant_does_not_pass_and_no_change_is_blamed_for_it(exercise):
    """An answer that is always the same is what many a change makes somewhere."""
    value = (1.0, 0.5, 7.0)[len(exercise.name) % 3]

    def function(*arguments):
        right = exercise.reference(*arguments)
        made = [np.full_like(one, value) for one in arrays(right)]
        return tuple(made) if isinstance(right, tuple) else made[0]

    listed = {mark.sentence for mark in exercise.mistakes}
    answer = judged(exercise, function)
    assert not answer.passed
    assert (
        not answer.diagnosis
        or {*answer.diagnosis.split("; ")} <= listed
        or "everywhere" in answer.diagnosis
    ), answer


@pytest.mark.parametrize(
    "name, change",
    [
        ("masked_loss", lambda total, count: [float(total), count]),
        ("softmax_backward", lambda dx: dx),
        ("perplexity", np.float64),
    ],
)
def test_a_list_and_a_measure_in_float64_are_right(name, change):
    def function(*arguments):
        right = EXERCISES[name].reference(*arguments)
        return change(*right) if isinstance(right, tuple) else change(right)

    assert judged(EXERCISES[name], function).passed


@pytest.mark.parametrize(
    "name, wrong, stage, words",
    [
        (
            "softmax",
            lambda x: EXERCISES["softmax"].reference(x) * np.sqrt(1),
            "float32",
            "math.sqrt(number)",
        ),
        (
            "softmax",
            lambda x: EXERCISES["softmax"].reference(x).astype(float),
            "float32",
            "which line turns it into float64",
        ),
        (
            "softmax_backward",
            lambda dp, p: EXERCISES["softmax_backward"].reference(dp, p) + np.zeros(1),
            "float32",
            "without dtype=",
        ),
        ("causal_mask", lambda ids: np.tri(ids.shape[1]), "shape", "has to hold True and False"),
    ],
)
def test_another_dtype_gets_the_usual_reason(name, wrong, stage, words):
    answer = judged(EXERCISES[name], wrong)
    assert answer.stage == stage and words in answer.why and "no known pattern" not in str(answer)


@pytest.mark.parametrize(
    "words, wrong",
    [
        ("runs over the wrong axis", lambda dp, p: p * (dp - (dp * p).sum(axis=0, keepdims=True))),
        (
            "in sum(dp p), the factor dp is missing",
            lambda dp, p: p * (dp - p.sum(axis=-1, keepdims=True)),
        ),
        ("in dx, the term dp is missing", lambda dp, p: -p * (dp * p).sum(axis=-1, keepdims=True)),
    ],
)
def test_one_change_of_the_reference_is_named_though_nobody_listed_it(words, wrong):
    assert words in judged(EXERCISES["softmax_backward"], wrong).diagnosis


@pytest.mark.parametrize(
    "name, diagnosis, wrong",
    [
        (
            "tied_backward",
            "dW is 2 times what is expected",
            lambda dlogits, h, W: (dlogits @ W, 2 * dlogits.T @ h),
        ),
        (
            "tied_backward",
            "every output is 1/sqrt(h.shape[1]) times what is expected",
            lambda dlogits, h, W: (
                dlogits @ W / np.sqrt(W.shape[1], dtype=W.dtype),
                dlogits.T @ h / np.sqrt(W.shape[1], dtype=W.dtype),
            ),
        ),
        ("tied_backward", "dW is 0 everywhere", lambda dlogits, h, W: (dlogits @ W, 0 * W)),
        (
            "contributions",
            "c has its axes 1 and 2 swapped (transposed)",
            lambda heads, w_o: EXERCISES["contributions"].reference(heads, w_o).swapaxes(1, 2),
        ),
        (
            "shares_backward",
            "in dx, y is used where s belongs",
            lambda dy, x: (
                EXERCISES["shares_backward"].reference(dy, x)
                * x.sum(axis=-1, keepdims=True) ** 2
                / x
            ),
        ),
        (
            "tied_backward",
            "dh has the factor sqrt(d_model): that belongs to the embedding only; dW has the wrong sign",
            lambda dlogits, h, W: (dlogits @ W * float(np.sqrt(W.shape[1])), -dlogits.T @ h),
        ),
    ],
)
def test_what_is_wrong_with_an_output_is_named_though_nobody_listed_it(name, diagnosis, wrong):
    assert judged(EXERCISES[name], wrong).diagnosis == diagnosis


def test_two_wrong_outputs_are_not_named_if_one_of_them_is_unknown():
    answer = judged(
        EXERCISES["tied_backward"], lambda dlogits, h, W: (dlogits @ W, -dlogits.T @ h + 1e-3)
    )
    assert not answer.diagnosis


def test_changes_of_the_reference_can_be_made_and_shown(exercise):
    if exercise.versions:  # a verdict is one bit: only what is listed is named
        return
    cases = exercise.cases()
    named = factors(exercise, cases)
    outputs = range(len(exercise.returns))
    whole = [
        *other_outputs(exercise, cases, named, outputs),
        *other_inputs(exercise, cases),
    ]
    lines = [variant for line in lines_of(exercise, tuple(named)) for variant in line.variants]
    assert len(whole) > 20 and len(lines) > 20
    for one in whole + lines:
        one.sentence.encode("cp949")
