"""What the doctor says of the corpus of mistakes is Korean where one learns in Korean."""

import pytest

from minitransformer import gradcheck
from minitransformer.checking.blocks import blocks
from minitransformer_course import messages
from tests.course.doctor.corpus import cases_in, made
from tests.helpers.korean import english_in, forget


@pytest.fixture(autouse=True)
def korean(monkeypatch):
    forget()
    monkeypatch.setattr(messages, "_chosen", ["ko"])
    yield
    forget()


@pytest.mark.campaign
@pytest.mark.parametrize("case", [name for name in cases_in("seen") if name.endswith("alone")])
def test_what_the_doctor_says_of_a_mistake_is_korean(case):
    mistake, name = cases_in("seen")[case]
    with made(mistake):
        report = gradcheck(*blocks()[name], name="own")
        for text in report.conclusions:
            own_words = text.partition(" 오류가 납니다: ")[0]  # behind it, NumPy's are English
            assert not english_in(own_words), text
