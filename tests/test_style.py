"""What the linter cannot say of the source."""

import pytest

from tests import ROOT

LONG_LINES = {  # {folder: lines over 100 columns}; tutorials are aligned by hand
    "minitransformer": 579,
    "minitransformer_course": 139,
    "tests": 214,
    "docs": 11,
    "research/benchmarks": 26,
    "research/experiments": 29,
}


@pytest.mark.parametrize("folder", LONG_LINES)
def test_there_are_no_more_long_lines_than_before(folder):
    """If this fails, shorten yours. If you shortened others, write the smaller number."""
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (ROOT / folder).rglob("*.py")
        if "_build" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 100
    ]
    assert len(long) <= LONG_LINES[folder], "\n".join(long)
