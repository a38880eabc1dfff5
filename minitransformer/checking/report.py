"""The results of a gradient check: one Result per array and method, and their table."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from minitransformer.checking.compare import SAME

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
    kinks: int = 0  # places left out: a kink, or too much curvature for the step
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
            + (f", {self.kinks} at a kink" if self.kinks else ""),
        )


@dataclass(frozen=True, repr=False)
class Report:
    """The results of a check; `print(report)` shows them as a table.

    findings: {block: what is wrong} for each block that failed. remarks: sentences on what need not
    be wrong.
    """

    results: list
    findings: dict = field(default_factory=dict)
    remarks: tuple = ()

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results) and not self.findings

    @property
    def diagnoses(self) -> dict[str, str]:
        """{block: what is wrong, in one sentence} for each block that failed."""
        return {block: str(finding) for block, finding in self.findings.items()}

    def __add__(self, other) -> "Report":
        return Report(
            self.results + other.results,
            {**self.findings, **other.findings},
            self.remarks + other.remarks,
        )

    def raise_if_failed(self) -> None:
        """Raise AssertionError with the failed rows and the diagnosis; for use in tests."""
        if not self.passed:
            raise AssertionError(
                "\n" + self._table([result for result in self.results if not result.passed])
            )

    def __str__(self) -> str:
        return self._table(self.results)

    __repr__ = __str__  # a REPL shows it

    @property
    def worst_rows(self) -> list[Result]:
        """The worst array of each block, by each method, and of its kernels."""
        groups = {}
        for result in self.results:
            method = result.method if result.checked == "textbook" else result.checked
            groups.setdefault((result.block, method), []).append(result)
        return [
            max(group, key=lambda r: (not r.passed, r.max_relative_error))
            for group in groups.values()
        ]

    def _table(self, rows) -> str:
        as_row = columns([result.block for result in rows], [result.wrt for result in rows])
        return "\n".join([*map(as_row, [None, *rows] if rows else []), *self.conclusions])

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """{"textbook" or "kernels": (checks, how many of them failed)}."""
        found: dict[str, list[bool]] = {}
        for result in self.results:
            found.setdefault(result.checked, []).append(result.passed)
        return {checked: (len(passed), passed.count(False)) for checked, passed in found.items()}

    @property
    def conclusions(self) -> list[str]:
        """The verdict in lines, and what is wrong: where, what, and where to read."""
        if not self.results:
            return [f"{block}: not checked: {finding}" for block, finding in self.findings.items()]
        verdicts = [
            (
                checked,
                f"{failed} of {count:,} checks FAILED"
                if failed
                else f"all {count:,} checks passed",
            )
            for checked, (count, failed) in self.counts.items()
        ]
        verdict = (
            verdicts[0][1]
            if len(verdicts) == 1
            else "; ".join(f"{checked}: {said}" for checked, said in verdicts)
        )
        worst = ", ".join(
            f"{method} {np.max(errors):.1e} (bound {BOUNDS[method]:.0e})"
            for method in BOUNDS
            if (errors := [r.max_relative_error for r in self.results if r.method == method])
        )  # NaN is the largest
        lines = (
            [f"{verdict}; largest error: {worst}"]
            if len(verdicts) == 1
            else [verdict, f"largest error: {worst}"]
        )
        for block, finding in self.findings.items():
            lines += [f"{block}: {finding.where}"] if finding.where else []
            lines.append(f"{block}: {finding}")
        return lines + list(self.remarks)


def columns(blocks, arrays) -> Callable[[Result | None], str]:
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

    def line(result) -> str:
        cells = COLUMNS if result is None else result.cells
        return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()

    return line
