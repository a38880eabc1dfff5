"""The results of a gradient check: one Result per array and method, and their table."""

import math
from dataclasses import dataclass, field
from typing import Any

from minitransformer.checking.compare import SAME
from minitransformer.checking.notebook import COLUMNS, as_html

# How far analytic and numeric gradient may be apart. Central differences lose digits to
# cancellation; the complex step subtracts nothing and keeps nearly all of float64's 16.
BOUNDS = {"central": 1e-7, "complex": SAME, "central projection": 1e-6, "complex projection": SAME}


@dataclass(frozen=True)
class Result:
    """One array's gradient, checked by one method."""

    block: str
    wrt: str                    # the input or parameter
    method: str                 # a key of BOUNDS
    max_relative_error: float
    index: tuple | None         # where the error is largest; None for a projection
    analytic: float             # backward's value there
    numeric: float              # the numeric derivative there
    kinks: int = 0              # places left out: a kink, or too much curvature for the step

    @property
    def passed(self) -> bool:
        return self.max_relative_error <= BOUNDS[self.method]   # False for nan

    @property
    def cells(self) -> tuple[str, ...]:
        """A table's row: a value for each of COLUMNS."""
        return (self.block, self.wrt, self.method, f"{self.max_relative_error:.1e}",
                "" if self.index is None else str(list(self.index)), f"{self.analytic:+.6e}", f"{self.numeric:+.6e}",
                ("ok" if self.passed else "FAILED") + (f", {self.kinks} at a kink" if self.kinks else ""))


@dataclass(frozen=True, repr=False)
class Report:
    """The results of a check; `print(report)` shows them as a table, and a notebook shows it in colour.

    findings: {block: what the doctor found} for each block that failed.
    """

    results: list
    findings: dict = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results) and not self.findings

    @property
    def diagnoses(self) -> dict[str, str]:
        """{block: what the doctor says, in one sentence} for each block that failed."""
        return {block: str(finding) for block, finding in self.findings.items()}

    @property
    def worst(self) -> float:
        """The largest error of all; nan if one is nan."""
        return _largest(result.max_relative_error for result in self.results)

    def __add__(self, other) -> "Report":
        return Report(self.results + other.results, {**self.findings, **other.findings})

    def raise_if_failed(self) -> None:
        """Raise AssertionError with the failed rows and the diagnosis; for use in tests."""
        if not self.passed:
            raise AssertionError("\n" + self._table([result for result in self.results if not result.passed]))

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values for JSON; an error that is not a finite number becomes None."""
        def finite(error) -> float | None:
            return error if math.isfinite(error) else None
        return {"results": [{"block": r.block, "wrt": r.wrt, "method": r.method,
                             "max_relative_error": finite(r.max_relative_error), "passed": r.passed}
                            for r in self.results],
                "worst": finite(self.worst), "passed": self.passed,
                **({"diagnoses": self.diagnoses,
                    "findings": {block: finding.as_dict() for block, finding in self.findings.items()}} if self.findings else {})}

    def __str__(self) -> str:
        return self._table(self.results)

    __repr__ = __str__    # a REPL shows it

    def summary(self) -> str:
        """The table with one row per block and method: its worst array."""
        groups = {}
        for result in self.results:
            groups.setdefault((result.block, result.method), []).append(result)
        return self._table([max(group, key=lambda r: (not r.passed, r.max_relative_error))
                            for group in groups.values()])

    def _table(self, rows) -> str:
        cells = [result.cells for result in rows]
        if not cells:
            return "\n".join(self._conclusions())
        widths = [max(map(len, column)) for column in zip(COLUMNS, *cells)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                 for row in (COLUMNS, *cells)]
        return "\n".join([*lines, *self._conclusions()])

    def _conclusions(self) -> list[str]:
        """The verdict, and what the doctor says: where, what, and where to read."""
        if not self.results:
            return [f"{block}: not checked: {finding}" for block, finding in self.findings.items()]
        count, failed = len(self.results), sum(not result.passed for result in self.results)
        verdict = f"{failed} of {count} checks FAILED" if failed else f"all {count} checks passed"
        worst = ", ".join(f"{method} {_largest(errors):.1e} (bound {BOUNDS[method]:.0e})" for method in BOUNDS
                          if (errors := [r.max_relative_error for r in self.results if r.method == method]))
        lines = [f"{verdict}; largest error: {worst}"]
        for block, finding in self.findings.items():
            lines += [f"{block}: {finding.where}"] if finding.where else []
            lines.append(f"{block}: {finding}")
        return lines

    def _repr_html_(self) -> str:
        return as_html(self)


def _largest(errors) -> float:
    """The largest of `errors`; nan if one is nan, which max overlooks."""
    errors = list(errors)
    return math.nan if any(map(math.isnan, errors)) else max(errors, default=0.0)
