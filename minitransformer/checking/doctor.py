"""The gradient doctor: names the likely mistake behind a gradient that failed its check.

It sees what the check saw: the block, its inputs, the analytic and the numeric gradients. It has two
kinds of evidence. A *signature* (signatures.py) is an equation between the two gradients: one is the
other's negative, its transpose, a constant times it. An *experiment* (experiments.py) runs the block
again with something taken away (the dropout, the mask, a gamma that is not 1, all of the batch but
one): if the gradients are then right, that was it. Where nothing fits, it says so rather than guess.
"""

from minitransformer.checking import experiments, signatures
from minitransformer.checking.failed_check import FailedCheck

UNKNOWN = "no known pattern"
PATTERNS = (    # from the most specific to the least
    signatures.wrong_sign, signatures.divided_by_a_size, signatures.transposed, experiments.asymmetric,
    signatures.shifted, signatures.residual_dropped, signatures.mean_term_forgotten, experiments.dropout,
    signatures.scale_forgotten, signatures.counted_twice, experiments.gamma_outside,
    experiments.smoothing_forgotten, experiments.padding_counted, experiments.ties,
    experiments.mask_in_forward_only, experiments.heads_merged, experiments.one_layer_only,
    experiments.sublayer_only, experiments.axis_lost, experiments.relu_mask, experiments.assigned)


def diagnose(block, inputs, seed=0):
    """One sentence that names the likely mistake in the backward of `block`, or "no known pattern".

    block, inputs, seed: as for gradcheck, which asks this when a check fails. The first
    pattern that fits names the mistake.
    """
    try:
        check = FailedCheck(block, inputs, seed)
    except (TypeError, ValueError):    # the forward does not take complex numbers: nothing to examine it with
        return UNKNOWN
    if check.wrong:
        for pattern in PATTERNS:
            sentence = pattern(check)
            if sentence:
                return sentence
    return UNKNOWN
