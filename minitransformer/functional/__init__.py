"""Mathematics without parameters, in pairs: `xxx_forward` and, next to it, `xxx_backward`.

A function marked @replaceable may run as a faster kernel (speed/), or as one that you plug in (dispatch.py).
"""

from minitransformer.functional.activations import gelu_backward, gelu_forward, relu_backward, relu_forward
from minitransformer.functional.adam import adam_update, gather_gradients
from minitransformer.functional.attention import attention_backward, attention_forward
from minitransformer.functional.cross_entropy import cross_entropy_backward, cross_entropy_forward
from minitransformer.functional.dropout import dropout_backward, dropout_forward, dropout_mask, random_words
from minitransformer.functional.layer_norm import layer_norm_backward, layer_norm_forward
from minitransformer.functional.masks import causal_mask, padding_mask
from minitransformer.functional.positions import sinusoids
from minitransformer.functional.softmax import softmax_backward, softmax_forward
