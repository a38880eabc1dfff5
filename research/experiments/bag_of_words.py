"""A linear model of a bag of words on SST-2: how much of the accuracy needs no word order?

    minitransformer data sst2
    python research/experiments/bag_of_words.py data/sst2

Logistic regression on which words a sentence contains, in plain NumPy. Its loss is convex and it
starts from zero, so there is no seed. dev.tsv chooses the penalty. What it printed is in
bag_of_words.txt. It takes half a minute of one core.
"""

import argparse
from pathlib import Path

import numpy as np

from minitransformer.data.labelled import read_labelled

PENALTIES = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4)
STEPS, RATE = 1000, 0.1


def features(examples, columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows, words, labels): sentence rows[i] contains the word number words[i]; a word that
    `columns` lacks is left out.
    """
    found = [
        (row, columns[word])
        for row, (text, _) in enumerate(examples)
        for word in set(text.split())
        if word in columns
    ]
    return *np.array(found).T, np.array([label == "1" for _, label in examples])


def logits(weights, rows, words, labels) -> np.ndarray:
    """(N,): the sum of the weights of a sentence's words, and the last weight, which is the bias."""
    return np.bincount(rows, weights[words], len(labels)) + weights[-1]


def fit(penalty, size, rows, words, labels) -> np.ndarray:
    """The weights that minimise mean(cross-entropy) + penalty / 2 * sum(weights^2), by Adam on all
    sentences at once.
    """
    weights, m, v = np.zeros((3, size + 1))
    for step in range(1, STEPS + 1):
        error = (1 / (1 + np.exp(-logits(weights, rows, words, labels))) - labels) / len(
            labels
        )  # dlogits = p - y, over N
        gradient = np.append(np.bincount(words, error[rows], size), error.sum()) + penalty * weights
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        rate = RATE * (1 - step / STEPS)
        weights -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-12)
    return weights


def accuracy(weights, data) -> float:
    return float(((logits(weights, *data) > 0) == data[2]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="folder of train.tsv, dev.tsv and test.tsv"
    )
    folder = parser.parse_args().folder
    train, dev, test = (
        read_labelled(folder / f"{name}.tsv", name) for name in ("train", "dev", "test")
    )
    columns = {
        word: i
        for i, word in enumerate(sorted({word for text, _ in train for word in text.split()}))
    }
    train, dev, test = (features(examples, columns) for examples in (train, dev, test))
    print(f"{len(columns):,} words\npenalty   train     dev    test")
    scores = []
    for penalty in PENALTIES:
        weights = fit(penalty, len(columns), *train)
        scores.append([accuracy(weights, data) for data in (dev, test)])
        print(
            f"{penalty:7.0e}",
            *(f"{score:7.2%}" for score in (accuracy(weights, train), *scores[-1])),
            flush=True,
        )
    print("chosen on dev: dev {:.2%}, test {:.2%}".format(*max(scores)))


if __name__ == "__main__":
    main()
