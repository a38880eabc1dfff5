"""Matrix products: those that a training step cannot avoid, and the machine's best rate, one large
product of float32 matrices.
"""

from collections.abc import Callable

import numpy as np

SIZE = 2048
OPERATIONS = 2 * SIZE**3  # in one product


def make_step(case, threads) -> Callable[[], float]:
    """A function that multiplies two (SIZE, SIZE) matrices; OpenBLAS was started with this many
    threads.
    """
    a, b = np.random.default_rng(0).random((2, SIZE, SIZE), np.float32)
    y = np.empty_like(a)

    def step() -> float:
        return float(np.matmul(a, b, out=y)[0, 0])

    return step


def necessary_operations(config, sentences, source_length, target_length) -> int:
    """Floating-point operations in the matrix products of one training step.

    Multiplications in the forward pass, for S = sentences * T_k source and T = sentences * T_q
    target tokens, with d = d_model and f = d_ff:

        encoder layer   S (4 d^2 + 2 d f)           query, key, value, output; feed-forward
                        S 2 d T_k                   query key^T, and weights value
        decoder layer   T (4 d^2 + 2 d f)           the same
                        T 2 d T_q                   (all of it, although the causal mask discards half)
                        T 2 d^2 + S 2 d^2           cross-attention: query, output; key, value
                        T 2 d T_k
        logits          T d V

    Each multiplication comes with an addition, hence a factor of 2; each product Y = A B of the
    forward pass needs two in the backward pass, dA = dY B^T and dB = A^T dY, hence a factor of 3.
    Nothing else in a step is counted.
    """
    d, f, T_k, T_q = config.d_model, config.d_ff, source_length, target_length
    S, T = sentences * T_k, sentences * T_q
    encoder_layer = S * (4 * d * d + 2 * d * f + 2 * d * T_k)
    decoder_layer = (
        T * (4 * d * d + 2 * d * f + 2 * d * T_q) + (T + S) * 2 * d * d + T * 2 * d * T_k
    )
    multiplications = (
        config.num_layers * (encoder_layer + decoder_layer) + T * d * config.target_vocab
    )
    return 2 * 3 * multiplications
