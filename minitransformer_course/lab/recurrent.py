"""Small recurrent models that copy letters, for the chapter about what came before attention."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import Adam, make_batch, training_step
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.data.special import PAD, SPECIAL
from minitransformer.layers.hooks import hooked
from minitransformer.models import MODELS
from minitransformer.pictures.attention_map import Attended
from minitransformer.zoo.baselines import RecurrentConfig
from minitransformer_course.lab.pictures import show_map

LETTERS = SymbolVocabulary("abcdefgh", joint="")
LENGTHS = (2, 4, 8, 12)
SIZE = 24  # of a hidden state


def sentences(rng, count, length) -> list:
    """`count` pairs of ids: random letters, to be written as they were read."""
    return [(ids, ids) for ids in (len(SPECIAL) + rng.integers(8, size=(count, length))).tolist()]


def copier(name, seed=0, steps=200) -> Any:
    """A model that has learned to copy for `steps` updates. Its encoder reads from left to right
    only.
    """
    model = MODELS[name](
        RecurrentConfig(
            num_layers=1,
            d_model=SIZE,
            bidirectional=False,
            source_vocab=LETTERS.size,
            target_vocab=LETTERS.size,
        ),
        seed=seed,
    )
    adam, rng = Adam(model), np.random.default_rng(seed)
    for step in range(1, steps + 1):
        length = int(
            (LENGTHS[-1] + 1) ** rng.random()
        )  # short words more often, since they are learned first
        training_step(
            model,
            adam,
            make_batch(sentences(rng, 32, length)),
            0.02 * min(1, step / 20, 2 - 2 * step / (steps + 1)),
        )
    return model


def copied(model, count=100) -> list[float]:
    """The share of letters that the model copies to their place, for each of LENGTHS, given the
    right ones before.
    """
    rng, found = np.random.default_rng(9), []
    for length in LENGTHS:
        batch = make_batch(sentences(rng, count, length))
        found.append(
            float(
                (model.forward(*batch.inputs)[0].argmax(axis=-1) == batch.next_target)[
                    :, :length
                ].mean()
            )
        )
    return found


def gradient_by_distance(model, length) -> np.ndarray:
    """(length,): `first_letter_gradient` for 20 random words."""
    return first_letter_gradient(model, sentences(np.random.default_rng(1), 20, length))


def first_letter_gradient(model, pairs) -> np.ndarray:
    """(length,): the norm of the gradient of the first written letter's loss with respect to what
    the encoder reads.

    The last letter comes first: a recurrent model makes one step from it to the end of the sentence
    and one into the decoder, and one step more for each place further away. In float64, the mean
    over `pairs` of ids, which are equally long.
    """
    model, found = model.astype(np.float64), []
    batch = make_batch(pairs)
    first = batch.next_target.copy()
    first[:, 1:] = PAD

    def look(path, direction, method, *arguments, **options) -> Any:
        result = method(*arguments, **options)
        if (path, direction) == ("encoder", "backward"):
            found.append(result[0] if isinstance(result, tuple) else result)
        return result

    with hooked(model, look):
        _sums, cache = model.loss_forward(batch._replace(next_target=first))
        model.loss_backward(1.0, cache)
    (dx,) = found  # (B, length + 1, d_model), EOS included
    return np.linalg.norm(dx, axis=2).mean(axis=0)[-2::-1]


def show_distance(axes, curves, log=False) -> None:
    """Draw {what it is: the norm of a gradient for each distance, beginning with 1}."""
    styles = iter(("-", "-.", ":"))
    for name, curve in curves.items():
        colour = {"RNN": "black", "before training": "black", "GRU": "tab:brown"}.get(
            name, "tab:purple"
        )
        axes.plot(
            range(1, len(curve) + 1),
            curve,
            next(styles) if colour == "tab:purple" else "--",
            color=colour,
            label=name,
        )
    axes.set(xlabel="distance: letters from the end of the source", ylabel="norm of the gradient")
    axes.set_yscale("log" if log else "linear")
    axes.legend(fontsize=9)


def show_copied(axes, shares) -> None:
    """Draw {name of the model: [for each seed the share of right letters at each of LENGTHS]}."""
    for (name, three), style in zip(shares.items(), ("r.--", "k.-")):
        for seed, row in enumerate(three):
            axes.plot(
                LENGTHS,
                [100 * share for share in row],
                style,
                label=None if seed else f"{name}, three seeds",
            )
    axes.axhline(100 / 8, color="0.5", linestyle=":", label="guessing")
    axes.set(
        xlabel="length of the source in letters",
        ylabel="letters copied to their place (%)",
        xticks=LENGTHS,
        ylim=(0, 103),
    )
    axes.legend(fontsize=9)


def show_attention(model, word) -> None:
    """Draw the attention weights while the model copies a word, given the right letters before
    each.
    """
    ids, tokens = LETTERS.encode(word), [*word, "</s>"]
    weights = model.attention_weights(*make_batch([(ids, ids)]).inputs)["cross"][0][0]
    figure, axes = plt.subplots(figsize=(4.6, 3.6), layout="constrained")
    figure.colorbar(
        show_map(axes, Attended(weights, tokens, tokens, tokens)), label="attention weight"
    )
    axes.set_title("")  # there are no heads
