"""Training steps of the library, against Adam's formulas and the gradients of the textbook."""

import time

import numpy as np

from library import Adam, LocalProcesses, Threads, fast, training_step
from measure import Plain, gradients, unlike

RATE, EPSILON, CLIP = (
    1e-2,
    0.1,
    1.0,
)  # with a large epsilon, a step follows the size of each gradient


class PlainAdam:
    """The update of a step, from the gradients of the textbook and Adam's formulas alone."""

    def __init__(self):
        self.moments, self.steps = {}, 0

    def expect(self, model, batch):
        """(loss, {name: the weights after the step})."""
        loss, found = gradients(model, batch, 1 / batch.terms, dropout=False)
        norm = float(np.sqrt(sum((one**2).sum() for one in found.values())))
        scale = min(1.0, CLIP / norm) if norm else 1.0
        self.steps += 1
        return loss, {
            name: self.moved(parameter, scale * found[name])
            for name, parameter in model.parameters().items()
        }

    def moved(self, parameter, g):
        _, m, v = self.moments.get(id(parameter), (parameter, np.zeros_like(g), np.zeros_like(g)))
        m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g * g
        self.moments[id(parameter)] = parameter, m, v  # the parameter too: its id stays its own
        mean, square = m / (1 - 0.9**self.steps), v / (1 - 0.98**self.steps)
        return parameter.data - RATE * mean / (np.sqrt(square) + EPSILON)


class Trainee:
    """A model with the library's Adam, perhaps its workers, and a plain Adam beside it."""

    def __init__(self, model):
        self.model, self.adam, self.workers, self.plain = model, None, None, PlainAdam()

    def make_adam(self) -> None:
        self.adam, self.plain = Adam(self.model, epsilon=EPSILON), PlainAdam()

    def step(self, batch, quick, what):
        """Train once; yields what is not as expected."""
        loss, expected = self.plain.expect(self.model, batch)
        with fast() if quick else Plain():
            sums = training_step(
                self.model, self.adam, batch, RATE, smoothing=0.1, clip=CLIP, workers=self.workers
            )
        if problem := unlike(sums.loss, loss):
            yield f"{what}: loss: {problem}"
        found = {name: parameter.data for name, parameter in self.model.parameters().items()}
        wrong = {
            name: problem
            for name in expected
            if (problem := unlike(found[name], expected[name], scale=0.1))
        }
        if wrong:
            shown = "; ".join(f"{name} {problem}" for name, problem in list(wrong.items())[:3])
            yield f"{what}: weights after the step: {len(wrong)} of {len(expected)}, {shown}"

    def steps(self, batch, quick, what):
        """Two steps; the second only if the first was right."""
        problems = list(self.step(batch, quick, f"{what}, step 1"))
        yield from problems or self.step(batch, quick, f"{what}, step 2")


def check_step(draw):
    """A step without workers, of the same model made anew."""
    trainee = Trainee(draw.remake())
    trainee.make_adam()
    yield from trainee.steps(draw.batch, draw.quick, "fast" if draw.quick else "textbook")


def check_threads(draw):
    trainee = draw.trainee
    trainee.workers = trainee.workers or Threads(trainee.model, 2)
    if trainee.adam is None:
        trainee.make_adam()
    yield from trainee.steps(draw.batch, draw.quick, "fast" if draw.quick else "textbook")


HELPED = {True: 0, False: 0}  # how many draws had a helper
PATIENCE = 10  # seconds to wait for one


def check_processes(draw):
    """In every twentieth draw: changes, workers, more changes before or after the helper starts."""
    turn, rest_of_seed = divmod(draw.seed, 20)
    if rest_of_seed:
        return
    before = turn // 2 % (len(draw.changes) + 1)
    model, rest = draw.remake_until(before)
    workers = LocalProcesses(model, 2)
    try:
        if turn % 2:
            rest()
        HELPED[wait_for_helper(workers, model, draw.batch)] += 1
        if not turn % 2:
            rest()
        trainee = Trainee(model)
        trainee.make_adam()
        trainee.workers = workers
        late = "before" if turn % 2 else "after"
        yield from trainee.steps(
            draw.batch,
            draw.quick,
            f"workers made after {before} changes, the others {late} the helper",
        )
    finally:
        workers.close()


def wait_for_helper(workers, model, batch) -> bool:
    """Train until the helper takes part: it is asked only when there is work."""
    adam, end = Adam(model, epsilon=EPSILON), time.monotonic() + PATIENCE
    while not workers.helped and time.monotonic() < end:
        training_step(model, adam, batch, RATE, workers=workers)
        time.sleep(0.05)
    return bool(workers.helped)
