"""A report in a notebook: a coloured table, followed by what the doctor says."""

from html import escape

COLUMNS = "with respect to", "method", "error", "at", "analytic", "numeric", ""
GREEN, RED = "#e6f4ea", "#fce8e6"


def as_html(report) -> str:
    """The table of a Report as HTML: a row for each array and method, green if it passed, red if not."""
    rows = [f"<tr>{''.join(f'<th style=text-align:left>{escape(name)}</th>' for name in ('block', *COLUMNS))}</tr>"]
    for result in report.results:
        where = "" if result.index is None else str(list(result.index))
        cells = (result.block, result.wrt, result.method, f"{result.max_relative_error:.1e}", where,
                 f"{result.analytic:+.6e}", f"{result.numeric:+.6e}", "ok" if result.passed else "FAILED")
        colour = GREEN if result.passed else RED
        rows.append(f"<tr style='background:{colour};color:black'>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    said = [f"<p><b>{escape(block)}</b>: {escape(str(finding))}"
            + (f"<br>{escape(finding.where)}" if finding.where else "") + "</p>"
            for block, finding in report.findings.items()]
    return f"<table>{''.join(rows) if report.results else ''}</table>{''.join(said)}"
