"""The Elman network."""

from minitransformer.functional import rnn_backward, rnn_forward
from minitransformer.layers.recurrent import Recurrent


class RNN(Recurrent):
    """h_t = tanh(x_t W + b + h_{t-1} U): x (B, T, d_in), W (d_in, H), U (H, H), b (H,); the state is h (B, H).

    U begins orthogonal, which keeps the length of h, and so of its gradient, as far as tanh is the identity; W is Xavier's;
    b begins at 0.
    """

    gates = 1
    through_time = rnn_forward, rnn_backward
