"""A report in a notebook: a coloured table, followed by what is wrong."""

from html import escape

COLUMNS = "block", "with respect to", "method", "error", "at", "analytic", "numeric", ""
GREEN, RED = "#e6f4ea", "#fce8e6"


def as_html(report) -> str:
    """The table of a Report as HTML: a row for each array and method, green if it passed, red if not."""
    rows = [f"<tr>{''.join(f'<th style=text-align:left>{escape(name)}</th>' for name in COLUMNS)}</tr>"]
    for result in report.results:
        colour = GREEN if result.passed else RED
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in result.cells)
        rows.append(f"<tr style='background:{colour};color:black'>{cells}</tr>")
    said = [f"<p><b>{escape(block)}</b>: {escape(str(finding))}"
            + (f"<br>{escape(finding.where)}" if finding.where else "") + "</p>"
            for block, finding in report.findings.items()] + [f"<p>{escape(remark)}</p>" for remark in report.remarks]
    return f"<table>{''.join(rows) if report.results else ''}</table>{''.join(said)}"
