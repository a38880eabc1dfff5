"""One case, measured: minitransformer's numbers, and their ratios to those of its peers."""

from operator import truediv
from statistics import median
from typing import Any

from minitransformer.benchmarks import matmul
from minitransformer.benchmarks.measure import measure
from minitransformer.benchmarks.operations import necessary_operations
from minitransformer.benchmarks.other_work import OtherWork
from minitransformer.errors import InputError

PEERS = ("torch", "torch.compile", "jax")


def compare(case, peers, threads, rounds) -> dict[str, Any]:
    """A dict for JSON; all ratios are minitransformer's number / the peer's, and None for a peer that failed.

    The ratio of the speeds is the median of the rounds' ratios. `matmul_share` is the rate of a step's necessary
    operations as a fraction of the machine's best rate in one large matrix product. `other_work` is the number of
    cores that were busy with other programs meanwhile (None if unknown).
    """
    other_work = OtherWork()
    measured = measure(case, ("minitransformer", *peers, "matmul"), threads, rounds)
    for name in ("minitransformer", "matmul"):
        if measured[name].failed:
            raise InputError(f"{name} failed: {measured[name].failed}")
    ours, product = measured["minitransformer"], measured["matmul"]
    operations = sum(necessary_operations(case.config(), len(batch.source), batch.source.shape[1], batch.target.shape[1])
                     for batch in case.batches())
    machine = matmul.OPERATIONS / min(product.seconds)    # operations per second
    peers = {name: measured[name] for name in peers}
    return {
        **numbers(ours, case),
        "matmul_share": operations / median(ours.seconds) / machine,
        "ratio": {name: None if peer.failed else median(map(truediv, peer.seconds, ours.seconds))
                  for name, peer in peers.items()},
        "peak_memory_ratio": {name: None if peer.failed else ours.peak / peer.peak
                              for name, peer in peers.items()},
        "peers": {name: {"failed": peer.failed} if peer.failed else numbers(peer, case)
                  for name, peer in peers.items()},
        "other_work": other_work.cores(),
    }


def numbers(measurement, case) -> dict[str, float]:
    """Real target tokens per second, and bytes."""
    tokens = sum(batch.terms for batch in case.batches())
    return {"tokens_per_second": tokens / median(measurement.seconds), "peak_memory_bytes": measurement.peak}
