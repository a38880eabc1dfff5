"""The source of an exercise: the reference between markers, and the same with its blanks empty."""

import re
import textwrap

REFERENCE = re.compile(r"^# %% reference\n(.*?)^# %%", re.MULTILINE | re.DOTALL)
BLANK = re.compile(r"(?P<begin>^ *# your code: [^\n]*\n)(?P<lines>.*?)(?P<end>^ *# end of your code\n)", re.MULTILINE | re.DOTALL)


def reference_source(text) -> str:
    """The code between `# %% reference` and the next cell of an exercise's file."""
    return REFERENCE.findall(text)[0].strip() + "\n"


def skeleton(reference, name) -> str:
    """The reference with each blank emptied: what the learner begins with."""
    def empty(blank) -> str:
        indent = " " * (len(blank["begin"]) - len(blank["begin"].lstrip()))
        return f'{blank["begin"]}{indent}raise NotImplementedError("{name}")\n{blank["end"]}'
    return BLANK.sub(empty, reference)


def blanks(reference) -> list[list[str]]:
    """The lines that each blank hides, a list for each."""
    return [textwrap.dedent(blank["lines"]).splitlines() for blank in BLANK.finditer(reference)]
