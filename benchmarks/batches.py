"""Training steps on the batches of a real corpus, padding included, here and in PyTorch; in turns, on two threads each.

    python benchmarks/batches.py train.en.gz train.de.gz [ROUNDS]

The batches are those of `minitransformer train translate` with its defaults: the tiny model, 6,000 subwords, at most 2,048
tokens. In a round, both make a step on each of the same eight batches. The ratio is target tokens per second here, without
padding, over those of PyTorch: the median of the rounds' own ratios, and their middle half. Needs torch: pip install ".[bench]".
"""

import sys
import time
from collections.abc import Callable
from itertools import count, islice
from statistics import median, quantiles

from minitransformer.cli.blas_kernels import choose_blas_kernels

choose_blas_kernels()    # as the command does

import numpy as np  # noqa: E402
import torch  # noqa: E402

from minitransformer import Adam, Transformer, limits, training_step  # noqa: E402
from minitransformer.benchmarks import torch_eager  # noqa: E402
from minitransformer.benchmarks.cases import BETA1, BETA2, CLIP, EPSILON, LEARNING_RATE, SMOOTHING, Case  # noqa: E402
from minitransformer.cli.info import collect  # noqa: E402
from minitransformer.data.batches import Batch  # noqa: E402
from minitransformer.data.epochs import EpochBatches  # noqa: E402
from minitransformer.data.parallel import encode_pairs, read_pairs  # noqa: E402
from minitransformer.data.vocabularies.subwords import SubwordVocabulary  # noqa: E402
from minitransformer.errors import InputError  # noqa: E402
from minitransformer.parallel import Threads  # noqa: E402
from minitransformer.special import PAD  # noqa: E402

VOCABULARY, TOKENS, LONGEST = 6000, 2048, 256
THREADS, TURN = 2, 8    # TURN: batches


class Padded(torch_eager.Model):
    """The benchmark's model, for sentences of any lengths: attention ignores padding."""

    def forward(self, source, target) -> torch.Tensor:
        x, y = (self.dropout(self.embedding(ids) * self.scale + self.positions[:ids.shape[1]]) for ids in (source, target))
        future, padding = self.future[:target.shape[1], :target.shape[1]], source == PAD
        y = self.body(x, y, tgt_mask=future, tgt_is_causal=True, src_key_padding_mask=padding, memory_key_padding_mask=padding)
        return y @ self.embedding.weight.T


def make_ours(config) -> Callable[[Batch], None]:
    model, steps = Transformer(config), count()
    adam, workers = Adam(model, BETA1, BETA2, EPSILON), Threads(model, THREADS)
    return lambda batch: training_step(model, adam, batch, LEARNING_RATE, (0, next(steps)), SMOOTHING, CLIP, workers)


def make_theirs(config) -> Callable[[Batch], None]:
    torch.set_num_threads(THREADS)
    model = Padded(config, LONGEST + 1)
    adam = torch.optim.Adam(model.parameters(), LEARNING_RATE, (BETA1, BETA2), EPSILON, fused=True)

    def step(batch) -> None:
        source, target, next_target = map(torch.from_numpy, batch[:3])
        adam.zero_grad()
        logits = model(source, target).flatten(0, 1)
        torch.nn.functional.cross_entropy(logits, next_target.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        adam.step()
    return step


def seconds_of(step, batches) -> float:
    since = time.perf_counter()
    for batch in batches:
        step(batch)
    return time.perf_counter() - since


def padding(arrays) -> float:
    """The share of padding in arrays of token ids."""
    return 1 - sum(np.count_nonzero(ids != PAD) for ids in arrays) / sum(ids.size for ids in arrays)


def main(files, rounds) -> None:
    pairs = read_pairs(files, "the files")
    vocabulary = SubwordVocabulary.learn((text for pair in pairs for text in pair), VOCABULARY)
    batches = EpochBatches(encode_pairs(vocabulary, pairs, LONGEST, " / ".join(files)), TOKENS, seed=0)
    epoch = list(islice(batches, len(pairs) // 50))
    print(f"NumPy {np.__version__}, PyTorch {torch.__version__}, OpenBLAS kernels: {collect()['blas_kernels']}, "
          f"{THREADS} threads\npadding: {100 * padding([batch.source for batch in epoch]):.1f} % of the source, "
          f"{100 * padding([batch.next_target for batch in epoch]):.1f} % of the target")
    config = Case("tiny", vocabulary.size, 0, 0).config()
    with limits():
        ours, theirs = make_ours(config), make_theirs(config)
        ratios, speeds = [], []
        for number in range(rounds + 1):
            turn = list(islice(batches, TURN))
            here, there = seconds_of(ours, turn), seconds_of(theirs, turn)
            if number:    # the first one warms up
                ratios.append(there / here)
                speeds.append([sum(batch.terms for batch in turn) / seconds for seconds in (here, there)])
    low, _, high = quantiles(ratios, n=4)
    here, there = map(median, zip(*speeds))
    print(f"{here:,.0f} target tokens/s here, {there:,.0f} in PyTorch: {median(ratios):.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    try:
        main(sys.argv[1:3], int(sys.argv[3]) if len(sys.argv) > 3 else 20)
    except (InputError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
