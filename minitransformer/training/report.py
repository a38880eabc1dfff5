"""report.html in a run folder: how training went, and what the model answers and attends to now."""

from html import escape

from minitransformer import plots
from minitransformer.attention_map import attention_map
from minitransformer.training.log import read_metrics

MAPS = 3         # sentences whose attention is drawn
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }}
img {{ max-width: 100% }} table {{ border-collapse: collapse; width: 100% }}
td, th {{ border-top: 1px solid #ccc; padding: .3em .6em; text-align: left; vertical-align: top }}
</style></head><body>
<h1>{title}</h1>
<table>{facts}</table>
<h2>Curves</h2>
<img src="curves.png" alt="loss, perplexity, learning rate and quality over the steps">
<h2>Outputs on validation data</h2>
<table><tr><th>text</th><th>output</th><th>expected</th></tr>{outputs}</table>
{maps}
</body></html>
"""
ATTENTION = "<h2>Who attends (rows) to whom (columns): {kind} attention, last layer</h2>\n{pictures}"


def write_report(run, examples):
    """Write report.html, curves.png and attention-N.png for a run; `examples`: [(text, expected answer)]."""
    log = read_metrics(run.path)
    plots.curves({run.path.name: log}, run.path / "curves.png")
    texts = [text for text, _ in examples]
    attended = texts[:MAPS] if run.task.attention(run, texts[0]) else []    # not every model attends
    maps = {f"attention-{number}.png": attention_map(run, text) for number, text in enumerate(attended, 1)}
    for text, (name, found) in zip(attended, maps.items()):
        plots.attention(found.weights, found.queries, found.keys, text, run.path / name)
    pictures = "".join(f'<img src="{name}" alt="{escape(text, quote=True)}">' for text, name in zip(attended, maps))
    last = {name: value for record in log for name, value in record.items() if name != "tokens_per_second"}
    facts = {"parameters": f"{run.model.num_parameters():,}", **{name: f"{value:,.6g}" for name, value in last.items()}}
    (run.path / "report.html").write_text(PAGE.format(
        title=escape(f"{run.path.name}: {run.task.name}"),
        facts=_rows((name.replace("_", " "), value) for name, value in facts.items()),
        outputs=_rows((text, output, expected) for (text, expected), output in zip(examples, run.answer(texts))),
        maps=ATTENTION.format(kind=next(iter(maps.values())).kind, pictures=pictures) if maps else ""),
        encoding="utf-8")


def _rows(rows):
    return "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
