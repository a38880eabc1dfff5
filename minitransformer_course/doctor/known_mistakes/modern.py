"""RMSNorm, SiLU, rotary positions, gated feed-forward and grouped queries."""

from minitransformer.backend import Array
from minitransformer_course.doctor.mistakes import teach
from minitransformer_course.doctor.terms import terms

MEAN, SUM = "(dn * normed).mean(axis=-1, keepdims=True)", "(dy * normed).sum"
teach("rms_norm", {
    "the mean of dn is subtracted: that belongs to LayerNorm, RMSNorm has no mean": ("(dn - ", "(dn - dn.mean(axis=-1, keepdims=True) - "),
    "the term n mean(dn * n) lacks n inside the mean: n mean(dn) in place of it": (MEAN, "dn.mean(axis=-1, keepdims=True)"),
    "the mean is taken over the wrong axis: the positions (the second last axis), not the last axis": (MEAN, MEAN.replace("-1", "-2")),
    "the term n mean(dn * n) has one factor 1 / root mean square (inverse) too many": ("normed * through", "inverse * normed * through"),
    "the division by the root mean square is missing from dx": ("dx = inverse * ", "dx = "),
    "gamma is not applied in dx: the means and dx use dy in place of dn": ("dn = dy * gamma", "dn = dy"),
    "gamma is applied twice in dx: inside the mean and outside": ("dx = inverse", "dx = gamma * inverse"),
    "dgamma uses the input x in place of the normed n": (SUM, "(dy * normed / inverse).sum"),
    "n mean(dn * n) uses the input x in place of the normed n": ("normed * through", "normed / inverse * through")})


@terms("rms_norm")
def parts(dy, cache) -> dict[str, dict[str, Array]]:
    normed, dn = cache.normed, dy * cache.gamma
    return {"x": {"dn": cache.inverse * dn, "- n mean(dn * n) (of the root mean square)":
                  -cache.inverse * normed * (dn * normed).mean(axis=-1, keepdims=True)}}


RIGHT = "sigmoid * (1 + x * (1 - sigmoid))"
teach("silu", {sentence: (RIGHT, wrong) for sentence, wrong in {
    "the product rule is forgotten: the term with the derivative of the sigmoid is missing, dx = dy sigmoid(x)": "sigmoid",
    "the product rule is forgotten: the term sigmoid(x) is missing": "sigmoid * x * (1 - sigmoid)",
    "the factor x is missing from the term with the derivative of the sigmoid": "sigmoid * (2 - sigmoid)",
    "the derivative is that of the sigmoid alone, s (1 - s), without the factor x": "sigmoid * (1 - sigmoid)",
    "the derivative of the sigmoid is s (1 - s), not s (1 + s): wrong sign": "sigmoid * (1 + x * (1 + sigmoid))",
    "the derivative of the sigmoid is s (1 - s), not 1 - s: its factor s is missing": "(sigmoid + x * (1 - sigmoid))",
    "the term with the derivative of the sigmoid has the wrong sign (subtracted)": "sigmoid * (1 - x * (1 - sigmoid))",
    "the derivative is that of ReLU: dy where x > 0 (a step)": "(x > 0)",
    "dy is multiplied by the output, x sigmoid(x), not by the derivative": "x * sigmoid"}.items()})

teach("rotary", {
    "backward turns by the angle once more, in the forward's direction, not back: sin needs the other sign": ("-sin", "sin"),
    "the rotation is skipped in backward: dx = dy": ("_turned(dy, cos, -sin, layout)", "dy"),
    "backward uses cos alone: the terms with sin, from the other number of the pair, are missing": ("-sin", "0 * sin"),
    "backward pairs the numbers of a head by the other layout (interleaved and half are confused)":
        ("layout)", '{"half": "interleaved", "interleaved": "half"}[layout])'),
    "the positions are reversed in backward": ("cos, -sin", "cos[::-1], -sin[::-1]")})

FOLDED, RETURNED = "_folded(dy, cache.attention.key.shape[1])", "dkey, dvalue\n"
ONE_HEAD = "_folded(dy * (np.arange(cache.heads) % (cache.heads // cache.attention.key.shape[1]) == {})[:, None, None], {})"
teach("grouped_attention", {
    "the gradients of keys and values are averaged over the heads of a group, not summed":
        ("return dquery", "share = cache.attention.key.shape[1] / cache.heads\n    return dquery",
         RETURNED, "share * dkey, share * dvalue\n"),
    **{f"only the {which} head of each group sends its gradient to the keys and values":
       ("return dquery", "_, dkey, dvalue = attention_backward("
        + ONE_HEAD.format(place, "cache.attention.key.shape[1]") + ", cache.attention)\n    return dquery")
       for which, place in (("first", "0"), ("last", "cache.heads // cache.attention.key.shape[1] - 1"))},
    "the heads are put into groups in the wrong order: head h belongs to group h // R, not h % G":
        (FOLDED, "_folded(dy.reshape(batch, -1, cache.attention.key.shape[1], *dy.shape[2:]).swapaxes(1, 2).reshape(dy.shape), "
                 "cache.attention.key.shape[1])")})
teach("GroupedQueryAttention", {
    "the rotation of the queries is not undone in backward": ("self.turn_backward(dq, cache.query)", "dq"),
    "the rotation of the keys is not undone in backward": ("self.turn_backward(dk, cache.key)", "dk"),
    "the values' gradient is turned back, but values are never turned": (", dv\n", ", self.turn_backward(dv, cache.key)\n")})

teach("GatedFeedForward", {
    "the path through the gate is missing from dx": ("dx + self.gate", "dx + 0 * self.gate"),
    "the path through the inner layer is missing from dx: only the gate's is returned": ("return dx +", "return 0 * dx +"),
    "the gate's activation is skipped in backward: its derivative is missing": ("activate_backward(dh * cache.u, cache.activation)", "dh * cache.u"),
    "u is missing in the gate's gradient: dg = dh, not dh u": ("dh * cache.u", "dh"),
    "the gate is missing in u's gradient: du = dh, not dh g": ("dh * cache.g", "dh"),
    "g and u are swapped in the two gradients: dg = dh g, du = dh u":
        ("dh * cache.g", "dh * cache.u + 0 * cache.g", "dg = activate_backward(dh * cache.u", "dg = activate_backward(dh * cache.g"),
    "the dropout is skipped in backward: its mask is not applied": ("dropout_backward(dh, cache.dropout)", "dh")})
