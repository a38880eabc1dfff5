"""report.html in a run folder: one self-contained page about the training run and the model's outputs."""

from datetime import datetime, timedelta
from html import escape

from minitransformer.errors import one_line
from minitransformer.pictures import plots
from minitransformer.pictures.attention_map import attention_map, has_attention
from minitransformer.pictures.attention_page import STYLE, attention_html
from minitransformer.tables import settings_tables, table
from minitransformer.training.files import write_durably
from minitransformer.training.log import CLOCKS, read_metrics

MAPS = 3         # sentences whose attention is drawn
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 16px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }}
figure {{ margin: 1em 0; overflow-x: auto }} table {{ border-collapse: collapse; width: 100% }}
td, th {{ border-top: 1px solid #ccc; padding: .3em .6em; text-align: left; vertical-align: top;
         white-space: pre-wrap; overflow-wrap: anywhere }}
td:first-child {{ min-width: 11em }}
{style}
</style></head><body>
<h1>{title}</h1>
{facts}
<h2>Results</h2>
{results}
{smoothing}
<h2>Curves</h2>
<figure>{curves}</figure>
<h2>Outputs on validation data</h2>
{outputs}
{maps}
<h2>Settings</h2>
{settings}
</body></html>
"""
SMOOTHING = ("<p>The loss includes label smoothing ({smoothing}); nll and perplexity do not, so exp(loss) is not the "
             "perplexity: exp(nll) is.</p>")


def write_report(run, examples) -> None:
    """Write report.html for a run; `examples`: [(text, expected answer)]."""
    log = read_metrics(run.path)
    training = run.settings.training
    facts = _facts(run, log)
    last = {name: value for record in log for name, value in record.items() if name not in ("tokens_per_second", *CLOCKS)}
    outputs = run.answer([text for text, _ in examples])
    maps = _maps(run, [text for text, _ in examples[:MAPS]]) if has_attention(run.model) else ""
    curves = plots.curves({run.path.name: log}).as_html("loss, perplexity, learning rate and quality over the steps")
    write_durably(run.path / "report.html", PAGE.format(
        title=escape(one_line(f"{run.path.name}: {run.task.name}")),
        facts=table(facts.items()),
        results=table((name.replace("_", " "), f"{value:,.6g}") for name, value in last.items()),
        smoothing=SMOOTHING.format(smoothing=training.smoothing) if training and training.smoothing else "",
        curves=curves,
        outputs=table(((text, output, expected) for (text, expected), output in zip(examples, outputs)),
                      ("text", "output", "expected")),
        maps=maps, style=STYLE,
        settings=settings_tables(run.settings.as_dict())).encode(errors="backslashreplace"))


def _facts(run, log) -> dict[str, str]:
    """What was trained, when, and for how long. Logs of older versions contain no times."""
    facts = {"task": f"{run.task.name}: {run.task.description}",
             "model": f"{type(run.model).__name__} with {run.model.num_parameters():,} parameters",
             "steps": f"{log[-1]['step']:,}" + (f" of {run.settings.training.steps:,}" if run.settings.training else "")}
    if all(name in record for record in (log[0], log[-1]) for name in CLOCKS):
        facts["begun"] = _date(log[0]["time"] - log[0]["seconds"])
        facts["ended"] = _date(log[-1]["time"])
        facts["duration"] = f"{timedelta(seconds=round(log[-1]['seconds']))} (hours:minutes:seconds, pauses excluded)"
    return facts


def _date(seconds) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def _maps(run, texts) -> str:
    """The attention of the last layer while the model reads each of `texts`."""
    found = [attention_map(run, text) for text in texts]
    pictures = [attention_html(one.weights, one.queries, one.keys, text, one.predicted) for text, one in zip(texts, found)]
    return (f"<h2>Which token (row) attends to which (column): {found[0].kind} attention, last layer</h2>\n"
            + "".join(f"<figure>{one}</figure>\n" for one in pictures))
