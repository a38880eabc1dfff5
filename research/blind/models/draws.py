"""Random models, changed at random as users change them, and what is then wrong.

python draws.py --count 500 --first 0
"""

import argparse
import copy
import os
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ["PYTHONPATH"] = os.pathsep.join(
    [sys.path[0], os.environ.get("PYTHONPATH", "")]
)  # for helper processes

from changes import CHANGES, Notes, NotHere, apply_change
from compare import CHECKS, SEARCHES, Finding, compare, fault, refusal
from library import InputError, Threads, fast, save_weights
from models import Recipe, draw_batch, draw_recipe, draw_source
from training import HELPED, Trainee

MOMENTS = {
    "threads": 0.5,
    "adam": 0.5,
    "save": 0.2,
    "decode": 0.25,
    "step": 0.25,
    "deepcopy": 0.1,
    "loss": 0.15,
}


@dataclass
class Draw:
    seed: int
    recipe: Recipe
    batch: object
    quick: bool  # whether it trains inside fast()
    trainee: Trainee
    notes: Notes = field(default_factory=Notes)
    changes: list = field(default_factory=list)  # (name, seed) of each change that was made
    log: list = field(default_factory=list)  # what happened, in order
    findings: list = field(default_factory=list)  # while it happened

    @property
    def kind(self) -> str:
        return self.recipe.kind

    @property
    def model(self):
        return self.trainee.model

    def remake(self):
        """The same model with the same changes and nothing else."""
        model, rest = self.remake_until(0)
        rest()
        return model

    def remake_until(self, count):
        """(the model after `count` changes, a function that makes the others)."""
        model, notes = self.recipe.make(), Notes()

        def make(changes) -> None:
            for name, seed in changes:
                apply_change(name, seed, model, notes)

        make(self.changes[:count])
        return model, lambda: make(self.changes[count:])

    def close(self) -> None:
        if self.trainee.workers is not None:
            self.trainee.workers.close()


def draw(seed) -> Draw:
    rng = np.random.default_rng([17, seed])
    recipe = draw_recipe(rng)
    batch = draw_batch(recipe.kind, rng)
    one = Draw(seed, recipe, batch, bool(rng.random() < 0.5), Trainee(recipe.make()))
    for event in draw_events(rng):
        try:
            EVENTS[event](one, rng)
        except InputError as error:
            one.findings.append(refusal("events", error))
        except Exception as error:
            one.findings.append(fault("events", error))
    return one


def draw_events(rng) -> list[str]:
    """One to three changes, and other moments before, between and after them."""
    events = ["change"] * int(rng.choice([1, 2, 3], p=[0.45, 0.35, 0.2]))
    for moment, probability in MOMENTS.items():
        if rng.random() < probability:
            events.insert(rng.integers(len(events) + 1), moment)
    return events


# ---- what may happen to a model


def make_change(one, rng) -> None:
    """The first of the changes, in a random order, that applies."""
    for name in rng.permutation(sorted(CHANGES)):
        seed = int(rng.integers(2**31))
        try:
            line = apply_change(name, seed, one.model, one.notes)
        except NotHere:
            continue
        one.changes.append((name, seed))
        one.log.append(f"[{name}] {line}")
        return


def make_threads(one, rng) -> None:
    one.log.append("Threads")
    one.trainee.workers = Threads(one.model, 2)


def make_adam(one, rng) -> None:
    one.log.append("Adam")
    one.trainee.make_adam()


def save(one, rng) -> None:
    one.log.append("save")
    with tempfile.TemporaryDirectory() as folder:
        save_weights(one.model, os.path.join(folder, "weights.safetensors"))


def decode(one, rng) -> None:
    if hasattr(one.model, "start"):
        one.log.append("decode in fast()")
        with fast():
            SEARCHES["beam 3"](one.model, draw_source(one.kind, rng, 3))


def compute_loss(one, rng) -> None:
    one.log.append("loss in fast()")
    with fast():
        one.model.loss_forward(one.batch)


def step(one, rng) -> None:
    """A training step before further changes: only with an Adam that has been made."""
    if one.trainee.adam is not None:
        one.log.append("step")
        one.findings += [
            Finding("events", "difference", message)
            for message in one.trainee.step(one.batch, one.quick, "early step")
        ]


def deepcopy(one, rng) -> None:
    """Go on with a copy, unless something else refers to the model."""
    if one.trainee.adam is None and one.trainee.workers is None and not one.notes.closures:
        one.log.append("deepcopy")
        one.trainee.model, one.notes = copy.deepcopy((one.model, one.notes))


EVENTS = {
    "change": make_change,
    "threads": make_threads,
    "adam": make_adam,
    "save": save,
    "decode": decode,
    "loss": compute_loss,
    "step": step,
    "deepcopy": deepcopy,
}


# ---- the command


def report(one, findings, everything) -> None:
    """The seed, the changes and, of each check, the first thing that is wrong."""
    serious = {}
    for finding in findings:
        if finding.kind != "refusal":
            serious.setdefault((finding.check, finding.kind), []).append(finding.message)
    if serious:
        print(f"seed {one.seed}: {one.recipe}\n    {' | '.join(one.log)}")
    for (check, kind), messages in serious.items():
        for message in messages if everything else messages[:1]:
            print(f"    {check} {kind}: {message}")
        if not everything and len(messages) > 1:
            print(f"        and {len(messages) - 1} more")


def general(message) -> str:
    """A refusal without its numbers and the names of layers and models."""
    message = re.sub(r"\bthe [A-Z]\w+", "the MODEL", message)
    return re.sub(r"\d+(\.\d+)?", "#", re.sub(r"\b[a-z_]+(\.[a-z_0-9]+)+\b", "NAME", message))[:110]


def summary(seen, refusals, draws, seconds) -> None:
    for kind, count in refusals.most_common():
        print(f"refused {count:4d}: {kind}")
    counts = ", ".join(
        f"{check} {kind} in {len(seeds)}" for (check, kind), seeds in sorted(seen.items())
    )
    serious = set().union(*seen.values())
    print(
        f"{draws} draws, {len(serious)} with differences or faults; "
        f"{sum(refusals.values())} refusals; "
        f"{counts or 'nothing'}; with a helper: {HELPED[True]} of {sum(HELPED.values())}; "
        f"{seconds / max(draws, 1):.2f} s of processor time each"
    )


NAMES = ["events", *CHECKS]  # events: what went wrong while the model was changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument(
        "--all",
        action="store_true",
        help="print everything that is wrong, not the first of each check",
    )
    parser.add_argument("--only", default=",".join(NAMES), help=f"some of {','.join(NAMES)}")
    options = parser.parse_args()
    seen, refusals, start = {}, Counter(), time.process_time()
    for seed in range(options.first, options.first + options.count):
        one = draw(seed)
        findings = compare(one, options.only.split(","))
        report(one, findings, options.all)
        for finding in findings:
            if finding.kind == "refusal":
                refusals[f"{finding.check}: {general(finding.message)}"] += 1
            else:
                seen.setdefault((finding.check, finding.kind), set()).add(seed)
    summary(seen, refusals, options.count, time.process_time() - start)


if __name__ == "__main__":
    main()
