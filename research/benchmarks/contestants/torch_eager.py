"""The same training step in PyTorch, eagerly: nn.Transformer without final norms, and fused Adam."""

import math
from collections.abc import Callable

import torch

# Adam imports it at its first step; here it counts as import, not as memory of the step
import torch._dynamo
from torch import nn

from research.benchmarks.cases import BETA1, BETA2, CLIP, EPSILON, LEARNING_RATE, SMOOTHING
from minitransformer.functional import sinusoids
from minitransformer.data.special import PAD


class Model(nn.Module):
    """source (B, T_k), target (B, T_q) token ids -> logits (B, T_q, V), with one table for
    embeddings and output.

    No source is longer than `length`, nor a target. padding: (B, T_k) bool, where the source is
    padding; None: nowhere.
    """

    positions: torch.Tensor
    future: torch.Tensor

    def __init__(self, config, length):
        super().__init__()
        self.embedding = nn.Embedding(config.target_vocab, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.body = nn.Transformer(
            config.d_model,
            config.num_heads,
            config.num_layers,
            config.num_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        self.body.encoder.norm = self.body.decoder.norm = None
        self.dropout = nn.Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model)
        self.register_buffer(
            "positions", torch.from_numpy(sinusoids(length, config.d_model, dtype="float32"))
        )
        self.register_buffer("future", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, source, target, padding=None) -> torch.Tensor:
        x, y = (
            self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.shape[1]])
            for ids in (source, target)
        )
        future = self.future[: target.shape[1], : target.shape[1]]
        y = self.body(
            x,
            y,
            tgt_mask=future,
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return y @ self.embedding.weight.T


def make_step(case, threads, device="cpu", wrap=lambda model: model) -> Callable[[], float]:
    """A function that makes one training step of `wrap`(the model) on `device` for each batch, and
    returns the last loss.
    """
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    batches = [[torch.from_numpy(ids).to(device) for ids in batch[:3]] for batch in case.batches()]
    masks = [source == PAD if (source == PAD).any() else None for source, *_ in batches]
    model = Model(case.config(), max(ids.shape[1] for batch in batches for ids in batch)).to(device)
    adam = torch.optim.Adam(model.parameters(), LEARNING_RATE, (BETA1, BETA2), EPSILON, fused=True)
    forward = wrap(model)

    def step() -> float:
        for (source, target, next_target), padding in zip(batches, masks):
            adam.zero_grad()
            logits = forward(source, target, padding).flatten(0, 1)
            loss = nn.functional.cross_entropy(
                logits, next_target.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING
            )
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            adam.step()
        return loss.item()

    return step
