"""Colour at a terminal alone."""

import io
import re

import pytest

from minitransformer.cli.colour import coloured

VERDICT = "softmax: not yet\n  PASSED  it runs\n  WHERE   p[0]\n  LIKELY  ok it is not\n  NEXT    minitransformer learn hint"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("WT_SESSION", "a Windows terminal")


def test_a_terminal_shows_the_labels_in_colour_and_nothing_else():
    text = coloured(VERDICT, Terminal())
    assert re.findall("\033\\[[\\d;]+m(.*?)\033\\[0m", text) == ["softmax: not yet", "  PASSED", "  WHERE", "  LIKELY", "  NEXT"]
    assert re.sub("\033\\[[\\d;]+m", "", text) == VERDICT


@pytest.mark.parametrize("stream, variables, has_colour", [
    (Terminal(), {}, True), (io.StringIO(), {}, False), (io.StringIO(), {"FORCE_COLOR": "1"}, True),
    (Terminal(), {"NO_COLOR": "1"}, False), (Terminal(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    (Terminal(), {"TERM": "dumb"}, False)])
def test_who_sees_colour(monkeypatch, stream, variables, has_colour):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ("\033" in coloured(VERDICT, stream)) == has_colour


def test_the_command_colours_an_error_and_a_check(run_cli, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run_cli("gradcheck", "nonsense")[2].startswith("\033[1;31mminitransformer:\033[0m unknown block")
    assert "\033[32mok\033[0m" in run_cli("gradcheck", "relu")[1]
