"""The reader's functions inside the real model: 200 steps of the copy task, beside the library's own."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from minitransformer import Adam, Transformer, TransformerConfig, greedy, plugged, schedule, training_step
from minitransformer.data.batches import make_batch
from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.tasks import TASKS
from minitransformer.workers.host import one_blas_thread
from minitransformer_course.judge.call import describe
from minitransformer_course.judge.course import exercises, find_exercise
from minitransformer_course.judge.messages import _

STEPS = 200
COPY = TASKS["copy"]()
SHOWN = 8      # lines of the curve
WIDTH = 30     # characters of the longest bar
LATER: dict[str, dict[str, Any]] = {    # {the module of a block that came after the paper: the configuration that has it}
    "minitransformer.zoo.modern.rms_norm": dict(norm="rms"),
    "minitransformer.zoo.modern.rotary": dict(positions="rotary", attention="grouped"),
    "minitransformer.zoo.modern.gated": dict(activation="swiglu"),
    "minitransformer.zoo.modern.grouped_attention": dict(attention="grouped", attention_settings={"kv_heads": 2})}


class Training(NamedTuple):
    losses: list     # for each token, a number for each step
    example: list    # a source that was not trained on, and the model's answer
    model: Any


def train_with(own, steps=STEPS) -> dict[str, Any]:
    """{"library": losses, "yours": losses, "calls": {name: how often it ran}, "example": ...}, or {"error": ..., "calls"}.

    own: {name of an exercise: the reader's function}.
    """
    calls = dict.fromkeys(own, 0)

    def counted(name) -> Callable:
        def run(*arguments) -> Any:
            calls[name] += 1
            return own[name](*arguments)
        return run

    sizes = {key: value for name in own for key, value in later(find_exercise(name)).items()}
    library = train(steps=steps, **sizes)
    try:
        yours = train(*plugs(own, counted), steps=steps, **sizes)
    except Exception as error:    # the reader's function, or the model that got its answer
        return {"error": describe(error), "calls": calls}
    return {"library": library.losses, "yours": yours.losses, "calls": calls, "example": yours.example}


def later(exercise) -> dict[str, Any]:
    """What the paper's model has to be changed to, so that it calls the exercise's function."""
    return LATER.get(exercise.plug.replaced.__module__, {}) if exercise.plug else {}


def in_the_paper() -> list[str]:
    """The exercises whose functions the paper's model calls."""
    return [name for name, one in exercises().items() if one.plug and not later(one)]


def plugs(own, wrapped=None) -> list:
    """The contexts in which the reader's functions {name: function} take their places in the library, each as wrapped(name)."""
    places = {name: find_exercise(name).plug for name in own}
    return [plugged(plug.replaced, plug.adapt(wrapped(name) if wrapped else own[name])) for name, plug in places.items() if plug]


def train(*plugs, steps=STEPS, task=COPY, seed=0, **sizes) -> Training:
    """The Training of a small model on a toy task; `sizes` change its TransformerConfig.

    plugs: `plugged(...)` of functions of yours, each to run in place of one of the library's. seed: of the initial weights and
    of the letters.
    """
    vocabulary = task.make_vocabulary()
    batches = DrawnBatches(task, 24, seed)
    with ExitStack() as stack, one_blas_thread, np.errstate(all="ignore"):
        for plug in plugs:
            stack.enter_context(plug)
        model = Transformer(TransformerConfig.named("toy", vocabulary.size, num_layers=1, **sizes), seed=seed)
        adam, losses = Adam(model), []
        for step in range(1, steps + 1):
            batch = next(batches)
            sums = training_step(model, adam, batch, schedule(step, 64, warmup=50, factor=0.3))
            losses.append(float(sums.loss) / batch.terms)
        source, _target = next(pair for pair in draw_held_out(task, 20) if 4 < len(pair[0]) < 9)
        answer = greedy(model, make_batch([(source, source)]).source)[0]
    return Training(losses, [" ".join(vocabulary.tokens(source)), vocabulary.decode(answer[:2 * len(source)])], model)


def report(result) -> str:
    """What `learn plug` prints: both curves, the calls, and an example."""
    calls = result["calls"]
    names = ", ".join(calls)
    if "error" in result:
        said, line = result["error"]
        return _("with your {name} it stopped, after {calls:,} calls: {error}").format(
            name=names, calls=sum(calls.values()), error=f"{line}: {said}" if line else said)
    largest = max(result["library"][0], 1e-9)
    lines = [_("the copy task, {n} steps: loss for each token").format(n=len(result["yours"])), "",
             _("  step   library     yours")]
    last = len(result["yours"]) - 1
    for step in [*range(0, last, max(last // SHOWN, 1)), last]:
        library, yours = result["library"][step], result["yours"][step]
        lines.append(f"{step + 1:6}  {library:8.3f}  {yours:8.3f}  {_bar(yours, largest)}")
    source, answer = result["example"]
    example = _("an example it was not trained on: {source} -> {answer}")
    lines += ["", example.format(source=source, answer=answer or _("(nothing)")),
              *(_("your {name} ran {calls:,} times").format(name=name, calls=n) for name, n in calls.items())]
    if result["not_passed"]:
        wrong = _("Your {name} does not pass its check yet. The rest of the model is the library's, and its gradients are right\n"
                  "for the right {name} only. A loss that falls proves nothing: a wrong function can train, too.")
        lines += ["", wrong.format(name=", ".join(result["not_passed"]))]
        if any("mask" in name for name in result["not_passed"]):
            lines.append(_("A lower loss proves nothing, either: a mask that lets the model see the tokens that it has to predict\n"
                           "lowers it. The example shows what the model can do when it does not see them."))
    elif result["yours"] != result["library"]:
        lines.append(_("What passes its check differs from the library by rounding alone, which training magnifies."))
    return "\n".join(lines)


def _bar(loss, largest) -> str:
    return "#" * round(WIDTH * min(loss, largest) / largest) if loss == loss else "NaN"
