"""Trains the running example of the book, a model that writes a word backwards: drawkcab().

    python tutorials/drawkcab/train.py

It writes weights.safetensors beside this file. The words are random letters, one to twelve of them, and no word of English.
"""

from pathlib import Path

from minitransformer import Adam, Transformer, limits, save_weights, schedule, training_step
from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.learn.lab import CONFIG
from minitransformer.tasks import TASKS
from minitransformer.training.evaluation import exact_match

STEPS = 6000
reverse = TASKS["reverse"]()
model = Transformer(CONFIG, seed=0)
adam, batches = Adam(model), DrawnBatches(reverse, 64, seed=0)
with limits():
    for step in range(1, STEPS + 1):
        rate = schedule(step, CONFIG.d_model, warmup=200, factor=0.4) * (1 - step / STEPS)    # falls to 0: sharper attention
        sums = training_step(model, adam, batch := next(batches), rate)
        if step % 1000 == 0:
            print(f"step {step:,}: loss {sums.loss / batch.terms:.4f}, "
                  f"exact match {exact_match(model, draw_held_out(reverse, 1000)):.1%}")
save_weights(model, Path(__file__).with_name("weights.safetensors"))
