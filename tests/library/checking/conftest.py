"""The checker as it is without the course."""

import sys

import pytest

from minitransformer import gradcheck


@pytest.fixture
def without_the_doctor(monkeypatch):
    monkeypatch.setattr(sys.modules[gradcheck.__module__], "find_doctor", lambda: None)
