"""Train the running example of the book, a model that writes a word backwards, and save its weights beside this file.

    python tutorials/drawkcab/train.py

It sees random letters only, one to twelve of them, and never an English word.
"""

from pathlib import Path

from minitransformer import Adam, Transformer, limits, save_weights, schedule, training_step
from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.learn.lab import CONFIG
from minitransformer.tasks import TASKS
from minitransformer.training.evaluation import exact_match

STEPS = 5000


def main() -> None:
    reverse = TASKS["reverse"]()
    model = Transformer(CONFIG, seed=0)
    adam, batches = Adam(model), DrawnBatches(reverse, 64, seed=0)
    with limits():
        for step in range(1, STEPS + 1):
            learning_rate = schedule(step, CONFIG.d_model, warmup=200, factor=0.4) * (1 - step / STEPS)
            sums = training_step(model, adam, batch := next(batches), learning_rate, smoothing=0.1)
            if step % 1000 == 0:
                print(f"step {step:,}: loss {sums.loss / batch.terms:.4f}")
    print(f"exact match {exact_match(model, draw_held_out(reverse, 1000)):.1%} on 1,000 words that it never saw")
    save_weights(model, Path(__file__).with_name("weights.safetensors"))


if __name__ == "__main__":
    main()
