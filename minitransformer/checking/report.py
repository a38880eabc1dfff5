"""What a gradient check says: a Result for each array and method, a Finding for each block that
failed, their table and the verdict.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np

from minitransformer.checking.compare import SAME
from minitransformer.checking.plugins import said
from minitransformer.errors import counted, some

NAMED, EVIDENCE, CONTRACT, OBSERVED = "named", "evidence", "contract", "observed"

# How far analytic and numeric gradient may be apart. Central differences lose digits to
# cancellation; the complex step subtracts nothing and keeps nearly all of float64's 16.
BOUNDS = {"central": 1e-7, "complex": SAME, "central projection": 1e-6, "complex projection": SAME}
# How far a kernel may be from its textbook.
BOUNDS |= {"kernels float32": 2e-5, "kernels float64": SAME}
COLUMNS = "block", "with respect to", "method", "error", "at", "analytic", "numeric", ""
LONG = 40  # letters; a longer name moves its row to the right


@dataclass(frozen=True)
class Result:
    """One array's gradient, checked by one method."""

    block: str
    wrt: str  # the input or parameter
    method: str  # a key of BOUNDS
    max_relative_error: float
    index: tuple | None  # where the error is largest; None for a projection
    analytic: float  # backward's value there
    numeric: float  # the numeric derivative there
    left_out: int = 0  # numbers at a kink, too curved for every step, or lost to rounding
    at_kink: str = ""  # the first of those that are exactly at a kink, and how many more there are

    @property
    def passed(self) -> bool:
        return self.max_relative_error <= BOUNDS[self.method]  # False for nan

    @property
    def checked(self) -> str:
        """What was checked: the "textbook", or the "kernels", which are compared with it."""
        return "kernels" if self.method.startswith("kernels") else "textbook"

    @property
    def cells(self) -> tuple[str, ...]:
        """A table's row: a value for each of COLUMNS."""
        return (
            self.block,
            self.wrt,
            self.method,
            f"{self.max_relative_error:.1e}",
            "" if self.index is None else str(list(self.index)),
            f"{self.analytic:+.6e}",
            f"{self.numeric:+.6e}",
            ("ok" if self.passed else "FAILED")
            + (f", {self.left_out} left out" if self.left_out else ""),
        )


@dataclass(frozen=True)
class Finding:
    """What is wrong with a block.

    kind: "named": the mistake is proven; "contract": the block was observed to break the contract
    of a layer; "observed": it was observed what the block does wrong with its parts; "evidence":
    only hints.
    """

    kind: str
    sentence: str  # the mistake, the breach, or what is known
    place: str = ""  # the innermost wrong part: its path and kind; "" for the block itself
    array: str = ""  # the worst number: its array,
    index: tuple | None = None
    analytic: float | None = None  # backward's value there,
    numeric: float | None = None  # and the right one
    before: float | None = None  # the error now,
    after: float | None = None  # and with the mistake undone
    read: str = ""  # the library's backward of this block
    also: tuple = ()  # the other innermost wrong parts of a composite, in words

    @property
    def proof(self) -> str:
        if self.kind != NAMED or self.after is None or self.before is None:
            return ""
        return f"with this undone the error falls from {self.before:.0e} to {self.after:.0e}"

    @property
    def text(self) -> str:
        """All of it, in English; `str` says it in the reader's language."""
        if self.kind == EVIDENCE:
            text = f"no mistake is proven; {self.sentence}"
        else:
            text = self.sentence + (f" ({self.proof})" if self.proof else "")
        if self.place:
            text = f"in {self.place}: {text}"
        text += f"; read {self.read}" if self.read else ""
        return text + (f"; also wrong: {some(self.also, 4)}" if self.also else "")

    def __str__(self) -> str:
        return said(self.text)

    @property
    def where(self) -> str:
        """The worst number, in words; "" if none is known."""
        if self.index is None:
            return ""
        return f"{self.array}{list(self.index)}: {self.analytic:+.6e}, but the true gradient is {self.numeric:+.6e}"


@dataclass(frozen=True, repr=False)
class Report:
    """The results of a check; `print(report)` shows them as a table.

    findings: {block: what is wrong} for each block that failed. remarks: sentences on what need not
    be wrong, each of which begins with its block.
    """

    results: list[Result]
    findings: dict[str, Finding] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results) and not self.findings

    @property
    def diagnoses(self) -> dict[str, str]:
        """{block: what is wrong, in one sentence} for each block that failed."""
        return {block: str(finding) for block, finding in self.findings.items()}

    def __add__(self, other: "Report") -> "Report":
        return Report(
            self.results + other.results,
            {**self.findings, **other.findings},
            self.remarks + other.remarks,
        )

    def raise_if_failed(self) -> None:
        """Raise AssertionError with the failed rows, the diagnosis and the verdict; for use in
        tests.
        """
        if not self.passed:
            failed = [result for result in self.results if not result.passed]
            raise AssertionError("\n" + self._table(failed))

    def __str__(self) -> str:
        return self._table(self.results)

    __repr__ = __str__  # a REPL shows it

    @property
    def worst_rows(self) -> list[Result]:
        """The worst array of each block, by each method, and of its kernels."""
        groups: dict[tuple[str, str], list[Result]] = {}
        for result in self.results:
            method = result.method if result.checked == "textbook" else result.checked
            groups.setdefault((result.block, method), []).append(result)
        return [
            max(group, key=lambda r: (not r.passed, r.max_relative_error))
            for group in groups.values()
        ]

    def _table(self, rows: list[Result]) -> str:
        as_row = columns([result.block for result in rows], [result.wrt for result in rows])
        return "\n".join([*map(as_row, [None, *rows] if rows else []), *self.conclusions])

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """{"textbook" or "kernels": (checks, how many of them failed)}."""
        counts: dict[str, tuple[int, int]] = {}
        for result in self.results:
            checks, failed = counts.get(result.checked, (0, 0))
            counts[result.checked] = checks + 1, failed + (not result.passed)
        return counts

    @property
    def conclusions(self) -> list[str]:
        """What is wrong: where, what, and where to read; the remarks; and the verdict, last."""
        lines = []
        for block, finding in self.findings.items():
            lines += [f"{block}: {finding.where}"] if finding.where else []
            lines.append(f"{block}: {finding.text}")
        alike: dict[str, list[str]] = {}
        for remark in self.remarks:
            block, _, sentence = remark.partition(": ")
            alike.setdefault(sentence, []).append(block)
        lines += [f"{some(blocks, 3)}: {sentence}" for sentence, blocks in alike.items()]
        errors: dict[str, list[float]] = {}
        for result in self.results:
            errors.setdefault(result.method, []).append(result.max_relative_error)
        worst = "largest error: " + ", ".join(
            f"{method} {np.max(errors[method]):.1e} (bound {BOUNDS[method]:.0e})"  # NaN is largest
            for method in BOUNDS
            if method in errors
        )
        if not errors:
            lines.append(self.verdict)
        elif len(self.counts) > 1:
            lines += [worst, self.verdict]
        else:
            lines.append(f"{self.verdict}; {worst}")
        return [*map(said, lines)]

    @property
    def verdict(self) -> str:
        """In a line: how many checks passed or failed, and what was found beside them."""
        failed_blocks = {result.block for result in self.results if not result.passed}
        beside = len(self.findings.keys() - failed_blocks)
        found = f", {counted(beside, 'finding')}" if beside else ""
        texts = []
        for checked, (checks, failed) in self.counts.items():
            passed = f"{checks:,} checks passed" if beside else f"all {checks:,} checks passed"
            text = f"{failed} of {checks:,} checks FAILED" if failed else passed
            texts.append(text if len(self.counts) == 1 else f"{checked}: {text}")
        text = "; ".join(texts or ["nothing was checked"]) + found
        return text if "FAILED" in text or self.passed else f"{text}: FAILED"


def columns(blocks: Collection[str], arrays: Collection[str]) -> Callable[[Result | None], str]:
    """A function that returns the table's line for a Result of these blocks and arrays, and the
    heads for None.
    """
    widths = [
        max(map(len, [*blocks, COLUMNS[0]])),
        min(max(map(len, [*arrays, COLUMNS[1]])), LONG),
        max(map(len, BOUNDS)),
        7,
        14,
        13,
        13,
        0,
    ]

    def line(result: Result | None) -> str:
        cells = COLUMNS if result is None else result.cells
        return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()

    return line
