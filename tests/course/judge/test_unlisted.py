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

pytestmark = pytest.mark.campaign

EXERCISES = exercises()


def diagnosis(name, wrong):
    answer = check_function(EXERCISES[name], wrong, watched=False)
    assert not answer.passed and len(str(answer).splitlines()) <= 8
    return answer.diagnosis


def turned(x):
    return x.swapaxes(-1, -2)


def mean(x):
    return x.mean(axis=-1, keepdims=True)


def weighted(scores, value):
    p = EXERCISES["softmax"].reference(scores)
    return p @ value, p


def normed(dy, n, s, gamma, dx):
    rows = tuple(range(dy.ndim - 1))
    return dx(dy * gamma), (dy * n).sum(rows), dy.sum(rows)


def moments(w, g, m, v, t, learning_rate, beta1, beta2, epsilon, square=lambda g: g * g):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * square(g)
    return w - learning_rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon), m, v


def bleu(precisions, ratio, root=None):
    return np.exp(np.minimum(0, 1 - ratio)) * precisions.prod() ** (root or 1 / len(precisions))


def precisions(matches, totals):
    return matches.sum(axis=0) / totals.sum(axis=0)


def shared(dsource, dtarget, dlogits, h, source, target, E, of_source, of_target, of_logits=1.0):
    dE = of_logits * np.einsum("btv,btd->vd", dlogits, h)
    np.add.at(dE, source, of_source * dsource)
    np.add.at(dE, target, of_target * dtarget)
    return dlogits @ E, dE


def clipped_by_the_square(dW, db, limit):
    norm = np.sqrt((dW * dW).sum() + (db * db).sum())
    return [one * (limit / norm if norm**2 > limit else 1) for one in (dW, db)]


ONE = [
    (
        "layer_norm",
        "epsilon is not read: it is 1e-05 all the time",
        lambda x, gamma, beta, epsilon: EXERCISES["layer_norm"].reference(x, gamma, beta, 1e-5),
    ),
    (
        "clip",
        "in limit / max(norm, limit), the square of norm is compared with limit",
        clipped_by_the_square,
    ),
    (
        "rnn_backward",
        "in dz, h is not squared: the slope of tanh is 1 - tanh^2",
        lambda dy, carried, dU, h, before, U: (
            (dz := (dy + carried) * (1 - h)),
            dz @ U.T,
            dU + before.T @ dz,
        ),
    ),
    (
        "linear_backward",
        "in dW, W is added",
        lambda dy, x, W: (dy @ W.T, x.T @ dy + W, dy.sum(axis=0)),
    ),
    (
        "linear_backward",
        "in db, the sum of dy became a max",
        lambda dy, x, W: (dy @ W.T, x.T @ dy, dy.max(axis=0)),
    ),
    (
        "linear_backward",
        "in db, the sum of dy runs over the wrong axis",
        lambda dy, x, W: (dy @ W.T, x.T @ dy, dy.sum(axis=1)),
    ),
    (
        "linear_backward",
        "every output has the wrong sign",
        lambda dy, x, W: (-dy @ W.T, -x.T @ dy, -dy.sum(axis=0)),
    ),
    (
        "numeric_gradient",
        "in dx, the factor h is missing",
        lambda f, dy, x, h: h * EXERCISES["numeric_gradient"].reference(f, dy, x, h),
    ),
    (
        "tied_backward",
        "dW has an axis of length 1 too many",
        lambda dlogits, h, W: (dlogits @ W, (dlogits.T @ h)[None]),
    ),
    (
        "twice_backward",
        "in dx, W is not transposed",
        lambda dy, x, W: (dy @ W.T @ W, (x @ W).T @ dy + x.T @ (dy @ W.T)),
    ),
    (
        "embedding",
        "in d_model, ids.shape[-1] is used where W.shape[1] belongs",
        lambda ids, W: W[ids] * math.sqrt(ids.shape[1]),
    ),
    (
        "embedding_backward",
        "in dW[ids], 1 is used where dy belongs",
        lambda dy, ids, W: EXERCISES["embedding_backward"].reference(np.ones_like(dy), ids, W),
    ),
    (
        "softmax",
        "in p, 1e-06 is added to sum(exp(x - max(x)))",
        lambda x: (
            np.exp(x - x.max(axis=-1, keepdims=True))
            / (np.exp(x - x.max(axis=-1, keepdims=True)).sum(axis=-1, keepdims=True) + 1e-6)
        ),
    ),
    (
        "softmax_backward",
        "in dx, 1 - p is used where p belongs",
        lambda dp, p: (1 - p) * (dp - (dp * p).sum(axis=-1, keepdims=True)),
    ),
    ("softmax_backward", "dx is dp, unchanged", lambda dp, p: dp.copy()),
    (
        "temperature_backward",
        "in dt, the sums of ds and x are multiplied: it has to be the sum of the products",
        lambda ds, x, t: (ds / t, -ds.sum() * x.sum() / t**2),
    ),
    (
        "temperature_backward",
        "in dx, 1 is added to t",
        lambda ds, x, t: (ds / (t + 1), -(ds * x).sum() / t**2),
    ),
    (
        "causal_mask",
        "in mask, the condition is position[:, None] >= position + 2, not position[:, None] >= position",
        lambda ids: np.tri(ids.shape[1], k=-2, dtype=bool),
    ),
    (
        "masked_loss",
        "total and count are swapped: they are returned in the wrong order",
        lambda losses, ids: EXERCISES["masked_loss"].reference(losses, ids)[::-1],
    ),
    (
        "split_heads",
        "heads is shifted along axis 1 by one place: each of its numbers stands one place too late (off by one)",
        lambda x, num_heads: np.roll(EXERCISES["split_heads"].reference(x, num_heads), 1, axis=1),
    ),
    (
        "sinusoids",
        "this line is missing: PE[:, 1::2] = np.cos(angles)",
        lambda positions, d_model: (
            EXERCISES["sinusoids"].reference(positions, d_model) * (np.arange(d_model) % 2 == 0)
        ),
    ),
    (
        "layer_norm_backward",
        "in dx, the factor n appears twice",
        lambda dy, n, s, gamma: normed(
            dy, n, s, gamma, lambda dn: s * (dn - mean(dn) - n * n * mean(dn * n))
        ),
    ),
    (
        "linear_backward",
        "in db, the last of dy is left out of the sum",
        lambda dy, x, W: (dy @ W.T, x.T @ dy, dy[:-1].sum(axis=0)),
    ),
    (
        "tied_backward",
        "dh is there only at the first place along axis 0, and zero elsewhere: is `return` inside the loop?",
        lambda dlogits, h, W: (np.concatenate([(dlogits @ W)[:1], 0 * h[1:]]), dlogits.T @ h),
    ),
    (
        "tied_backward",
        "dW is cut to whole numbers: is it written into an array of integers?",
        lambda dlogits, h, W: (dlogits @ W, np.trunc(dlogits.T @ h)),
    ),
    (
        "attention",
        "in scores, query key^T / sqrt(query.shape[-1]) is computed with //, which drops what follows the decimal point",
        lambda query, key, value, mask: weighted(
            np.where(mask, query @ turned(key) // math.sqrt(query.shape[-1]), -np.inf), value
        ),
    ),
    (
        "numeric_gradient",
        "h is halved",
        lambda f, dy, x, h: EXERCISES["numeric_gradient"].reference(f, dy, x, h / 2),
    ),
    (
        "feed_forward_backward",
        "dx is dh, which is only on the way to it",
        lambda dy, x, W1, b1, W2: (
            dy @ W2.T,
            *EXERCISES["feed_forward_backward"].reference(dy, x, W1, b1, W2)[1:],
        ),
    ),
    (
        "shared_backward",
        "in dE[target], the factor sqrt(D) is missing",
        lambda *given: shared(*given, math.sqrt(given[-1].shape[1]), 1),
    ),
    (
        "shared_backward",
        "dlogits^T h is 1/dsource.shape[0] times what is expected",
        lambda *given: shared(*given, *[math.sqrt(given[-1].shape[1])] * 2, 1 / len(given[0])),
    ),
    (
        "adam_step",
        "in v, the absolute value of g is taken, not its square",
        lambda *given: moments(*given, square=np.abs),
    ),
    (
        "clip",
        "in norm, only the first of dW dW is taken: sum has to run over all of them",
        lambda dW, db, limit: tuple(
            one * min(1, limit / math.sqrt((dW[0] ** 2).sum() + (db**2).sum())) for one in (dW, db)
        ),
    ),
    (
        "schedule",
        "in rates, the mean of steps / warmup and sqrt(warmup / steps) is used where "
        "minimum(steps / warmup, sqrt(warmup / steps)) belongs",
        lambda steps, d_model, warmup: (
            (steps / warmup + np.sqrt(warmup / steps)) / 2 / math.sqrt(d_model * warmup)
        ),
    ),
    (
        "corpus_bleu",
        "in bleu, 4 is used where len(precisions) belongs",
        lambda matches, totals, lengths, references: bleu(
            precisions(matches, totals), references.sum() / lengths.sum(), 1 / 4
        ),
    ),
    (
        "corpus_bleu",
        "in sum(references) / sum(lengths), "
        "the mean of the ratios of references and lengths is taken, not the ratio of their sums",
        lambda matches, totals, lengths, references: bleu(
            precisions(matches, totals), (references / lengths).mean()
        ),
    ),
    (
        "cross_entropy_backward",
        "in dlogits, the brackets are missing: of p - np.eye(p.shape[-1], dtype=p.dtype)[ids], only p is "
        "multiplied by dloss",
        lambda dloss, p, ids: (dloss * p - np.eye(p.shape[-1])[ids]) * (ids != 0)[..., None],
    ),
    (
        "memory_backward",
        "in p[1]^T (dy + dy U[1]^T) V[1]^T, V[0] is used where V[1] belongs",
        lambda dy, p, V, U: EXERCISES["memory_backward"].reference(dy, p, V[[0, 0]], U),
    ),
]

TWO = [
    (
        "softmax_backward",
        "the sum of dp p became a mean",
        "in sum(dp p), the factor p is missing",
        lambda dp, p: p * (dp - mean(dp)),
    ),
    (
        "layer_norm_backward",
        "in dx, the factor s is missing",
        "in dx, the term - mean is missing",
        lambda dy, n, s, gamma: normed(dy, n, s, gamma, lambda dn: dn - n * mean(dn * n)),
    ),
    (
        "layer_norm_backward",
        "the variance term, n mean(dn n), is added",
        "in dbeta, the sum of dy became a mean",
        lambda dy, n, s, gamma: (
            *normed(dy, n, s, gamma, lambda dn: s * (dn - mean(dn) + n * mean(dn * n)))[:2],
            dy.mean(tuple(range(dy.ndim - 1))),
        ),
    ),
    (
        "attention_backward",
        "dquery has the wrong sign",
        "dvalue is divided by sqrt(d_k)",
        lambda dy, query, key, value, p: tuple(
            gradient * factor
            for gradient, factor in zip(
                EXERCISES["attention_backward"].reference(dy, query, key, value, p),
                (-1, 1, 1 / math.sqrt(query.shape[-1])),
            )
        ),
    ),
]


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
