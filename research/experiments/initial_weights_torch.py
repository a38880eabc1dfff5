"""The same initial weights in PyTorch: is it the initial weights and nothing else that decides
whether post-norm learns?

    python research/experiments/initial_weights_torch.py data/multi30k/tok
    research/experiments/initial_weights_torch.json [--steps 500]

nn.Transformer starts from Xavier's weights, from this library's, and from the weights that PyTorch
draws itself. With six layers, the gradient of cross-attention's query and key is measured at the
start, as initial_weights.py does. With four, the model learns from the same batches at the same
learning rates, with dropout in the paper's places only, and after each 250 updates its perplexity
on the validation set is written. Only the random numbers of dropout differ. `--steps 0` only
measures the start. Needs torch.
"""

import argparse
import math
import sys
from itertools import islice
from pathlib import Path

import torch
from initial_weights import MEASURED, alike, by_depth, corpus, corpus_data, make_model, plan
from side_by_side import read, write
from torch import nn

sys.path.append(str(Path(__file__).parents[1]))

from research.benchmarks.contestants.torch_eager import Model
from minitransformer.interchange.pytorch import to_pytorch

STARTS = {
    "Xavier's": lambda layers: 1,
    "the library's": by_depth,
    "drawn by PyTorch": None,
}  # what ends a sub-layer
EVERY = 250


def begin(config, arrays) -> Model:
    """A model with the `arrays` of to_pytorch; None: its weights are as nn.Transformer draws them."""
    model = Model(config, length=256)
    if arrays is not None:
        arrays = {name: torch.from_numpy(array) for name, array in arrays.items()}
        model.load_state_dict(
            model.state_dict()
            | {"embedding.weight": arrays["output.weight"]}
            | {
                f"body.{name}": array
                for name, array in arrays.items()
                if name.startswith(("encoder.", "decoder."))
            }
        )
    for layer in (*model.body.encoder.layers, *model.body.decoder.layers):
        layer.dropout.p = layer.self_attn.dropout = 0.0
    for layer in model.body.decoder.layers:
        layer.multihead_attn.dropout = 0.0
    return model


def loss_sum(model, batch, smoothing=0.0) -> torch.Tensor:
    source, target, following = map(torch.from_numpy, batch[:3])
    logits = model(source, target, source == 0)
    return nn.functional.cross_entropy(
        logits.flatten(0, 1),
        following.flatten(),
        ignore_index=0,
        label_smoothing=smoothing,
        reduction="sum",
    )


def gradient(model, batches) -> list[float]:
    """The norm of the gradient of cross-attention's query and key in each layer, for the mean loss,
    without dropout.
    """
    model.eval()
    for batch in batches:
        (loss_sum(model, batch, 0.1) / sum(batch.terms for batch in batches)).backward()
    attentions = [layer.multihead_attn for layer in model.body.decoder.layers]
    grads = [
        [p.grad[: 2 * len(p) // 3] for p in (one.in_proj_weight, one.in_proj_bias)]
        for one in attentions
    ]  # then: value's
    model.train()
    return [float(f"{math.hypot(*(part.norm().item() for part in parts)):.3g}") for parts in grads]


def train(model, data, config, steps) -> dict[str, float]:
    """{updates: perplexity on the validation set}."""
    adam, found = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True), {}
    for step in range(1, steps + 1):
        batches = list(islice(data.batches, config.accumulate))
        adam.zero_grad()
        for batch in batches:
            (
                loss_sum(model, batch, config.smoothing) / sum(batch.terms for batch in batches)
            ).backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        for group in adam.param_groups:
            group["lr"] = config.learning_rate(step, None)
        adam.step()
        if step % EVERY == 0:
            model.eval()
            with torch.no_grad():
                loss = sum(loss_sum(model, batch).item() for batch in data.valid) / sum(
                    batch.terms for batch in data.valid
                )
            model.train()
            found[str(step)] = round(math.exp(loss), 3)
            print(step, found[str(step)], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", metavar="TEXT", help="folder of the tokenised text")
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    _, vocabulary = corpus(args.text)
    data = corpus_data(args.text, args.seed)
    for start, output in STARTS.items():
        key, models = f"{start} / {args.seed}", {}
        for layers in (6, 4):
            ours = make_model(
                alike("post", 1, output(layers) if output else 1, layers), vocabulary, args.seed
            )
            torch.manual_seed(args.seed)
            models[layers] = begin(ours.config, to_pytorch(ours) if output else None)
        some = data.valid[:: math.ceil(len(data.valid) / MEASURED)]
        found = read(args.results).get(key) or {"gradient": gradient(models[6], some)}
        if str(args.steps) not in found:
            data.batches.position = [0, 0]
            found |= train(models[4], data, plan(args.seed), args.steps)
        write(args.results, {**read(args.results), key: found})
        print(key, found, flush=True)


if __name__ == "__main__":
    main()
