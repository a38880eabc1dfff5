"""Korean to English: this library's model and a PyTorch model of the same size, trained the same
way.

    python research/experiments/korean.py kor-eng.tsv.gz FOLDER [--seeds 0 1]

Each line of kor-eng.tsv.gz holds an English sentence, a tab and a Korean sentence (Tatoeba's pairs
from www.manythings.org/anki). One English sentence has several translations, so the text is split
by English sentence: one twentieth for validation, one for the test. Both models start from the same
weights and see the same batches at the same learning rates; only the random numbers of dropout
differ. The weights that PyTorch trained are loaded into this library's model, so that the same beam
search and the same BLEU measure both. Needs torch.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from zlib import crc32

import numpy as np
import torch
from torch import nn

from minitransformer import Run
from minitransformer.data.parallel import read_pairs
from minitransformer.functional import sinusoids
from minitransformer.data.special import PAD
from minitransformer.interchange.pytorch import from_pytorch, to_pytorch

OPTIONS = (
    "--config tiny --pre-norm --vocab-size 4000 --dropout 0.3 --attention-dropout 0.3 --feed-forward-dropout 0.3 "
    "--batch 1024 --schedule inverse-sqrt --peak-rate 0.002 --warmup 400 --steps 2000 --threads 2"
).split()


def split(path, folder) -> None:
    """Write FOLDER/{train,valid,test}.{ko,en}."""
    files = {}
    for english, korean in read_pairs([path]):
        part = {0: "test", 1: "valid"}.get(crc32(english.encode()) % 20, "train")
        for language, text in (("ko", korean), ("en", english)):
            files.setdefault(folder / f"{part}.{language}", []).append(text)
    for file, lines in files.items():
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


class Model(nn.Module):
    """PyTorch's own encoder and decoder; one table is both the embedding and the output weight."""

    def __init__(self, config):
        super().__init__()
        layer = dict(
            d_model=config.d_model,
            nhead=config.num_heads,
            dim_feedforward=config.d_ff,
            dropout=config.dropout,
            batch_first=True,
            norm_first=config.pre_norm,
        )
        norms = [nn.LayerNorm(config.d_model) if config.pre_norm else None for _ in range(2)]
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**layer),
            config.num_layers,
            norms[0],
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(**layer), config.num_layers, norms[1]
        )
        self.embedding = nn.Embedding(config.target_vocab, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.config = config

    def forward(self, source, target) -> torch.Tensor:
        future = torch.ones(target.shape[1], target.shape[1]).triu(1).bool()
        padded = source == PAD
        memory = self.encoder(self._embed(source), src_key_padding_mask=padded)
        y = self.decoder(
            self._embed(target),
            memory,
            tgt_mask=future,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=padded,
        )
        return y @ self.embedding.weight.T

    def _embed(self, ids) -> torch.Tensor:
        positions = torch.from_numpy(sinusoids(ids.shape[1], self.config.d_model, dtype="float32"))
        return self.dropout(self.embedding(ids) * self.config.d_model**0.5 + positions)

    def load(self, arrays) -> None:
        """Load what to_pytorch returns for a model with one shared table."""
        arrays = {name: torch.from_numpy(array) for name, array in arrays.items()}
        self.load_state_dict(
            {"embedding.weight": arrays["output.weight"]}
            | {
                name: array
                for name, array in arrays.items()
                if name.startswith(("encoder.", "decoder."))
            }
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that from_pytorch expects."""
        found = {name: array.numpy() for name, array in self.state_dict().items()}
        table = found.pop("embedding.weight")
        return found | {
            f"{name}.weight": table for name in ("source_embedding", "target_embedding", "output")
        }


def train_pytorch(run, seed) -> dict[str, np.ndarray]:
    """Repeat the training run `run` in PyTorch; return the arrays of the trained model."""
    config = run.settings.training
    torch.manual_seed(seed)
    torch.set_num_threads(config.threads)
    model = Model(run.model.config)
    model.load(to_pytorch(type(run.model)(run.model.config, seed)))  # the initial weights
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    batches = run.task.data(run.vocabulary, config).batches
    for step in range(1, config.steps + 1):
        batch = next(batches)
        source, target, following = map(torch.from_numpy, batch[:3])
        loss = nn.functional.cross_entropy(
            model(source, target).flatten(0, 1),
            following.flatten(),
            ignore_index=PAD,
            label_smoothing=config.smoothing,
        )
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        for group in adam.param_groups:
            group["lr"] = config.learning_rate(step, model.config.d_model)
        adam.step()
        if step % 500 == 0:
            print(f"PyTorch: step {step}, loss {loss.item():.3f}", file=sys.stderr)
    return model.arrays()


def evaluate(run, folder) -> dict:
    out = subprocess.run(
        [
            sys.executable,
            "-m",
            "minitransformer",
            "evaluate",
            run.path,
            "--json",
            "--test",
            folder / "test.ko",
            folder / "test.en",
        ],
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout
    return json.loads(out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tsv")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    split(args.tsv, args.folder)
    for seed in args.seeds:
        ours, theirs = (args.folder / f"{name}-{seed}" for name in ("ours", "pytorch"))
        since = time.perf_counter()
        subprocess.run(
            [
                sys.executable,
                "-m",
                "minitransformer",
                "train",
                "translate",
                *OPTIONS,
                "--seed",
                str(seed),
                "--run",
                ours,
                "--train",
                args.folder / "train.ko",
                args.folder / "train.en",
                "--valid",
                args.folder / "valid.ko",
                args.folder / "valid.en",
            ],
            check=True,
        )
        seconds = {"minitransformer": time.perf_counter() - since}
        begun = Run.open(ours)
        since = time.perf_counter()
        arrays = train_pytorch(begun, seed)
        seconds["PyTorch"] = time.perf_counter() - since
        repeated = Run.create(
            theirs,
            begun.task,
            from_pytorch(begun.model.config, arrays),
            begun.vocabulary,
            begun.settings.training,
        )
        repeated.save_weights()
        for name, run in (("minitransformer", begun), ("PyTorch", repeated)):
            scores = evaluate(run, args.folder)
            print(
                f"seed {seed}  {name:15}  BLEU {scores['bleu']:.2f}  chrF {scores['chrf']:.2f}  perplexity "
                f"{scores['perplexity']:.2f}  training {seconds[name]:.0f} s  ({scores['sentences']} sentences, "
                f"{scores['signature']})",
                flush=True,
            )


if __name__ == "__main__":
    main()
