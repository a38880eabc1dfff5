"""A small translator of number words, English to German, trained while the page runs; what it says,
and pictures of its scores.
"""

import matplotlib.pyplot as plt

from minitransformer import Adam, Transformer, TransformerConfig, training_step
from minitransformer.data.drawn import DrawnBatches, draw_examples, draw_held_out
from minitransformer.decoding import GREEDY, decode_all
from minitransformer.errors import InputError
from minitransformer.data.special import PAD
from minitransformer.tasks import TASKS
from minitransformer.tasks.evaluation import bleu

TASK = TASKS["numbers"]()
VOCABULARY = TASK.make_vocabulary()
CONFIG = TransformerConfig(
    num_layers=1,
    d_model=32,
    num_heads=4,
    d_ff=64,
    dropout=0.1,
    source_vocab=VOCABULARY.size,
    target_vocab=VOCABULARY.size,
)
SIZE = 16  # numbers in a batch of training


def trained(seed=0, steps=160) -> Transformer:
    """A model that has seen `steps` batches of numbers. 160 are too few, so there are mistakes to
    count.
    """
    model = Transformer(CONFIG, seed=seed)
    adam = Adam(model)
    for step, batch in zip(range(1, steps + 1), DrawnBatches(TASK, SIZE, seed)):
        training_step(
            model,
            adam,
            batch,
            0.006 * min(1, step / 20, 2 - 2 * step / (steps + 1)),
            seed=(seed, step),
        )
    return model


def unseen(count=200) -> list:
    """`count` numbers that no training batch holds, as pairs of ids."""
    return draw_held_out(TASK, count)


def drawn_like_training(count, seed=0) -> list:
    """`count` pairs of ids, drawn as those of `trained`, with nothing held out."""
    return draw_examples(TASK, [seed, 0], count)


def read_in_training(seed=0, steps=160) -> set[tuple[int, ...]]:
    """The sources that `trained` has seen."""
    return {
        tuple(source)
        for step in range(1, steps + 1)
        for source, _target in draw_examples(TASK, [seed, step], SIZE)
    }


def translated(model, pairs) -> list[list[int]]:
    """What the model writes for each source, token after token, each time the most likely one."""
    return [
        best.ids
        for best, *_others in decode_all(
            model, [source for source, _target in pairs], GREEDY, threads=1
        )
    ]


def texts(all_ids) -> list[str]:
    """The tokens of each list of ids, with spaces between them."""
    return [" ".join(VOCABULARY.tokens([i for i in ids if i != PAD])) for ids in all_ids]


def beside_sacrebleu(score, outputs, references) -> str:
    """How far a BLEU from 0 to 1 is from sacrebleu's, of lists of ids; or that sacrebleu is not
    installed.
    """
    try:
        theirs = bleu(texts(outputs), texts(references), "none")[0] / 100
    except InputError as error:
        return f"not compared: {error}"
    return f"difference {abs(score - theirs):.0e}"


def show_shares(shares, xlabel) -> None:
    """Draw {what it is: a share from 0 to 1} as bars with their percentages."""
    figure, axes = plt.subplots(figsize=(7.5, 0.42 * len(shares) + 0.8), layout="constrained")
    bars = axes.barh(list(shares), [100 * share for share in shares.values()], color="tab:gray")
    axes.bar_label(bars, fmt="%.0f", padding=3)
    axes.set(xlabel=xlabel, xlim=(0, 112))
    axes.invert_yaxis()


def show_spread(drawn, seeds) -> None:
    """Draw BLEU of test sets drawn anew (N,), for the first of the models whose BLEU on the whole
    test set is `seeds`.
    """
    figure, axes = plt.subplots(figsize=(7.5, 2.6), layout="constrained")
    axes.hist(100 * drawn, 30, color="0.8", label="seed 0, sentences drawn again")
    for seed, (score, style) in enumerate(zip(seeds, ("-", "--", ":"))):
        axes.axvline(100 * score, color="black", linestyle=style, label=f"seed {seed}")
    axes.set(xlabel="BLEU (%)", ylabel="number of draws")
    figure.legend(loc="outside upper center", ncols=4)


def show_merges(lengths, pieces) -> None:
    """Draw the length of a text after each merge, and name the piece that each merge has made."""
    figure, axes = plt.subplots(figsize=(7.5, 2.8), layout="constrained")
    axes.plot(range(len(lengths)), lengths, "k.-")
    axes.set_xticks(range(len(lengths)), ["none", *pieces], rotation=90)
    axes.set(xlabel="merges, one after the other", ylabel="tokens of the text", ylim=(0, None))
