"""What pages that train have in common: a sentence where something is wrong, and the curve of the
loss.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from minitransformer.errors import InputError
from minitransformer_course.messages import _

SECONDS = 1.4  # of a part; a step may begin at its end
LEFT, RIGHT, TOP, BOTTOM = 38, 335, 22, 160  # of the curve, in a picture of 340 by 195
CURVE = """<svg viewBox="0 0 340 195" width="100%" font-size="14" role="img" aria-label="{said}">
<g fill="none" stroke="var(--color-foreground-muted)"><path d="M{left} {top}V{bottom}H{right}"/>
<polyline points="{points}" stroke="var(--live-name)" stroke-width="2" stroke-linecap="round"/></g>
<g fill="var(--color-foreground-secondary)">
<text x="2" y="12">{loss}</text><text x="2" y="36">{most:.1f}</text><text x="22" y="160">0</text>
<text x="38" y="177">0</text><text x="335" y="177" text-anchor="end">{steps}</text>
<text x="186" y="190" text-anchor="middle">{step}</text></g></svg>"""


def answers(work: Callable[..., dict]) -> Callable[..., dict]:
    """What is wrong with what a reader gave is an answer, too: {"error": a sentence}."""

    @wraps(work)
    def answer(*given: Any) -> dict:
        try:
            return work(*given)
        except InputError as error:
            return {"error": str(error)}

    return answer


def seen(losses: Sequence[tuple[int, float]], steps: int) -> dict[str, str]:
    """What a page shows of a run of `steps` steps: "step", a sentence, and "curve", of the losses
    [(step, loss), ...].
    """
    step, loss = losses[-1]
    most = max(loss for _step, loss in losses)
    said = _("Step {n} of {all}: loss {loss:.3f}").format(n=step, all=steps, loss=loss)
    across, down = (RIGHT - LEFT) / steps, (BOTTOM - TOP) / most
    points = [f"{LEFT + across * x:.1f},{BOTTOM - down * y:.1f}" for x, y in (losses[0], *losses)]
    curve = CURVE.format(
        said=said,
        points=" ".join(points),  # a single one, twice, is a dot
        most=most,
        steps=steps,
        loss=_("loss"),
        step=_("step"),
        left=LEFT,
        right=RIGHT,
        top=TOP,
        bottom=BOTTOM,
    )
    return {"step": said, "curve": curve}
