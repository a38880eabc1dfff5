"""Additive attention (Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473, appendix A.1.2)."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.functional.softmax import SoftmaxCache, softmax_backward, softmax_forward
from minitransformer.replaceable import replaceable


class AdditiveAttentionCache(NamedTuple):
    value: Array              # (..., T_k, d_v)
    weight: Array             # (A,)
    tanh: Array               # (..., T_q, T_k, A) tanh(query + key) of each pair
    softmax: SoftmaxCache     # softmax.p: (..., T_q, T_k), who attends to whom


@replaceable
def additive_attention_forward(query, key, value, weight, mask=None) -> tuple[Array, AdditiveAttentionCache]:
    """y = softmax(scores) value, with scores_ij = w . tanh(query_i + key_j): a network with one hidden layer for each pair.

    query: (..., T_q, A); key: (..., T_k, A); value: (..., T_k, d_v); weight w: (A,); mask: None or bool, broadcastable to
    (..., T_q, T_k), True = may attend. Returns y (..., T_q, d_v).
    A query that may attend to nothing gives 0, and neither receives nor passes on a gradient.
    """
    tanh = module_of(query).tanh(query[..., :, None, :] + key[..., None, :, :])
    p, softmax = softmax_forward(tanh @ weight, mask)
    return p @ value, AdditiveAttentionCache(value, weight, tanh, softmax)


@replaceable
def additive_attention_backward(dy, cache) -> tuple[Array, Array, Array, Array]:
    """Returns dquery, dkey, dvalue, dweight.

    y = P V gives dP = dy V^T and dV = P^T dy. With S_ij = w . t_ij and t = tanh(a): dw = sum_ij dS_ij t_ij and
    da_ij = dS_ij w (1 - t_ij^2). Query i was added to every key, and key j to every query: their gradients are sums of da.
    """
    value, weight, tanh, softmax = cache
    dscores = softmax_backward(dy @ value.swapaxes(-1, -2), softmax)
    dvalue = softmax.p.swapaxes(-1, -2) @ dy
    dweight = dscores.reshape(-1) @ tanh.reshape(-1, len(weight))
    da = (1 - tanh * tanh) * weight * dscores[..., None]
    return da.sum(axis=-2), da.sum(axis=-3), dvalue, dweight
