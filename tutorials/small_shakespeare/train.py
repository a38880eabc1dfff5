"""Train the small language model of chapters 13 and 13c, and save its weights beside this file.

    minitransformer data tinyshakespeare
    python tutorials/small_shakespeare/train.py data/tinyshakespeare

It reads all of tiny Shakespeare (public domain) but the 20,000 characters that chapter 12b holds
out. On these it ends at 1.92 bits per character, after about 9 minutes of one core. The numbers in
the file are float16, which changes that by less than 0.001 bits.
"""

import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from minitransformer import Adam, LanguageModel, fast, training_step
from minitransformer.data.windows import WindowBatches, consecutive_windows
from minitransformer_course.lab import text
from minitransformer_course.lab.chat_model import SMALL

STEPS, WARMUP, BATCH = 5000, 200, 16


def main() -> None:
    folder = Path(sys.argv[1])
    parts = [(folder / name).read_text(encoding="utf-8") for name in ("train.txt", "valid.txt")]
    vocabulary, train, held_out = text.shakespeare()
    rest = "".join(parts)[len(train) + len(held_out):]
    known = "".join(character for character in rest if character in vocabulary.characters)
    ids = np.concatenate([train, vocabulary.encode(known)])
    model = LanguageModel(SMALL)
    adam, batches = Adam(model), WindowBatches(ids, SMALL.max_length, BATCH, seed=0)
    unseen = consecutive_windows(held_out, SMALL.max_length, BATCH)
    with fast():
        for step in range(1, STEPS + 1):
            learning_rate = 0.004 * min(1, step / WARMUP) * (1 - step / (STEPS + 1))
            training_step(model, adam, next(batches), learning_rate)
            if step % 500 == 0:
                print(f"step {step:,}: {bits(model, unseen):.3f} bits per held-out character", flush=True)
    half = {name: one.data.astype(np.float16) for name, one in model.parameters().items()}
    save_file(half, Path(__file__).with_name("weights.safetensors"))


def bits(model, batches) -> float:
    """The mean number of bits that a character of the batches costs."""
    loss = sum(float(model.loss_forward(batch)[0].loss) for batch in batches)
    return loss / sum(batch.terms for batch in batches) / np.log(2)


if __name__ == "__main__":
    main()
