"""One case, measured: minitransformer's numbers, and their ratios to those of its peers."""

from operator import truediv
from statistics import median
from typing import Any

import numpy as np

from benchmarks import matmul
from benchmarks.measure import OtherWork, measure, succeeded
from minitransformer.functional.special import PAD

PACKAGES = {"torch": ["torch"], "torch.compile": ["torch"], "jax": ["jax"]}    # {peer: what it needs}


def compare(case, peers, threads, rounds) -> dict[str, Any]:
    """A dict for JSON: the one from `against_peers`, plus what follows from the case.

    `matmul_share` is the rate of a step's necessary operations as a fraction of the machine's best rate in one large matrix
    product; `padding` the fraction of padding in the batches; `other_work` the number of cores that were busy with other
    programs meanwhile (None if unknown).
    """
    other_work = OtherWork()
    measured = measure(case, ("minitransformer", *peers, "matmul"), threads, rounds)
    product, batches = measured.pop("matmul"), case.batches()
    tokens = sum(batch.terms for batch in batches)    # real target tokens
    result = against_peers(measured, lambda found: {"tokens_per_second": tokens / median(found.seconds)})
    operations = sum(matmul.necessary_operations(case.config(), len(batch.source), batch.source.shape[1], batch.target.shape[1])
                     for batch in batches)
    machine = matmul.OPERATIONS / min(succeeded(product, "matmul").seconds)    # operations per second
    return {**result, "matmul_share": operations / median(measured["minitransformer"].seconds) / machine,
            "padding": {side: _padding([getattr(batch, side) for batch in batches]) for side in ("source", "target")},
            "other_work": other_work.cores()}


def against_peers(measured, numbers) -> dict[str, Any]:
    """minitransformer's numbers, and each peer's under "peers"; numbers(Measurement) -> {name: number}.

    Each ratio is minitransformer's number / the peer's; that of the speeds is the median of the rounds' ratios. For a peer that
    failed, there is only the reason. Raises InputError if minitransformer itself failed.
    """
    ours = succeeded(measured["minitransformer"], "minitransformer")

    def peer_numbers(peer) -> dict[str, Any]:
        if peer.failed:
            return {"failed": peer.failed}
        return {**numbers(peer), "peak_memory_bytes": peer.peak, "ratio": median(map(truediv, peer.seconds, ours.seconds)),
                "peak_memory_ratio": ours.peak / peer.peak}

    return {**numbers(ours), "peak_memory_bytes": ours.peak,
            "peers": {name: peer_numbers(peer) for name, peer in measured.items() if name != "minitransformer"}}


def _padding(arrays) -> float:
    """The share of padding in arrays of token ids."""
    return 1 - sum(np.count_nonzero(ids != PAD) for ids in arrays) / sum(ids.size for ids in arrays)
