"""What the paper compares itself with: recurrent models, convolutions, and other kinds of
attention.

The core does not know them. A configuration names a kind of attention, a task a model; the table
of choices in minitransformer/zoo/__init__.py says where they are.
"""

from minitransformer.zoo.attention.additive import (
    AdditiveAttention,
    AdditiveCrossAttention,
    AdditiveSelfAttention,
    additive_attention_backward,
    additive_attention_forward,
)
from minitransformer.zoo.attention.restricted import (
    RestrictedSelfAttention,
    restricted_attention_backward,
    restricted_attention_forward,
)
from minitransformer.zoo.attention.unscaled import UnscaledCrossAttention, UnscaledSelfAttention
from minitransformer.zoo.convolutional.convolution import (
    Convolution,
    convolution_backward,
    convolution_forward,
)
from minitransformer.zoo.convolutional.separable import (
    SeparableConvolution,
    depthwise_convolution_backward,
    depthwise_convolution_forward,
)
from minitransformer.zoo.convolutional.windows import windows_backward, windows_forward
from minitransformer.zoo.recurrent.attentional_state import AttentionalState
from minitransformer.zoo.recurrent.bidirectional import Bidirectional
from minitransformer.zoo.recurrent.gru import GRU, gru_step_backward, gru_step_forward
from minitransformer.zoo.recurrent.lstm import LSTM, lstm_step_backward, lstm_step_forward
from minitransformer.zoo.recurrent.model import (
    GRUModel,
    LSTMAttentionModel,
    LSTMModel,
    RNNModel,
    RecurrentConfig,
)
from minitransformer.zoo.recurrent.recurrence import through_time_backward, through_time_forward
from minitransformer.zoo.recurrent.rnn import RNN, rnn_step_backward, rnn_step_forward
from minitransformer.zoo.recurrent.stack import RecurrentStack
from minitransformer.zoo.sigmoid import sigmoid
