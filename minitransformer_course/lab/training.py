"""Short training runs of the running example, their pictures, and tasks that show what a part is
for.
"""

import string
from dataclasses import dataclass, replace

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import Adam, Transformer, TransformerConfig, make_batch, training_step
from minitransformer.data.drawn import draw_held_out
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.functional import softmax_forward
from minitransformer.data.special import SPECIAL
from minitransformer.tasks import TASKS
from minitransformer.tasks.toy import LetterTask, ToyTask
from minitransformer.training.optim import clip_factor
from minitransformer_course.lab.example import CONFIG, LETTERS

FIRST = len(SPECIAL)  # the id of the letter a


@dataclass(frozen=True, kw_only=True)
class Dice(LetterTask):
    """Maps eight letters to eight throws of a die, a to f, about which the source says nothing."""

    def draw(self, rng) -> tuple[list[str], list[str]]:
        return [string.ascii_lowercase[i] for i in rng.integers(26, size=8)], [
            "abcdef"[i] for i in rng.integers(6, size=8)
        ]


@dataclass(frozen=True, kw_only=True)
class AddNeighbours(ToyTask):
    """Maps three to five digits to the last digits of the sums of neighbours: 3 8 5 -> 1 3."""

    def draw(self, rng) -> tuple[list[str], list[str]]:
        digits = rng.integers(10, size=rng.integers(3, 6))
        return [str(digit) for digit in digits], [
            str(total % 10) for total in digits[:-1] + digits[1:]
        ]

    def make_vocabulary(self) -> SymbolVocabulary:
        return SymbolVocabulary(string.digits)


class SGD:
    """Stochastic gradient descent: each weight moves by the learning rate times its gradient."""

    def __init__(self, model):
        self.model = model

    def step(self, learning_rate, clip=None, square=None, each_piece=None) -> None:
        """The gradient is clipped as Adam's is."""
        data, grad = self.model.flat
        data -= learning_rate * (1.0 if clip is None else clip_factor(grad @ grad, clip)) * grad
        grad[...] = 0


def three_layers(pre_norm=False) -> TransformerConfig:
    """Like the running example, but three layers deep and with a narrower feed-forward network."""
    return replace(CONFIG, num_layers=3, d_ff=64, pre_norm=pre_norm)


def unseen_pairs(count) -> list:
    """Words that the running example never saw in training, as pairs of ids: the word, and the word
    written backwards.
    """
    return draw_held_out(TASKS["reverse"](), count)


def words(rng, count, length) -> list:
    """`count` pairs of ids of random letters: a word, and the same backwards."""
    return [
        (word, word[::-1]) for word in rng.integers(FIRST, LETTERS.size, (count, length)).tolist()
    ]


def reverse(
    steps,
    blind=False,
    seed=0,
    config=CONFIG,
    learning_rate=lambda step: 0.002 * min(1, step / 20),
    optimizer=Adam,
) -> tuple[Transformer, np.ndarray]:
    """Train a model to write 16 words of 8 random letters backwards: (model, the mean loss of a
    letter before each step).

    blind: every letter of the source is replaced by an a.
    """
    model, rng = Transformer(config, seed=seed), np.random.default_rng(seed)
    move, losses = optimizer(model), []
    for step in range(1, steps + 1):
        batch = make_batch(
            [([FIRST] * 8 if blind else source, target) for source, target in words(rng, 16, 8)]
        )
        losses.append(-model.loss_forward(batch)[1].loss.log_likelihood[:, :8].mean())
        training_step(model, move, batch, learning_rate(step))
    return model, np.array(losses)


def undecided(model, word) -> tuple[np.ndarray, np.ndarray, int]:
    """(p, ids, t) while the model writes `word` backwards: p (1, T, V), the targets ids (1, T), and
    where p is least certain.
    """
    letters = LETTERS.encode(word)
    batch = make_batch([(letters, letters[::-1])])
    p, _cache = softmax_forward(model.forward(*batch.inputs)[0].astype(float))
    return p, batch.next_target, int((p**2).sum(axis=-1)[0].argmin())


def show_rows(rows, target) -> None:
    """Draw one row per entry of {what they are: (V,)}, with a number for each letter; gradients are
    purple.
    """
    figure, panels = plt.subplots(len(rows), 1, figsize=(8, 4.6), sharex=True, layout="constrained")
    for axes, (name, row) in zip(panels, rows.items()):
        axes.bar(
            range(FIRST, len(row)),
            row[FIRST:],
            color="tab:gray" if name == "probability" else "tab:purple",
        )
        axes.axhline(0, color="black", linewidth=0.5)
        axes.set_ylabel(name)
    axes.set_xticks(range(FIRST, len(row)), string.ascii_lowercase)
    axes.set_xlabel(f"letter; the target is {LETTERS.decode([target])}")


def show_floors(axes, shares, classes) -> None:
    """Draw the loss over the probability of the target, for {eps: the target's share}; all other
    classes are alike.
    """
    p = np.linspace(0.01, 0.9999, 500)
    for (eps, share), style in zip(shares.items(), ("k-", "r--", "b:")):
        axes.plot(
            p,
            -share * np.log(p) - (1 - share) * np.log((1 - p) / (classes - 1)),
            style,
            label=f"$\\epsilon$ = {eps}",
        )
        axes.plot(
            share,
            -share * np.log(share) - (1 - share) * np.log(max(1 - share, 1e-9) / (classes - 1)),
            style[0] + "o",
        )
    axes.set(xlabel="probability of the target", ylabel="loss (nats)", ylim=(0, 5))
    axes.legend()


def show_weights(axes, names, groups) -> None:
    """Draw bars side by side: {what they are: a percentage for each name}."""
    for i, ((name, weights), colour) in enumerate(zip(groups.items(), ("tab:red", "black"))):
        axes.bar(np.arange(len(names)) + 0.4 * i - 0.2, weights, 0.4, color=colour, label=name)
    axes.set_xticks(range(len(names)), names)
    axes.set(xlabel="micro-batch", ylabel="weight of one token (%)")
    axes.legend()


def gradient_of(model) -> np.ndarray:
    """The gradient of all weights (P,) for the mean loss of a batch of 16 random words."""
    batch = make_batch(words(np.random.default_rng(0), 16, 8))
    model.zero_grad()
    model.loss_backward(1 / batch.terms, model.loss_forward(batch)[1])
    return model.flat.grad.copy()


def show_valley(axes, valley, paths) -> None:
    """Draw the contours of valley(a, b) and {name: points (steps, 2)} on them."""
    a, b = np.meshgrid(np.linspace(-1.2, 4.5, 100), np.linspace(-1.3, 1.3, 100))
    axes.contour(a, b, valley(a, b), np.geomspace(0.05, 40, 10), colors="0.8")
    for (name, path), style in zip(paths.items(), ("r.--", "k.-")):
        axes.plot(*path.T, style, label=name, linewidth=1)
    axes.set(xlabel="first weight: small gradient", ylabel="second weight: large gradient")
    axes.legend(loc="upper left")
