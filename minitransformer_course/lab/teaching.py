"""What the chapter on teaching needs: questions about the length of a word, and pictures of what a
model learns.
"""

import json
import re
from functools import cache

import matplotlib.pyplot as plt
import numpy as np

from minitransformer.data.batches import pad
from minitransformer.functional import softmax_forward
from minitransformer.layers.layer import Layer
from minitransformer_course.judge.course import folder_of_chapters
from minitransformer_course.lab.pictures import smoothed
from minitransformer_course.lab.text import shakespeare

NUMBERS = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}
UNSEEN = 200
MATRICES = ("query", "key", "value", "output")


def words() -> tuple[list[str], list[str]]:
    """(to learn from, unseen): Shakespeare's words of three to seven letters, in random order."""
    vocabulary, train, _held_out = shakespeare()
    found = set(re.findall("[a-z]+", vocabulary.decode(train).lower()))
    known = sorted(word for word in found if len(word) in NUMBERS)
    np.random.default_rng(0).shuffle(known)
    return known[UNSEEN:], known[:UNSEEN]


def examples(asked) -> tuple[np.ndarray, np.ndarray]:
    """(texts (B, T), n (B,)): the king says a word and the fool its length; padding is 0, and the
    first n tokens are what the king says.
    """
    vocabulary = shakespeare()[0]
    prompts = [vocabulary.encode(f"KING:\n{word}\n\nFOOL:\n") for word in asked]
    answers = [vocabulary.encode(f"{NUMBERS[len(word)]}\n") for word in asked]
    texts = pad([[*prompt, *answer] for prompt, answer in zip(prompts, answers)])
    return texts, np.array([len(prompt) for prompt in prompts])


def draw(model, prompt, count, length, rng) -> np.ndarray:
    """(count, P + length): `count` texts that continue prompt (P), each token drawn from p."""
    ids = np.tile(prompt, (count, 1))
    state = model.start(ids)
    for _step in range(length):
        p = softmax_forward(state.output.forward(state.advance(ids[:, -1:]))[0][:, 0])[0]
        drawn = (p.cumsum(axis=-1) > rng.random((count, 1))).argmax(axis=-1)
        ids = np.column_stack([ids, drawn])
    return ids


def log_p(logits, drawn) -> np.ndarray:
    """(B,): the logarithm of the probability of each text drawn (B, T)."""
    p = softmax_forward(logits)[0]
    return np.log(np.take_along_axis(p, drawn[..., None], axis=-1)).sum(axis=(1, 2))


class Learner(Layer):
    """A model as its optimiser sees it: all that learns are the detours' A and B."""

    def __init__(self, model):
        self.loss_forward, self.loss_backward = model.loss_forward, model.loss_backward
        self.A = [one.A for one in detours(model)]
        self.B = [one.B for one in detours(model)]


def with_detours(model, detour, rank, rng) -> Learner:
    """Put a detour(linear, rank, rng) in place of each of the four matrices of every attention."""
    for layer in model.stack.layers:
        for name in MATRICES:
            matrix = getattr(layer.self_attention, name)
            setattr(layer.self_attention, name, detour(matrix, rank, rng))
    return Learner(model)


def detours(model) -> list:
    """The detours that were put into a model."""
    return [
        getattr(layer.self_attention, name) for layer in model.stack.layers for name in MATRICES
    ]


def three_seeds(name, here, run, **settings) -> list:
    """What run(seed, **settings) returns for the seeds 0, 1 and 2. Only the first `here` of them
    run, and what the others returned is in tutorials/saved_runs.
    """
    return [*(run(seed, **settings) for seed in range(here)), *_saved()[name][here:]]


@cache
def _saved() -> dict[str, list]:
    path = folder_of_chapters() / "saved_runs" / "teaching.json"
    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_by_step)


def _by_step(pairs) -> dict:
    """The dict of a JSON object, with the steps of a run as numbers again."""
    return {int(name) if name.isdigit() else name: found for name, found in pairs}


def show_taught(runs) -> None:
    """Draw {how it learns: {step: (share of right answers, bits per character)} of each seed}, and
    print where it ends.
    """
    _figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
    for (name, seeds), style in zip(runs.items(), ("k-", "r--", "b:")):
        for seed, measured in enumerate(seeds):
            for axes, numbers in zip(panels, zip(*measured.values())):
                axes.plot([*measured], numbers, style, label="" if seed else name)
        ends = [[*measured.values()][-1] for measured in seeds]
        right = ", ".join(f"{share:.0%}" for share, _bits in ends)
        print(
            f"{name:22} right: {right:15} bits: {', '.join(f'{bits:.2f}' for _share, bits in ends)}"
        )
    panels[0].set(xlabel="training step", ylabel="share of right answers")
    panels[1].set(xlabel="training step", ylabel="bits for a character of Shakespeare")
    panels[0].legend(fontsize=9)


def show_estimates(exact, estimates) -> None:
    """Draw a gradient (T, V) as bars, and {how it was estimated: estimates (T, V)} as dots; print
    how far these are off.
    """
    _figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
    places = np.arange(exact.size)
    axes.bar(places, exact.ravel(), color="tab:purple", alpha=0.35, label="all texts, enumerated")
    for i, ((name, found), marker) in enumerate(zip(estimates.items(), "x.")):
        off = np.linalg.norm(np.array(found) - exact, axis=(1, 2)).mean()
        print(f"from {name:9} off by {off:.3f} on average, of {np.linalg.norm(exact):.3f}")
        for n, one in enumerate(found[:20]):
            where = places + 0.3 * i - 0.15
            axes.plot(
                where, one.ravel(), "k" + marker, label="" if n else f"24 drawn texts, {name}"
            )
    axes.set(xlabel="logit", ylabel="gradient of J", xticks=places)
    axes.legend(fontsize=9)


def show_practice(runs) -> None:
    """Draw the reward of each step, and how many bits a character costs the model as it was before:
    {what the score was: [(rewards, bits) of each seed]}.
    """
    _figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
    for (name, seeds), style in zip(runs.items(), ("r--", "k-")):
        for seed, measured in enumerate(seeds):
            for axes, numbers in zip(panels, measured):
                axes.plot(smoothed(numbers, 5), style, linewidth=1, label="" if seed else name)
    panels[0].set(xlabel="step", ylabel="share of texts without e")
    panels[1].set(xlabel="step", ylabel="bits per character, before the lesson")
    panels[0].legend(fontsize=9)
