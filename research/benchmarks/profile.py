"""Show where the time of a training step goes, block by block, on one thread."""

import time
from collections import defaultdict
from functools import partial
from timeit import repeat
from typing import Any

from research.benchmarks.cases import CASES, CLIP, LEARNING_RATE, SMOOTHING
from research.benchmarks.contestants import matmul
from research.benchmarks.report import add_common, chosen_names, report
from minitransformer.layers import Linear
from minitransformer.layers.attention import MultiHeadAttention
from minitransformer.layers.hooks import hooked
from minitransformer.layers.output_projection import LinearCrossEntropy
from minitransformer.models import Transformer
from minitransformer.speed.kernels import kernels_run
from minitransformer.training.optim import Adam
from minitransformer.training.step import training_step
from minitransformer.cores import one_blas_thread
from minitransformer.speed.host import keep_freed_memory


def add_arguments(parser) -> None:
    add_common(parser)
    parser.add_argument(
        "--config", metavar="NAMES", help=f"any of {','.join(CASES)} (default: all of them)"
    )


def execute(args) -> None:
    names = chosen_names("--config", args.config, CASES)
    results = ({"config": name, "blocks": profile(CASES[name], args.rounds)} for name in names)
    report(args, results, _print_table, threads=1)


def profile(case, rounds) -> list[dict[str, Any]]:
    """The rows of a table for one thread: {"block", "forward", "backward", "products"}, in seconds
    per step.

    A block's time excludes the blocks inside it. `products` is the time that its matrix products
    would take at the machine's best rate; the rest of forward + backward is everything else. The
    loss computes its backward's products in the forward (speed/compiled/loss.py).
    """
    with kernels_run(), one_blas_thread:
        product = matmul.make_step(case, 1)
        speed = matmul.OPERATIONS / min(repeat(product, number=1, repeat=3))
        keep_freed_memory()
        model, (batch,) = Transformer(case.config()), case.batches()
        adam, clock = Adam(model), Clock(model)
        adam.step = partial(clock.measure, "clipping, Adam", "backward", adam.step)  # type: ignore[method-assign]
        for number in range(rounds + 1):
            if number == 1:
                clock.seconds.clear()  # the first step warms up
                clock.operations.clear()
            with hooked(model, clock.around):
                training_step(model, adam, batch, LEARNING_RATE, (0, number), SMOOTHING, CLIP)
    rows = [
        {
            "block": block,
            **{name: clock.seconds[block, name] / rounds for name in ("forward", "backward")},
            "products": clock.operations[block] / speed / rounds,
        }
        for block in {block for block, _ in clock.seconds}
    ]
    return sorted(rows, key=lambda row: row["forward"] + row["backward"], reverse=True)


class Clock:
    """Adds up the time spent in each block, except in the blocks that it calls."""

    def __init__(self, model):
        self.seconds = defaultdict(float)  # by (block, direction)
        self.operations = defaultdict(float)  # in matrix products, by block
        self._layers = model.sublayers()
        self._inner = [0.0]  # for each active call, the seconds in the calls it has made so far

    def around(self, path, direction, method, *arguments, **options) -> Any:
        layer = self._layers[path]
        result = self.measure(type(layer).__name__, direction, method, *arguments, **options)
        cache = result[1] if direction == "forward" else arguments[1]
        self.operations[type(layer).__name__] += _operations(layer, direction, cache)
        return result

    def measure(self, block, direction, method, *arguments, **options) -> Any:
        self._inner.append(0.0)
        start = time.perf_counter()
        result = method(*arguments, **options)
        elapsed = time.perf_counter() - start
        self.seconds[block, direction] += elapsed - self._inner.pop()
        self._inner[-1] += elapsed
        return result


def _operations(layer, direction, cache) -> int:
    """Floating-point operations of a layer's own matrix products: a backward makes two for each of
    the forward.
    """
    if isinstance(layer, LinearCrossEntropy):
        weight = cache.dweight if hasattr(cache, "dweight") else cache.weight
        return 6 * cache.log_likelihood.size * weight.size if direction == "forward" else 0
    if isinstance(layer, Linear):
        forward = 2 * cache.x.size * layer.weight.shape[1]
    elif isinstance(layer, MultiHeadAttention):
        forward = (
            2
            * cache.attention.weights.size
            * (cache.attention.key.shape[-1] + cache.attention.value.shape[-1])
        )
    else:
        return 0
    return forward if direction == "forward" else 2 * forward


def _print_table(results) -> None:
    """In milliseconds: the time of the products at the machine's best rate, and the time beyond
    that.
    """
    directions = ("forward", "backward", "products")
    for result in results:
        print(f"\n{result['config']:20} {'forward':>9} {'backward':>9} {'products':>9} {'rest':>9}")
        total = {
            "block": "all",
            **{name: sum(row[name] for row in result["blocks"]) for name in directions},
        }
        for row in [*result["blocks"], total]:
            forward, backward, products = (row[name] for name in directions)
            numbers = (forward, backward, products, forward + backward - products)
            print(
                f"{row['block']:20} " + " ".join(f"{1000 * number:6.1f} ms" for number in numbers),
                flush=True,
            )
