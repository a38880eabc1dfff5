"""The gated recurrent unit (Cho et al. 2014, https://arxiv.org/abs/1406.1078): one step, and the layer."""

from typing import NamedTuple

from minitransformer.backend import Array, Generator, module_of
from minitransformer.layers import initial
from minitransformer.layers.parameter import Parameter
from minitransformer.dispatch import replaceable
from minitransformer.zoo.recurrent.layer import OneDirection
from minitransformer.zoo.sigmoid import sigmoid


class GRUStepCache(NamedTuple):
    h: Array        # (B, H) before the step
    weight: Array   # (H, 3H)
    r: Array        # (B, H) reset: how much of h the candidate sees
    u: Array        # (B, H) update: how much of h stays
    n: Array        # (B, H) the candidate
    p: Array        # (B, H) h U_n + b_n, what the reset gate multiplies


@replaceable
def gru_step_forward(z: Array, h: Array, weight: Array, bias: Array) -> tuple[Array, GRUStepCache]:
    """The state (B, H) after one step: z (B, 3H), what it reads; h (B, H); weight (H, 3H); bias (H,) of the candidate.

        r = sigmoid(z_r + h U_r)    u = sigmoid(z_u + h U_u)    n = tanh(z_n + r (h U_n + b_n))    h' = (1 - u) n + u h

    As in PyTorch, the three are in the order r, u, n (u is called z there), and the reset gate multiplies the product
    h U_n. The first version of the paper multiplies h itself; then the product would have to wait for the gate.
    """
    size = h.shape[1]
    product = h @ weight
    gates = sigmoid(z[:, :2 * size] + product[:, :2 * size])
    r, u = gates[:, :size], gates[:, size:]
    p = product[:, 2 * size:] + bias
    n = module_of(z).tanh(z[:, 2 * size:] + r * p)
    return n + u * (h - n), GRUStepCache(h, weight, r, u, n, p)


@replaceable
def gru_step_backward(dafter: Array, cache: GRUStepCache) -> tuple[Array, Array, Array, Array]:
    """Returns dz, dh, dU, dbias: the forward from its last line to its first, with sigmoid' = s (1 - s), tanh' = 1 - tanh^2.

    dn = dh' (1 - u) and du = dh' (h - n). What enters tanh has the gradient dz_n = dn (1 - n^2); r and p share it:
    dr = dz_n p and dp = dz_n r. Only the candidate's part of dz and of the product's gradient differ.
    """
    h, weight, r, u, n, p = cache
    concatenate = module_of(dafter).concatenate
    dz_n = dafter * (1 - u) * (1 - n * n)
    dp = dz_n * r
    dz_r = dz_n * p * r * (1 - r)
    dz_u = dafter * (h - n) * u * (1 - u)
    dz, dproduct = concatenate([dz_r, dz_u, dz_n], axis=1), concatenate([dz_r, dz_u, dp], axis=1)
    return dz, dafter * u + dproduct @ weight.T, h.T @ dproduct, dp.sum(axis=0)


class GRU(OneDirection):
    """Gates r and u, candidate n as above: x (B, T, d_in), W (d_in, 3H), U (H, 3H); the state is h (B, H).

    Each third of U begins orthogonal; W is Xavier's; the biases, (3H,) of the input and (H,) of the candidate's product
    with h, begin at 0.
    """

    gates = 3
    stepwise = True
    step = gru_step_forward, gru_step_backward

    def __init__(self, d_in: int, hidden_size: int, rng: Generator | None = None,
                 dropout: float = 0.0):
        super().__init__(d_in, hidden_size, rng, dropout)
        self.candidate_bias = initial.zeros(hidden_size)

    def _weights(self) -> tuple[Parameter, ...]:
        return self.weight, self.candidate_bias
