"""Scaled dot-product attention: dS = softmax_backward(dropout_backward(dy V^T)), dQ = dS K / sqrt(d_k), dK = dS^T Q / sqrt(d_k)."""

import math

from minitransformer.backend import Array
from minitransformer.functional.dropout import dropout_backward
from minitransformer_course.doctor.mistakes import teach
from minitransformer_course.doctor.terms import terms

D_K = "query.shape[-1]"
HEADS = "(query.shape[-3] if query.ndim > 3 else 1)"
for where, right in (("", "softmax_backward(dp, softmax)"), (" of the query's gradient only", "dscores @ key"),
                     (" of the key's gradient only", "dscores.swapaxes(-1, -2) @ query")):
    teach("attention", {f"{sentence} in the backward{where}": (right, f"{factor} * {right}") for sentence, factor in (
        ("the scale 1/sqrt(d_k) is missing (forgotten)", f"math.sqrt({D_K})"),
        ("the scale 1/sqrt(d_k) is applied twice (divided by d_k, not by sqrt(d_k): 1/d_k for 1/sqrt(d_k))", f"1 / math.sqrt({D_K})"),
        ("the scores are multiplied by sqrt(d_k), not divided: the scale 1/sqrt(d_k) is inverted", D_K),
        ("the scale is 1/sqrt(d_model) of all heads together, not 1/sqrt(d_k) of one head", f"1 / math.sqrt({HEADS})"),
        ("the scale is 1/sqrt(d_v) of the values, not 1/sqrt(d_k)", f"math.sqrt({D_K} / value.shape[-1])"),
        ("the scale is 1/sqrt(T_k), the number of keys, not 1/sqrt(d_k)", f"math.sqrt({D_K} / key.shape[-2])"))})

for name, product in (("query", "dscores @ key"), ("key", "dscores.swapaxes(-1, -2) @ query")):
    teach("attention", {
        f"the softmax's backward (its Jacobian) is skipped on the way to the {name} (d{name}) only: the {name}'s gradient misses the "
        "softmax": (product, product.replace("dscores", f"(dp / math.sqrt({D_K}))")),
        f"the dropout mask is skipped on the way to the {name} (d{name}) only":
            (product, product.replace("dscores", f"(softmax_backward(dweights, softmax) / math.sqrt({D_K}))"))})

teach("attention", {
    "the gradient of the value (dvalue) is scaled by 1/sqrt(d_k), which belongs to the scores only":
        ("weights.swapaxes(-1, -2) @ dy", f"weights.swapaxes(-1, -2) @ dy / math.sqrt({D_K})"),
    "the dropout of the attention weights is ignored in backward: its mask is applied neither to dp nor in dvalue":
        ("dropout_backward(dweights, dropout)", "dweights", "weights.swapaxes(-1, -2) @ dy", "softmax.p.swapaxes(-1, -2) @ dy"),
    "the dropout mask is not applied to dp: the dropout of the attention weights is ignored (skipped) on the way to the scores":
        ("dropout_backward(dweights, dropout)", "dweights"),
    "dvalue is made from p before dropout, not from the weights after dropout: the dropout mask is missing from dvalue":
        ("weights.swapaxes(-1, -2) @ dy", "softmax.p.swapaxes(-1, -2) @ dy"),
    "the dropout mask is applied twice to dp":
        ("dropout_backward(dweights, dropout)", "dropout_backward(dropout_backward(dweights, dropout), dropout)"),
    "the softmax backward uses the weights after dropout as p, not the probabilities before dropout":
        ("(dp, softmax)", "(dp, softmax._replace(p=weights))"),
    "the dropout mask is applied after the softmax backward, not before it: the wrong order":
        ("softmax_backward(dp, softmax)", "dropout_backward(softmax_backward(dweights, softmax), dropout)"),
    "the softmax is skipped in backward: dscores = dp, the softmax's derivative (Jacobian) is missing":
        ("softmax_backward(dp, softmax)", "dp"),
    "dvalue uses the gradient of the scores in place of the attention weights: dS^T dy, not A^T dy":
        ("weights.swapaxes(-1, -2) @ dy",
         "softmax_backward(dropout_backward(dweights, dropout), softmax).swapaxes(-1, -2) @ dy"),
    "the causal mask is applied again with a wrong triangle: later keys get no gradient although they were attended to":
        ("(dp, softmax)", "(dp, softmax) * np.tri(query.shape[-2], key.shape[-2])"),
    "the mask is ignored in backward: the softmax is computed again without the mask":
        ("dscores =", f"softmax = softmax._replace(p=softmax_forward(query @ key.swapaxes(-1, -2) / math.sqrt({D_K}))[0])\n    dscores =")})


@terms("attention")
def parts(dy, cache) -> dict[str, dict[str, Array]]:
    p = cache.softmax.p
    pdp = p * dropout_backward(dy @ cache.value.swapaxes(-1, -2), cache.dropout) / math.sqrt(cache.query.shape[-1])
    rows = -p * pdp.sum(axis=-1, keepdims=True)
    first, second = "p dp (of the softmax)", "- p sum(dp p) (of the softmax, over the row)"
    return {"query": {first: pdp @ cache.key, second: rows @ cache.key},
            "key": {first: pdp.swapaxes(-1, -2) @ cache.query, second: rows.swapaxes(-1, -2) @ cache.query},
            "value": {"A^T dy": cache.weights.swapaxes(-1, -2) @ dy}}
