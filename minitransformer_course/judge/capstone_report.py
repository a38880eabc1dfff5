"""What `learn plug` says of the reader's whole model: a few lines, and the map with each box in the
colour of its proof.
"""

import re
from html import escape
from pathlib import Path

from minitransformer_course.explorer.writer import writer
from minitransformer_course.judge import capstone_text
from minitransformer_course.judge.capstone import BOUND, UNSEEN, config
from minitransformer_course.judge.course import PARTS
from minitransformer_course.messages import _, spoken
from minitransformer_course.judge.my_transformer import FILE, FUNCTIONS, MODEL_FILE
from minitransformer_course.judge.own_text import FILE as TEXT

PROOFS = {  # {part of the map: which arrays prove it}, those with the fewest first
    "loss": "loss|dlogits",
    "adam": "adam_step",
    "decoding": "greedy",
    "embedding": "embedding",
    "layer_norm": r".*\.(gamma|beta)",
    "feed_forward": r".*feed_forward\.",
    "softmax": r"logits|.*attention\.(query|key)\.",
    "masks": r"logits|.*attention\.(query|key)\.",
    "heads": r".*attention\.",
    "attention": r"logits|.*attention\.",
    "linear": r".*\.(query|key|value|output|inner|outer)\.",
    "positions": "logits",
    "residual": "logits|encoder|decoder",
    "encoder": "encoder",
    "decoder": "decoder",
}
COLOURS = (
    "#ffdf80",
    "#f4a3a3",
    "#ffffff",
)  # of what is yours and right, yours and wrong, and of the rest
MARK = '<meta name="generator" content="minitransformer learn plug">'
STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1a1a1a; --quiet: #666; --box: #f4f4f4 }
:root { --line: #8250a0 }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181c; --text: #e6e6e6; --quiet: #a0a0a0; --box: #22252b; --line: #b98fd6 }
}
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 0 1rem; max-width: 80rem }
body { background: var(--back); color: var(--text) }
h1 { font-size: 1.3rem; margin: 1rem 0 .5rem }
dl { display: grid; grid-template-columns: auto 1fr; gap: .3rem 1rem }
dl { background: var(--box); padding: 1rem }
dl[hidden] { display: none }
dt { font: .75rem/1.9 ui-monospace, monospace; color: var(--quiet) }
dd { margin: 0; white-space: pre-line; overflow-wrap: anywhere }
p { color: var(--quiet) }
svg { max-width: 100%; height: auto }
input, button { font: inherit; max-width: 100% }
.loss { display: grid; grid-template-columns: auto 1fr; gap: .2rem .6rem; max-width: 48rem }
.loss div { display: flex; justify-content: space-between; color: var(--quiet) }
.loss div:first-child { flex-direction: column }
.loss svg { width: 100%; height: 9rem; border: solid var(--quiet); border-width: 0 0 1px 1px }
.loss polyline { fill: none; stroke: var(--line); vector-effect: non-scaling-stroke }
"""


def report(result, names, places, hints=True) -> str:
    """What `learn plug` prints. names: the exercises whose functions ran; places: all that have a
    place in the model; hints: with what to type next.
    """
    if "error" in result:
        said, line = result["error"]
        return _("it stopped: {error}").format(error=f"{line}: {said}" if line else said)
    errors = result["errors"]
    in_training = result.get("train") and _("train: {what}").format(what=result["train"])
    same = _(
        "the same as tutorials/one_file.py in {n} arrays, the largest error is {error:.0e}"
    ).format(n=len(errors), error=max(errors.values()))
    lines = [_wrong(result) or in_training or same]
    if result["not_passed"]:
        lines.append(
            _("these do not pass their checks: {names}").format(
                names=", ".join(result["not_passed"])
            )
        )
    if "exact" in result:
        trained = _(
            "after {steps:,} steps, {exact:.1%} of {n} words that it never saw are right, as in {word} -> {written}"
        )
        word, written = result["example"]
        lines.append(
            trained.format(
                steps=result["steps"], exact=result["exact"], n=UNSEEN, word=word, written=written
            )
        )
        if hints or "text" in result:
            lines.append(_of_text(result.get("text")))
    own = own_functions(result, names)
    lines.append(_parts(FILE, names, places, named=len(own) < len(FUNCTIONS)))
    if result["own"]:
        parts = _parts(MODEL_FILE, own, FUNCTIONS)
        lines.append(parts + (_("; together they are not right yet") if _wrong(result) else ""))
    elif hints:
        lines.append(
            _(
                "to write the whole model yourself, from a blank file:  minitransformer learn start my_model"
            )
        )
    return "\n".join(lines)


def _of_text(text) -> str:
    """What became of the reader's text."""
    if text is None:
        said = _("put a text of yours into {file}, and the next plug learns to write like it")
        return said.format(file=TEXT)
    if "wrong" in text:
        return _("{file} was not read: {what}").format(file=TEXT, what=text["wrong"])
    said = _(
        "from {file}: {first:.2f} bits for a character at first, {last:.2f} after {steps:,} steps"
    )
    (_first, first), *_between, (steps, last) = text["bits"]
    return said.format(file=TEXT, first=first, last=last, steps=steps)


def own_functions(result, names) -> list[str]:
    """Those of FUNCTIONS that are the reader's: of my_model.py, and adam_step also if it is an
    exercise's.
    """
    return [
        name
        for name in FUNCTIONS
        if name in result["own"] or (name == "adam_step" and name in names)
    ]


def _parts(file, have, all_, named=True) -> str:
    """named: whether to name those that are the library's."""
    missing = [name for name in all_ if named and name not in have]
    said = _("{file}: {n} of {all} functions of this model are yours").format(
        file=file, n=len(have), all=len(all_)
    )
    return said + (
        _("; the library's: {names}").format(names=", ".join(missing)) if missing else ""
    )


def _wrong(result) -> str:
    """The first thing that is wrong, in the order of computation; "" if nothing is."""
    errors = result["errors"]
    wrong = [name for name, error in errors.items() if error > BOUND]
    if not wrong:
        return ""
    first, error = wrong[0], errors[wrong[0]]
    off = (
        _("is missing, has another shape, or is not finite")
        if error == float("inf")
        else _("is off by {error:.1e}").format(error=error)
    )
    if first == "greedy":
        return _("greedy writes other tokens than tutorials/one_file.py")
    if first in ("logits", "loss", "dlogits", "adam_step"):
        said = _("{name} {off}, compared with tutorials/one_file.py").format(name=first, off=off)
        return "; ".join(
            filter(
                None,
                [
                    said,
                    _forward(result["first_wrong"]) if first == "logits" else result.get("likely"),
                ],
            )
        )
    before = [
        name for name in list(errors)[: list(errors).index(first)] if not name.endswith("key.bias")
    ][-1]  # 0 in any case
    said = _(
        "backward: the gradient of {name} {off}; {before}, one step nearer to the loss, is right"
    ).format(name=first, off=off, before=before)
    return said + (
        _("; the matrix is used in three places, and each use adds to its gradient")
        if "embedding" in first
        else ""
    )


def _forward(layer) -> str:
    """Where in the forward to look. layer: what `first_wrong` says."""
    if not layer:
        return _(
            "with every sub-layer adding 0 it is wrong too: look at the embedding, the positions, LayerNorm and the logits"
        )
    return _(
        "with every sub-layer adding 0 it is right; turned on one by one, {layer} is the first to make it wrong"
    ).format(layer=layer)


def proof_page(result, names, places) -> str:
    """Figure 1 as an HTML page, in which each box has the colour of its proof."""
    from minitransformer.pictures.architecture import (
        PARTS as TITLES,
        architecture,
    )  # late: matplotlib takes a second

    functions = {
        "loss": {"loss"},
        "adam": {"adam_step"},
        "decoding": {"greedy"},
    }  # the others are in forward and backward
    own = [
        part
        for part, exercises in PARTS.items()
        if part != "dropout"
        and (  # which this model does without
            functions.get(part, {"forward", "backward"}) <= {*result["own"]}
            or {*exercises} <= {*names}
        )
    ]
    errors = {
        part: max(error for name, error in result["errors"].items() if re.match(PROOFS[part], name))
        for part in own
    }
    wrong = [
        part
        for part in own
        if {*PARTS[part]} & {*result["not_passed"]} or (result["own"] and errors[part] > BOUND)
    ]
    first = [
        part
        for part in [_first_of(wrong, result)]
        if part not in (None, "loss", "adam", "decoding")
    ]  # those have no box
    svg = (
        architecture(
            config(),
            own=[part for part in own if part not in wrong],
            wrong=wrong,
            here=first,
            frame=_("look here first"),
        )
        .as_bytes("svg")
        .decode()
    )
    rows = "".join(
        f"<dt>{escape(TITLES[part][0])}</dt><dd>{errors[part]:.0e}</dd>\n" for part in own
    )
    meanings = (
        _("yours, and the same as tutorials/one_file.py to {bound:.0e}").format(bound=BOUND),
        _("yours, and wrong, or behind something wrong; a frame is where to look first"),
        _(
            "the library's, or not in this model; the numbers are the largest errors of the arrays that prove a part"
        ),
    )
    legend = "".join(
        f'<span style="background: {colour}; border: 1px solid #666">&emsp;</span> {escape(text)}<br>\n'
        for colour, text in zip(COLOURS, meanings)
    )
    said = escape(report(result, names, places, hints=False)).replace("\n", "<br>\n")
    title = _("My Transformer")
    return (
        f'<!doctype html>\n<html lang="{spoken()}">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" '
        f'content="width=device-width, initial-scale=1">\n{MARK}\n<title>{escape(title)}</title>\n<style>{STYLE}</style>\n'
        f"</head>\n<body>\n{_of_samples(result.get('text'))}<h1>{title}</h1>\n{svg[svg.index('<svg') :]}\n"
        f"<p>{said}</p>\n<p>{legend}</p>\n<dl>\n{rows}</dl>\n</body>\n</html>\n"
    )


def _of_samples(text) -> str:
    """HTML of a model that learned from the reader's text: the model, what it wrote, its loss."""
    if not text or "wrong" in text:
        return ""
    losses = text["losses"]
    top = max(losses)
    points = " ".join(
        f"{600 * i / len(losses):.1f},{150 * (1 - loss / top):.1f}" for i, loss in enumerate(losses)
    )
    title = _("What it writes after reading {file}").format(file=TEXT)
    said = _(
        "the loss of each of {n:,} steps, from {top:.2f} down to {end:.2f}; {parameters:,} weights"
    )
    said = said.format(n=len(losses), top=top, end=losses[-1], parameters=text["parameters"])
    steps = "".join(
        f"<span>{escape(_('step {step:,}').format(step=step))}</span>" for step in (1, len(losses))
    )
    html = f"<h1>{escape(title)}</h1>\n"
    for step, written in text["samples"]:
        named = _("after {n:,} steps").format(n=step)
        shown = re.sub(r"\n{3,}", "\n\n", written)
        html += f"<dl><dt>{escape(named)}</dt><dd>{escape(shown)}</dd></dl>\n"
    sides = f"<span>{top:.2f}</span><span>{escape(_('loss'))}</span><span>0</span>"
    html += (
        f'<p>{escape(said)}</p>\n<div class="loss"><div>{sides}</div>'
        '<svg viewBox="0 0 600 150" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(said)}"><polyline points="{points}"/></svg>'
        f"<div></div><div>{steps}</div></div>\n"
    )
    return _live(text) + html


def _live(text) -> str:
    """HTML in which the model continues a text that the reader types."""
    tokens, (_step, sample) = text["tokens"], text["samples"][-1]
    words = sample.split()
    start = words[1] if len(words) > 1 else sample[:8]  # the first may be the end of a word
    model = capstone_text.language_model(len(tokens), capstone_text.D_MODEL)
    field = writer(model, text["weights"], tokens, start, capstone_text.TEMPERATURE)
    title = _("My language model, live: its weights are in this page")
    return f"<h1>{escape(title)}</h1>\n{field}"


def is_page(path) -> bool:
    """Whether this is a file that `proof_page` made, so that a new one may replace it."""
    return Path(path).is_file() and MARK in Path(path).read_text(encoding="utf-8", errors="replace")


def _first_of(wrong, result) -> str | None:
    """The wrong part of the map that the first wrong array proves; if that is the logits, what
    `first_wrong` says.
    """
    arrays = [name for name, error in result["errors"].items() if error > BOUND]
    first = (
        f"{result['first_wrong'] or 'embedding'}."
        if arrays[:1] == ["logits"]
        else "".join(arrays[:1])
    )
    return next(
        (part for part, pattern in PROOFS.items() if part in wrong and re.match(pattern, first)),
        next(iter(wrong), None),
    )
