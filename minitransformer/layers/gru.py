"""The gated recurrent unit."""

from minitransformer.backend import Array
from minitransformer.functional import gru_backward, gru_forward
from minitransformer.layers import initial
from minitransformer.layers.recurrent import Recurrent


class GRU(Recurrent):
    """Gates r and u, candidate n (functional/gru.py): x (B, T, d_in), W (d_in, 3H), U (H, 3H); the state is h (B, H).

    Each third of U begins orthogonal; W is Xavier's; the biases, (3H,) of the input and (H,) of the candidate's product
    with h, begin at 0.
    """

    gates = 3
    through_time = gru_forward, gru_backward

    def __init__(self, d_in, hidden_size, rng, dropout=0.0):
        super().__init__(d_in, hidden_size, rng, dropout)
        self.candidate_bias = initial.zeros(hidden_size)

    def _weights(self) -> tuple[Array, ...]:
        return self.weight.data, self.candidate_bias.data

    def _add_gradients(self, dweight, dbias) -> None:
        self.weight.grad += dweight
        self.candidate_bias.grad += dbias
