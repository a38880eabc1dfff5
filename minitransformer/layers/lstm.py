"""Long short-term memory."""

from minitransformer.functional import lstm_backward, lstm_forward
from minitransformer.layers.recurrent import Recurrent


class LSTM(Recurrent):
    """Gates i, f, o and candidate g (functional/lstm.py): x (B, T, d_in), W (d_in, 4H), U (H, 4H); the state is h and c (B, 2H).

    Each quarter of U begins orthogonal; W is Xavier's; the bias begins at 0, and at 1 for the forget gate: a cell that
    forgets from the start never learns to remember (Jozefowicz et al. 2015,
    https://proceedings.mlr.press/v37/jozefowicz15.html).
    """

    gates, parts = 4, 2
    through_time = lstm_forward, lstm_backward

    def __init__(self, d_in, hidden_size, rng, dropout=0.0):
        super().__init__(d_in, hidden_size, rng, dropout)
        self.input.bias.data[hidden_size:2 * hidden_size] = 1
