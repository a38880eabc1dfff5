"""Wrong solutions that no exercise lists: named by what was changed, or not at all."""

import ast
import math

import numpy as np
import pytest

from minitransformer_course.diagnosis.fitting import tuple_of
from minitransformer_course.diagnosis.changes import changes, formula
from minitransformer_course.judge.course import exercises
from minitransformer_course.judge.fitting import LISTED, ONE_CHANGE, TWO_CHANGES, fitting_mistakes
from minitransformer_course.judge.judgement import cases_of, check_function
from minitransformer_course.diagnosis.rules import rules
from minitransformer_course.diagnosis.syntax_tree import expression, fill, match
from research.mistakes.solutions import ONE, TWO, mean, normed, precisions, turned

pytestmark = pytest.mark.campaign

EXERCISES = exercises()


def diagnosis(name, wrong):
    answer = check_function(EXERCISES[name], wrong, watched=False)
    assert not answer.passed and len(str(answer).splitlines()) <= 8
    return answer.diagnosis


@pytest.mark.parametrize(
    "name, sentence, wrong", ONE, ids=[f"{name}: {sentence}" for name, sentence, _wrong in ONE]
)
def test_one_change_is_named(name, sentence, wrong):
    assert diagnosis(name, wrong) == sentence


@pytest.mark.parametrize(
    "name, first, second, wrong",
    TWO,
    ids=[f"{name}: {first}" for name, first, _second, _wrong in TWO],
)
def test_two_changes_are_both_named(name, first, second, wrong):
    said = diagnosis(name, wrong)
    assert first in said and second in said


@pytest.mark.parametrize(
    "change, words",
    [
        (
            lambda given: (given[0], 0.9 * given[1], *given[2:]),
            "wrong already with a W2 of 0: look at the attention to the memory",
        ),
        (
            lambda given: (*given[:5], 0.9 * given[5]),
            "and with a W2 of 0: look at the feed-forward network",
        ),
        (
            lambda given: (0.9 * given[0], *given[1:]),
            "wrong already with a memory and a W2 of 0: look at the masked self-attention",
        ),
    ],
)
def test_of_a_function_made_of_parts_the_first_wrong_one_is_named(change, words):
    reference = EXERCISES["decoder_layer"].reference
    answer = check_function(
        EXERCISES["decoder_layer"], lambda *given: reference(*change(given)) + 0, watched=False
    )
    assert not answer.diagnosis and words in answer.likely


def test_a_length_that_depends_on_the_numbers_is_judged_as_a_number():
    answer = check_function(
        EXERCISES["merged"], lambda ids, new: (ids[:2].copy(), ids[1:].copy()), watched=False
    )
    assert (
        answer.stage == "invariants" and answer.where == "the length of text: yours 31, expected 28"
    )


def test_a_wrong_shape_is_explained_too():
    def two_axes(dy, n, s, gamma):
        return (
            EXERCISES["layer_norm_backward"].reference(dy, n, s, gamma)[0],
            (dy * n).sum((0, 1)),
            dy.sum((0, 1)),
        )

    answer = check_function(EXERCISES["layer_norm_backward"], two_axes, watched=False)
    assert answer.stage == "shape" and "summed over the first two axes" in answer.diagnosis


def test_nothing_is_said_that_says_nothing():
    exercise = EXERCISES["mirror_matrix"]
    answer = check_function(exercise, lambda *given: exercise.reference(*given) ** 3, watched=False)
    assert "multiple of" not in str(answer) and "check each line" not in str(answer)


def test_whole_numbers_that_coincide_are_explained_together():
    """Without biases, an attention has 4 d_model fewer, as many as two norms have: the encoder
    alone would not tell.
    """

    def wrong(V, d, f, N):
        attention, feed_forward = 4 * d * d, 2 * d * f + f + d
        return (
            V * d,
            N * (attention + feed_forward + 4 * d),
            N * (2 * attention + feed_forward + 4 * d),
        )

    said = diagnosis("count_parameters", wrong)
    assert (
        said == "in attention, the term d_model is missing; in decoder, 2 is used where 3 belongs"
    )


def test_ids_that_come_back_as_they_were_are_told_so():
    said = diagnosis("merged", lambda ids, new: (ids[:2].copy(), ids.copy()))
    assert said.startswith("pair is the beginning of ids, unchanged; the text is unchanged")


def test_a_sum_of_ids_is_nobodys_mistake():
    """None of its n-grams is in a text of sums, either."""

    def wrong(hypothesis, reference, n):
        matches, total = EXERCISES["clipped_matches"].reference(hypothesis, reference, n)
        return matches // max(total, 1), total

    assert not diagnosis("clipped_matches", wrong)


def test_a_change_of_what_is_left_over_is_the_second_of_two():
    """Without the penalty, what is left is the mean, and it is the arithmetic one."""
    said = diagnosis(
        "corpus_bleu",
        lambda matches, totals, lengths, references: precisions(matches, totals).mean(),
    )
    assert said.startswith(
        "in bleu, the factor penalty is missing; in bleu, the mean of precisions is the arithmetic one"
    )


def test_a_rule_writes_only_letters_that_its_pattern_has():
    """What it writes would be a name that no reference has, and the rule would never apply."""
    for pattern, wrong, sentence, _rank in rules():
        letters = {node.id for node in ast.walk(pattern) if isinstance(node, ast.Name)}
        written = fill(wrong, dict.fromkeys(letters, ast.Constant(0)))
        left = {node.id for node in ast.walk(written) if isinstance(node, ast.Name)} - {"np", "len"}
        assert not left, (sentence, ast.unparse(wrong))


def test_a_letter_that_occurs_twice_is_the_same_expression():
    for code, fits in (("g * g", True), ("g * h", False), ("x[0] * x[0]", True)):
        assert (match(expression("a * a"), expression(code)) is not None) == fits


def test_no_sentence_is_about_the_array_itself():
    """db / db is 1 everywhere: nothing is known of it."""
    assert not diagnosis(
        "linear_backward", lambda dy, x, W: (dy @ W.T, x.T @ dy, np.ones(W.shape[1], W.dtype))
    )


def test_a_weight_that_keeps_the_batch_is_told():
    def wrong(dq, dk, dv, x, w_q, w_k, w_v):
        dx, *_dw = EXERCISES["projections_backward"].reference(dq, dk, dv, x, w_q, w_k, w_v)
        merged = (g.swapaxes(1, 2).reshape(*x.shape[:2], -1) for g in (dq, dk, dv))
        return dx, *(turned(x) @ g for g in merged)

    assert "not summed over the batch" in diagnosis("projections_backward", wrong)


def test_an_array_that_only_lacks_a_sum_is_told_over_which_axis():
    """Whatever is wrong with the others: dx lacks two paths, dw_k is right."""

    def wrong(dq, dk, dv, x, w_q, w_k, w_v):
        _dx, dw_q, dw_k, dw_v = EXERCISES["projections_backward"].reference(
            dq, dk, dv, x, w_q, w_k, w_v
        )
        merged = dq.swapaxes(1, 2).reshape(*x.shape[:2], -1)
        return merged @ w_q.T, turned(x) @ merged, dw_k, dw_v

    answer = check_function(EXERCISES["projections_backward"], wrong, watched=False)
    assert answer.where.startswith("dw_q has the shape") and answer.why.startswith(
        "summed over axis 0, it is right"
    )
    answer = check_function(
        EXERCISES["projections_backward"],
        lambda *given: [2 * one for one in wrong(*given)][1],
        watched=False,
    )
    assert "summed over" not in str(answer)


def test_of_two_sentences_the_one_with_the_learners_own_names_comes_first():
    """At a square W, W^T in place of W; the learner writes dz, so no sentence speaks of it by its
    formula.
    """
    exercise = EXERCISES["post_norm_backward"]
    cases = exercise.cases()

    def wrong(dy, x, W, n, s):
        dx, dW = exercise.reference(dy, x, W, n, s)
        return 2 * dx, dW

    given = [tuple_of(wrong(*arguments)) for _name, arguments in cases]
    known = fitting_mistakes(
        exercise, cases, given, "def post_norm_backward(dy, x, W, n, s): dx, dW"
    )
    assert all(len(marks) == 1 for marks in known)


def test_a_change_that_reaches_one_output_only_is_told_so():
    def wrong(dy, query, key, value, p):
        dquery, dkey, dvalue = EXERCISES["attention_backward"].reference(dy, query, key, value, p)
        return dquery, turned(dy @ turned(value)) @ query / math.sqrt(query.shape[-1]), dvalue

    assert diagnosis("attention_backward", wrong).startswith("in dkey alone: in dscores, ")


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("softmax", lambda x: np.tanh(x)),
        (
            "mirror_matrix",
            lambda frequencies, n: EXERCISES["mirror_matrix"].reference(frequencies, n) * 1.01,
        ),
        (
            "layer_norm_backward",
            lambda dy, n, s, gamma: normed(
                dy, n, s, gamma, lambda dn: s * (dn - 0.9 * mean(dn) - n * mean(dn * n))
            ),
        ),
        (
            "causal_mask",
            lambda ids: np.tri(ids.shape[1], dtype=bool) & (np.arange(ids.shape[1]) % 3 != 1),
        ),
    ],
)
def test_what_no_change_explains_is_not_named(name, wrong):
    assert not diagnosis(name, wrong)


def test_what_gives_the_same_is_named_by_the_more_usual_mistake():
    """n times a mean of n is 0, too: but it is the term that is left out."""

    def wrong(dy, x, W, n, s):
        dz = s * (dy - mean(dy))
        return dz + dz @ W, x.reshape(-1, len(W)).T @ dz.reshape(-1, len(W))

    said = diagnosis("post_norm_backward", wrong)
    assert (
        "in dz, the term - n mean(dy n) is missing" in said and "in dx, W is not transposed" in said
    )


def test_of_two_changes_at_once_the_most_usual_are_named():
    """A forgotten exp and y in place of p give the same numbers: people forget the exp."""
    said = diagnosis("log_softmax_backward", lambda dy, y: dy + y * dy.sum(axis=-1, keepdims=True))
    assert (
        said
        == "in p, exp is missing: y is taken as it is; in dx, p sum(dy) is added, not subtracted"
    )


# They return masks, ids or counts:
WHOLE = (
    "shifted",
    "causal_mask",
    "three_masks",
    "masked_loss",
    "find_leaks",
    "copied",
    "answer_targets",
    "count_parameters",
    "beam_step",
    "ranked",
    "clipped_matches",
    "merged",
    "figure_1_shapes",
    "may_follow",
    "beaten",
    "multiplications",
    "layers_needed",
)


def test_masks_and_ids_are_judged_on_more_cases_than_numbers():
    for name, exercise in EXERCISES.items():
        more = len(cases_of(exercise)) - len(exercise.cases()) - 3
        assert more == (4 if name in WHOLE else 0), name


@pytest.mark.parametrize(
    "code, text",
    [
        ("x.T @ dy", "x^T dy"),
        ("p * (dp - (dp * p).sum(axis=-1, keepdims=True))", "p (dp - sum(dp p))"),
        ("a - (b - c)", "a - (b - c)"),
        ("a / (b * c)", "a / (b c)"),
        ("(a + b) ** 2", "(a + b)^2"),
        ("query @ key.swapaxes(-1, -2) / math.sqrt(d)", "query key^T / sqrt(d)"),
        ("-(a + b) * c", "-(a + b) c"),
        ("dh * (a > 0)", "dh (a > 0)"),
        ("s * along", "s mean(dy n)"),
    ],
)
def test_an_expression_in_the_notation_of_the_chapters(code, text):
    means = {"along": ast.parse("(dy * n).mean(axis=-1)", mode="eval").body}
    assert formula(ast.parse(code, mode="eval").body, means) == text


def test_each_change_is_another_expression():
    for code in (
        "a + b",
        "a - b",
        "a * (b - c)",
        "(a - b) / (2 * h)",
        "a @ b",
        "a ** 2",
        "p & q",
        "a > 0",
        "np.exp(a)",
        "x.sum(axis=-1, keepdims=True)",
        "np.where(m, a, b)",
        "x.swapaxes(1, 2)",
        "x.reshape(a, b)",
        "x.shape[0]",
        "x[:, 1:]",
        "3",
        "a",
    ):
        node = ast.parse(code, mode="eval").body
        made = [
            ast.unparse(ast.fix_missing_locations(one.node))
            for one in changes(node, {"a": "f", "b": "f", "m": "i"}, {})
        ]
        assert made and code not in made, code


def test_a_mistake_is_looked_for_in_order():
    assert LISTED < ONE_CHANGE < TWO_CHANGES
    exercise = EXERCISES["linear_backward"]
    cases = exercise.cases()
    given = [tuple(-one for one in exercise.reference(*arguments)) for _name, arguments in cases]
    (marks,) = fitting_mistakes(exercise, cases, given)
    assert [mark.sentence for mark in marks] == ["every output has the wrong sign"]
