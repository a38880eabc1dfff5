"""A gradient check speaks the reader's language: each sentence of the library and of the doctor is
found again in the finished report, with what stands in its places.
"""

import numpy as np
import pytest

from minitransformer import gradcheck
from minitransformer.checking import plugins
from minitransformer_course import messages, reports
from tests.helpers.finding import X

KOREAN = messages.catalogue("ko", reports.PART)


@pytest.fixture
def korean(monkeypatch):
    monkeypatch.setattr(messages, "_chosen", ["ko"])


def filled(text, values):
    return reports.PLACE.sub(lambda place: values[place[1]], text)


@pytest.mark.parametrize("text", [text for text in KOREAN if text not in reports.ALONE])
def test_each_sentence_is_told_from_all_others(korean, text):
    names = dict.fromkeys(reports.PLACE.findall(text))
    values = {name: "7" if name == "n" else f"v{i}" for i, name in enumerate(names)}
    said, wanted = filled(text, values), filled(KOREAN[text], values)
    if reports.VERB.match(text):
        said, wanted = f"dx {said}", f"dx: {wanted}"
    if text[0] in " :(.,":  # it goes on from something
        said, wanted = f"dx{said}", f"dx{wanted}"
    if text.endswith(" "):
        said, wanted = f"{said}dx", f"{wanted}dx"
    assert reports.translated(said) == wanted
    assert reports.translated(f"softmax: {said}; wrong: x") == f"softmax: {wanted}; 틀린 것: x"


@pytest.mark.parametrize(
    "english, korean_text",
    [
        (
            "all 6 checks passed; largest error: central 9.6e-11 (bound 1e-07), complex 3.2e-16 "
            "(bound 1e-12)",
            "검사 6개를 모두 통과했습니다; 최대 오차: central 9.6e-11 (한계 1e-07), complex "
            "3.2e-16 (한계 1e-12)",
        ),
        (
            "in layers.0 (MyLayer): the gradient of the_first, b and 2 more is missing: it is zero "
            "everywhere (not computed, not added or not returned) (with this undone the error "
            "falls from 1e+00 to 2e-13)",
            "layers.0 (MyLayer): the_first, b 외 2개의 기울기: 빠졌습니다. 모든 값이 0입니다"
            "(계산하지 않았거나, 더하지 않았거나, 돌려주지 않았습니다) (이것만 바로잡으면 오차가 "
            "1e+00에서 2e-13까지 줄어듭니다)",
        ),
        (
            "in the gradient of W and b, the path through `mean` in `c = x - mean` is missing: "
            "backward sends no gradient along it",
            "W, b의 기울기에서, `c = x - mean`에 있는 `mean`: 여기를 지나는 경로가 "
            "빠졌습니다. backward가 이 경로로 기울기를 보내지 않습니다",
        ),
        (
            "right at the given inputs only: with x of shape (3, 4), backward raises ValueError: "
            "shapes (1,) and (2,) are not alike (layer.py, line 5)",
            "주어진 입력에서만 맞습니다: x의 형상이 (3, 4)일 때, backward 실행 중에 ValueError "
            "오류가 납니다: shapes (1,) and (2,) are not alike (layer.py, 5번째 줄)",
        ),
        (
            "the gradient of b leaves the last sentence of the batch out of the sum over the batch "
            "(with this undone the error falls from 5e-01 to 0e+00)",
            "b의 기울기: 배치에 걸친 합에서 마지막 문장 하나를 빠뜨렸습니다 (이것만 바로잡으면 "
            "오차가 5e-01에서 0e+00까지 줄어듭니다)",
        ),
        ("it: wrong: input and 3 more", "it: 틀린 것: input 외 3개"),  # names stay
        (
            "the gradient of x belongs to another dy: dy is reversed",
            "x의 기울기: 다른 dy의 기울기입니다. 그 dy는 이렇습니다: dy: 배열의 순서가 거꾸로입니다",
        ),
        (
            "the gradient that passes through `a * b` in `y = a * b` is exactly the true one times "
            "3, which is the batch (B = 3) and the length (T = 3) (these sizes coincide here): a "
            "division by it is missing (the forward has a mean where backward has a sum), or it is "
            "multiplied by it",
            "`y = a * b`에 있는 `a * b` 값을 지나는 기울기: 올바른 값에 3, 곧 배치 크기(B = 3), "
            "길이(T = 3) (여기서는 이 크기들이 같습니다) 값을 곱한 것입니다. 나누는 계산이 "
            "빠졌거나(forward는 평균인데 backward는 합), 그 수를 곱했습니다",
        ),
    ],
)
def test_a_sentence_in_another_one_is_said_too(korean, english, korean_text):
    assert reports.translated(english) == korean_text


def test_a_report_is_said_and_its_table_stays(korean):
    right = str(gradcheck((lambda x: (x * x, x), lambda dy, x: 2 * x * dy), [X], name="square"))
    wrong = gradcheck((lambda x: (x * x, x), lambda dy, x: x * dy), [X], name="square")
    assert right.splitlines()[-1].startswith("검사 2개를 모두 통과했습니다; 최대 오차: central ")
    assert "올바른 값의 정확히 절반입니다" in str(wrong) and "FAILED" in str(wrong)
    assert "x[" in wrong.conclusions[0] and "올바른 기울기는" in wrong.conclusions[0]
    assert wrong.diagnoses["square"] in str(wrong)
    assert str(wrong).splitlines()[0].split() == (
        "block with respect to method error at analytic numeric".split()
    )


def test_english_is_not_looked_up(monkeypatch):
    monkeypatch.setattr(reports, "_said", None)
    assert reports.translated("all 2 checks passed") == "all 2 checks passed"


def test_without_the_course_a_report_is_english(korean, monkeypatch):
    monkeypatch.setattr(plugins, "entries", lambda name: ())
    report = gradcheck((lambda x: (x * x, x), lambda dy, x: 2 * x * dy), [np.ones((2, 3))])
    assert report.conclusions[-1].startswith("all 2 checks passed")
