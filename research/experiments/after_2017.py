"""What is left of SmolLM2's answer if one of the four functions of chapter 13 is taken away, or has
a well-known mistake?

    python research/experiments/after_2017.py research/experiments/after_2017.json

For each change: the 40 likeliest tokens, one after the other, and the loss of the answer that the
unchanged model gives, a mean over its tokens. Needs the model (`minitransformer data smollm2`) and
the extra `gguf`. Takes about a minute.
"""

import argparse
import math
from pathlib import Path

import numpy as np
from side_by_side import write

from minitransformer_course.judge.course import find_exercise
from minitransformer_course.lab import chat_model

QUESTION = "Why is the sky blue?"
CHANGES = {
    "none": {},
    "no division: y = gamma x": {
        "rms_norm": lambda x, gamma, epsilon: (gamma * x, x, np.ones_like(x[..., :1]))
    },
    "LayerNorm's mean subtracted": {"rms_norm": find_exercise("rms_norm").module.layer_norm},
    "nothing turns": {"rotary": lambda x, positions, base: x},
    "pairs i and i + d/2": {"rotary": find_exercise("rotary").module.halves},
    "no gate: h = u": {"swiglu": lambda a, u: (u, 0 * u, 0 * u + 1)},
    "ReLU as the gate": {"swiglu": find_exercise("swiglu").module.relu_gate},
    "head h reads group h % G": {
        "grouped_attention": find_exercise("grouped_attention").module.tile_for_repeat
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    args = parser.parse_args()
    model, results = chat_model.real(), {}
    answer = model.answer(QUESTION)
    target = model.vocabulary.encode(answer)
    for name, own in CHANGES.items():
        logits = model.logits(QUESTION, answer, own)[-1 - len(target) : -1].astype(float)
        logits = logits - logits.max(axis=-1, keepdims=True)
        loss = float(
            (np.log(np.exp(logits).sum(axis=-1)) - logits[np.arange(len(target)), target]).mean()
        )
        results[name] = {
            "answer": model.answer(QUESTION, own),
            "loss": round(loss, 2) if math.isfinite(loss) else None,
        }
        print(f"{name:30} {loss:6.2f}  {results[name]['answer']!r}", flush=True)
    write(args.results, results)


if __name__ == "__main__":
    main()
