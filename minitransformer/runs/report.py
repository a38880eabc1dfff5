"""report.html in a run folder: one self-contained page about the training run and the model's
outputs.
"""

import json
from collections.abc import Iterable, Sequence
from html import escape

from minitransformer.errors import one_line, counted
from minitransformer.files import write_durably
from minitransformer.pictures import plots
from minitransformer.runs.log import CLOCKS, as_texts, read_metrics
from minitransformer.runs.run import Run

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em }}
figure {{ margin: 1em 0; overflow-x: auto; background: white }}
figure > img {{ max-width: 100%; height: auto }}
table {{ border-collapse: collapse; width: 100% }}
td {{ border-top: 1px solid #888; padding: .3em .6em; text-align: left; overflow-wrap: anywhere }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere }}
</style></head><body>
<h1>{title}</h1>
<p>{summary}</p>
{results}
<figure>{curves}</figure>
<h2>Outputs on validation data</h2>
{outputs}
<h2>Settings</h2>
<pre>{settings}</pre>
</body></html>
"""
# shown in the sentence or in the curves
NOT_RESULTS = ("step", "nll", "valid_nll", "learning_rate", "tokens_per_second", *CLOCKS)


def write_report(run: Run, examples: Sequence[tuple[str, str]]) -> None:
    """Write report.html for a run; `examples`: [(text, expected answer)]."""
    log = read_metrics(run.path)
    last = {
        name: value for record in log for name, value in record.items() if name not in NOT_RESULTS
    }
    outputs = run.answer([text for text, _ in examples])
    write_durably(
        run.path / "report.html",
        PAGE.format(
            title=escape(one_line(run.path.name)),
            summary=escape(
                f"A {type(run.model).__name__} with {counted(run.model.num_parameters(), 'parameter')}, trained to "
                f"{run.task.description}. It made {counted(log[-1]['step'], 'update')}."
            ),
            results=_table(as_texts(last)),
            curves=plots.curves(log).as_html("loss, learning rate and quality over the steps"),
            outputs=_table(
                [
                    ("text", "output", "expected"),
                    *(
                        (text, output, expected)
                        for (text, expected), output in zip(examples, outputs)
                    ),
                ]
            ),
            settings=escape(_settings(run)),
        ).encode(errors="backslashreplace"),
    )


def _settings(run: Run) -> str:
    """Those of config.json, where a folder's Korean name is \\ud55c..., as one reads them."""
    return json.dumps(json.loads(run.settings.to_json()), ensure_ascii=False, indent=2)


def _table(rows: Iterable[tuple]) -> str:
    return (
        "<table>"
        + "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows
        )
        + "</table>"
    )
