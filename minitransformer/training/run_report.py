"""report.html in a run folder: one self-contained page about the training run and the model's outputs."""

from datetime import datetime, timedelta
from html import escape

from minitransformer.errors import one_line
from minitransformer.files import write_durably
from minitransformer.pictures import plots
from minitransformer.training.log import CLOCKS, as_text, read_metrics

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: light-dark(#222, #ddd) }}
figure {{ margin: 1em 0; overflow-x: auto; background: white; border-radius: .5em }}
figure > img {{ max-width: 100%; height: auto }}
table {{ border-collapse: collapse; width: 100% }}
td, th {{ border-top: 1px solid light-dark(#ccc, #555); padding: .3em .6em; text-align: left; vertical-align: top;
         white-space: pre-wrap; overflow-wrap: anywhere }}
@media (min-width: 40em) {{ td:first-child {{ min-width: 11em }} }}
</style></head><body>
<h1>{title}</h1>
<p>{summary}</p>
<h2>Results</h2>
{results}
<p>{explained}</p>
<h2>Curves</h2>
<figure>{curves}</figure>
<h2>Outputs on validation data</h2>
{outputs}
<h2>Settings</h2>
{settings}
</body></html>
"""
NOT_RESULTS = ("step", "nll", "valid_nll", "learning_rate", "tokens_per_second", *CLOCKS)    # in the sentence or the curves
EXPLAINED = "Perplexity is exp(nll), where nll is the mean negative log-likelihood of a token."
SMOOTHING = " The loss includes label smoothing ({smoothing}), which nll does not."


def write_report(run, examples) -> None:
    """Write report.html for a run; `examples`: [(text, expected answer)]."""
    log = read_metrics(run.path)
    training = run.settings.training
    last = {name: value for record in log for name, value in record.items() if name not in NOT_RESULTS}
    outputs = run.answer([text for text, _ in examples])
    curves = plots.curves(log).as_html("loss, learning rate and quality over the steps")
    write_durably(run.path / "report.html", PAGE.format(
        title=escape(one_line(run.path.name)),
        summary=escape(_summary(run, log)),
        results=_table((name.replace("_", " "), as_text(name, value)) for name, value in last.items()),
        explained=EXPLAINED + (SMOOTHING.format(smoothing=training.smoothing) if training and training.smoothing else ""),
        curves=curves,
        outputs=_table(((text, output, expected) for (text, expected), output in zip(examples, outputs)),
                      ("text", "output", "expected")),
        settings=_settings_tables(run.settings.as_dict())).encode(errors="backslashreplace"))


def _summary(run, log) -> str:
    """What was trained, for how long, and when. Logs of older versions contain no times."""
    planned = run.settings.training.steps if run.settings.training else None
    text = (f"A {type(run.model).__name__} with {run.model.num_parameters():,} parameters, trained to {run.task.description}. "
            f"It made {log[-1]['step']:,}{f' of {planned:,}' if planned else ''} updates")
    if all(name in log[-1] for name in CLOCKS):
        text += (f" in {timedelta(seconds=round(log[-1]['seconds']))} (hours:minutes:seconds, pauses excluded) and ended at "
                 f"{datetime.fromtimestamp(log[-1]['time']).astimezone().strftime('%Y-%m-%d %H:%M:%S %Z')}")
    return text + "."


def _table(rows, header=()) -> str:
    """Rows of cells, each shown as text, below the column names in `header`, if given."""
    lines = ["".join(f"<th>{escape(str(name))}</th>" for name in header)] if header else []
    lines += ["".join(f"<td>{escape(_cell(cell))}</td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>\n" for line in lines) + "</table>"


def _settings_tables(settings) -> str:
    """A table for each part of RunSettings.as_dict(): the task, the model, training, and then all other settings."""
    parts = {name: part for name, part in settings.items() if isinstance(part, dict)}
    parts["other"] = {name: part for name, part in settings.items() if not isinstance(part, dict)}
    return "\n".join(f"<h3>{escape(name)}</h3>\n" + _table((key.replace("_", " "), value) for key, value in part.items())
                     for name, part in parts.items())


def _cell(cell) -> str:
    """The text of a cell; a list, such as one of files, has one item per line."""
    if isinstance(cell, dict):
        return "\n".join(f"{name}: {value}" for name, value in cell.items())
    return "\n".join(map(str, cell)) if isinstance(cell, list) else str(cell)
