"""Mathematics without parameters, in pairs: `xxx_forward` and, next to it, `xxx_backward`.

A function marked @replaceable may run as a faster kernel (kernels/), or as one that you plug in (replaceable.py).
"""

from minitransformer.functional.activation_dropout import (
    gelu_dropout_backward, gelu_dropout_forward, relu_dropout_backward, relu_dropout_forward)
from minitransformer.functional.activations import (
    gelu_backward, gelu_forward, relu_backward, relu_forward, sigmoid, tanh_backward, tanh_forward)
from minitransformer.functional.adam import adam_update, gather_gradients
from minitransformer.functional.additive_attention import additive_attention_backward, additive_attention_forward
from minitransformer.functional.attention import attention_backward, attention_forward
from minitransformer.functional.convolution import convolution_backward, convolution_forward
from minitransformer.functional.cross_entropy import cross_entropy_backward, cross_entropy_forward
from minitransformer.functional.depthwise_convolution import depthwise_convolution_backward, depthwise_convolution_forward
from minitransformer.functional.dot_product_attention import dot_product_attention_backward, dot_product_attention_forward
from minitransformer.functional.dropout import (
    dropout_backward, dropout_forward, dropout_mask, dropout_sum_backward, dropout_sum_forward)
from minitransformer.functional.glu import glu_backward, glu_forward
from minitransformer.functional.gru import gru_backward, gru_forward, gru_step_backward, gru_step_forward
from minitransformer.functional.layer_norm import layer_norm_backward, layer_norm_forward
from minitransformer.functional.linear_cross_entropy import linear_cross_entropy_backward, linear_cross_entropy_forward
from minitransformer.functional.lstm import lstm_backward, lstm_forward, lstm_step_backward, lstm_step_forward
from minitransformer.functional.masks import causal_mask, padding_mask
from minitransformer.functional.positions import sinusoids
from minitransformer.functional.random_bytes import random_words
from minitransformer.functional.recurrence import through_time_backward, through_time_forward
from minitransformer.functional.restricted_attention import restricted_attention_backward, restricted_attention_forward
from minitransformer.functional.rnn import rnn_backward, rnn_forward, rnn_step_backward, rnn_step_forward
from minitransformer.functional.softmax import softmax_backward, softmax_forward
from minitransformer.functional.windows import windows_backward, windows_forward
