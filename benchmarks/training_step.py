"""Time one training step (forward, loss, backward, clip, Adam) against PyTorch eager, interleaved in one run.

    python benchmarks/training_step.py [copy tiny small base]

Needs torch (2.13.0). Both sides have dropout 0.1 on residuals, embeddings and inside the feed-forward network
and on attention weights (where nn.Transformer has it), label smoothing 0.1, clipping, and Adam. Prints the median
tokens per second of each, and the median of the paired ratios (ours / PyTorch).
"""

import math
import statistics
import sys
import time

import numpy as np
import torch
from torch import nn

from minitransformer import Adam, Transformer, TransformerConfig, make_batch, training_step

# name: (named configuration, vocabulary, sentences, length), the sizes that are usual for each
CASES = {"copy": ("toy", 64, 64, 16), "tiny": ("tiny", 10_000, 128, 24), "small": ("small", 8000, 64, 32),
         "base": ("base", 8000, 32, 32)}
PAIRS = 7


class Reference(nn.Module):
    """The same model out of nn.Transformer's layers, with one shared table."""

    def __init__(self, config):
        super().__init__()
        self.embedding = nn.Embedding(config.target_vocab, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model ** -0.5)
        self.body = nn.Transformer(config.d_model, config.num_heads, config.num_layers, config.num_layers,
                                   config.d_ff, config.dropout, batch_first=True)
        self.body.encoder.norm = self.body.decoder.norm = None
        self.dropout = nn.Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model)

    def forward(self, source, target):
        future = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        y = self.body(*(self.dropout(self.embedding(ids) * self.scale) for ids in (source, target)), tgt_mask=future)
        return y @ self.embedding.weight.T


def torch_step(model, adam, batch):
    source, target, following = (torch.from_numpy(array) for array in batch[:3])
    adam.zero_grad()
    logits = model(source, target)
    nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten(), label_smoothing=0.1).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()


def compare(name):
    size, vocabulary, sentences, length = CASES[name]
    config = TransformerConfig.named(size, vocabulary, dropout=0.1, attention_dropout=0.1, feed_forward_dropout=0.1)
    rng = np.random.default_rng(0)
    batch = make_batch([tuple(rng.integers(4, vocabulary, (2, length - 1)).tolist()) for _ in range(sentences)])
    ours, theirs = Transformer(config), Reference(config)
    adam, torch_adam = Adam(ours), torch.optim.Adam(theirs.parameters(), 1e-4, (0.9, 0.98), 1e-9, fused=True)
    seconds = []
    for _ in range(PAIRS + 2):
        start = time.perf_counter()
        training_step(ours, adam, batch, 1e-4, rng, 0.1)
        middle = time.perf_counter()
        torch_step(theirs, torch_adam, batch)
        seconds.append((middle - start, time.perf_counter() - middle))
    seconds = seconds[2:]    # the first ones warm up
    mine, reference = (batch.tokens / statistics.median(column) for column in zip(*seconds))
    ratio = statistics.median(reference / mine for mine, reference in seconds)
    print(f"{name:6} minitransformer {mine:8,.0f} tokens/s   PyTorch {reference:8,.0f} tokens/s   ratio {ratio:.2f}")


if __name__ == "__main__":
    for case in sys.argv[1:] or CASES:
        compare(case)
