"""The reader's function inside the real model: 200 steps of the copy task, beside the library's own."""

from contextlib import nullcontext

import numpy as np
from threadpoolctl import threadpool_limits

from minitransformer import Adam, Transformer, TransformerConfig, greedy, plugged, schedule, training_step
from minitransformer.data.batches import make_batch
from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.learn.call import describe
from minitransformer.learn.messages import _
from minitransformer.tasks import TASKS

STEPS = 200
SHOWN = 8      # lines of the curve
WIDTH = 30     # characters of the longest bar


def train_with(exercise, own, steps=STEPS):
    """{"library": losses, "yours": losses, "calls": how often `own` was called, "example": ...}, or {"error": ..., "calls"}."""
    calls = 0

    def counted(*arguments):
        nonlocal calls
        calls += 1
        return own(*arguments)

    library, _example = train(steps=steps)
    try:
        yours, example = train(plugged(exercise.plug.replaced, exercise.plug.adapt(counted)), steps)
    except Exception as error:    # the reader's function, or the model that got its answer
        return {"error": describe(error), "calls": calls}
    return {"library": library, "yours": yours, "calls": calls, "example": example}


def train(plug=nullcontext(), steps=STEPS):
    """(losses per token of a small model on the copy task, an example that it was not trained on: source, answer).

    plug: `plugged(...)`, to put a function of yours in the place of one of the library's.
    """
    task = TASKS["copy"](batch=24)
    vocabulary = task.make_vocabulary()
    batches = DrawnBatches(task, 24, 0)
    with plug, threadpool_limits(1, user_api="blas"), np.errstate(all="ignore"):
        model = Transformer(TransformerConfig.named("toy", vocabulary.size, num_layers=1), seed=0)
        adam, losses = Adam(model), []
        for step in range(1, steps + 1):
            batch = next(batches)
            sums = training_step(model, adam, batch, schedule(step, 64, warmup=50, factor=0.3))
            losses.append(float(sums.loss) / batch.terms)
        source, _target = next(pair for pair in draw_held_out(task, 20) if len(pair[0]) > 4)
        answer = greedy(model, make_batch([(source, source)]).source)[0]
    return losses, [" ".join(vocabulary.tokens(source)), vocabulary.decode(answer)]


def report(name, result):
    """What `learn plug` prints: both curves, the calls, and an example."""
    if "error" in result:
        said, line = result["error"]
        return _("{name} ran {calls:,} times, then: {line}: {error}").format(name=name, calls=result["calls"], line=line, error=said)
    largest = max(result["library"][0], 1e-9)
    lines = [_("the copy task, {n} steps: loss for each token").format(n=len(result["yours"])), "",
             f'{_("step"):>6}  {_("library"):>8}  {_("yours"):>8}']
    for step in range(0, len(result["yours"]), max(len(result["yours"]) // SHOWN, 1)):
        library, yours = result["library"][step], result["yours"][step]
        lines.append(f"{step + 1:6}  {library:8.3f}  {yours:8.3f}  {_bar(yours, largest)}")
    source, answer = result["example"]
    lines += ["", _("an example it was not trained on: {source} -> {answer}").format(source=source, answer=answer),
              _("your {name} ran {calls:,} times").format(name=name, calls=result["calls"])]
    return "\n".join(lines)


def _bar(loss, largest):
    return "#" * round(WIDTH * min(loss, largest) / largest) if loss == loss else "NaN"
