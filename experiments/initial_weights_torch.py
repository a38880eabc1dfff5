"""The same initial weights in PyTorch: is it the initial weights and nothing else that decides whether post-norm learns?

    python experiments/initial_weights_torch.py data/multi30k/tok experiments/initial_weights_torch.json [--steps 500]

nn.Transformer learns from the batches of initial_weights.py at the same learning rates, with dropout in the paper's places only.
It starts from Xavier's weights, from this library's, and from the weights that PyTorch draws itself. After each 250 updates
its perplexity on the validation set is written. Only the random numbers of dropout differ. Needs torch.
"""

import argparse
import math
from itertools import islice
from pathlib import Path

import torch
from initial_weights import HALF, ROOT, alike, corpus, corpus_data, make_model, plan
from side_by_side import read, write
from torch import nn

from minitransformer.benchmarks.torch_eager import Model
from minitransformer.interchange.pytorch import to_pytorch

STARTS = {"Xavier's": alike("post", 1, 1), "the library's": alike("post", ROOT, HALF), "drawn by PyTorch": None}
EVERY = 250


def begin(config, arrays) -> Model:
    """A model with the `arrays` of to_pytorch; None: its weights are as nn.Transformer draws them."""
    model = Model(config, length=256)
    if arrays is not None:
        arrays = {name: torch.from_numpy(array) for name, array in arrays.items()}
        model.load_state_dict(model.state_dict() | {"embedding.weight": arrays["output.weight"]} | {
            f"body.{name}": array for name, array in arrays.items() if name.startswith(("encoder.", "decoder."))})
    for layer in (*model.body.encoder.layers, *model.body.decoder.layers):
        layer.dropout.p = layer.self_attn.dropout = 0.0
    for layer in model.body.decoder.layers:
        layer.multihead_attn.dropout = 0.0
    return model


def loss_sum(model, batch, smoothing=0.0) -> torch.Tensor:
    source, target, following = map(torch.from_numpy, batch[:3])
    logits = model(source, target, source == 0)
    return nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=0, label_smoothing=smoothing,
                                       reduction="sum")


def train(model, data, config, steps) -> dict[str, float]:
    """{updates: perplexity on the validation set}."""
    adam, found = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True), {}
    for step in range(1, steps + 1):
        batches = list(islice(data.batches, config.accumulate))
        adam.zero_grad()
        for batch in batches:
            (loss_sum(model, batch, config.smoothing) / sum(batch.terms for batch in batches)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        for group in adam.param_groups:
            group["lr"] = config.learning_rate(step, None)
        adam.step()
        if step % EVERY == 0:
            model.eval()
            with torch.no_grad():
                loss = sum(loss_sum(model, batch).item() for batch in data.valid) / sum(batch.terms for batch in data.valid)
            model.train()
            found[str(step)] = round(math.exp(loss), 3)
            print(step, found[str(step)], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", metavar="TEXT", help="folder of the tokenised text")
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    _, vocabulary = corpus(args.text)
    for start, setting in STARTS.items():
        results, key = read(args.results), f"{start} / {args.seed}"
        if key not in results:
            print(key, flush=True)
            torch.manual_seed(args.seed)
            data = corpus_data(args.text, args.seed)
            data.batches.position = [0, 0]
            ours = make_model(setting or alike("post", 1, 1), vocabulary, args.seed)
            model = begin(ours.config, to_pytorch(ours) if setting else None)
            write(args.results, {**read(args.results), key: train(model, data, plan(args.seed), args.steps)})


if __name__ == "__main__":
    main()
