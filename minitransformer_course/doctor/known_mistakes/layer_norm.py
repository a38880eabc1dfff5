"""LayerNorm: dx = s (dn - mean(dn) - n mean(dn n)) with dn = dy gamma; dgamma = sum(dy n), dbeta = sum(dy) over all rows."""

from minitransformer.backend import Array
from minitransformer_course.doctor.mistakes import teach
from minitransformer_course.doctor.terms import terms

MEAN, VARIANCE = "dn.mean(axis=-1, keepdims=True)", "(dn * normed).mean(axis=-1, keepdims=True)"
FIRST, SECOND = "the term mean(dn)", "the term n mean(dn * n)"
for axis, name in (("0", "the batch (the first axis)"), ("-2", "the positions (the second last axis)")):
    teach("layer_norm", {
        f"{FIRST} is taken over the wrong axis: {name}, not the last axis": (MEAN, f"dn.mean(axis={axis}, keepdims=True)"),
        f"{SECOND} is taken over the wrong axis: {name}, not the last axis": (
            VARIANCE, f"(dn * normed).mean(axis={axis}, keepdims=True)")})
teach("layer_norm", {
    f"{SECOND} lacks n inside the mean: n mean(dn) in place of it": (VARIANCE, MEAN),
    "gamma is applied twice in dx: inside the two means and outside": ("dx = inverse", "dx = gamma * inverse"),
    "dy is divided by gamma, not multiplied": ("dn = dy * gamma", "dn = dy / gamma"),
    f"{SECOND} has one factor 1 / standard deviation (inverse) too many": ("normed * through_v", "inverse * normed * through_v"),
    f"{SECOND} contains the variance, which does not belong there: x - mean replaces the normed n twice":
        ("normed * through_v", "normed / inverse ** 2 * through_v"),
    f"{SECOND} uses x - mean in place of the normed n, outside the mean": ("normed * through_v", "normed / inverse * through_v"),
    "the means are taken over the wrong axis: over the batch (the first axis), not over the last axis (features)":
        (".mean(axis=-1, keepdims=True)", ".mean(axis=0, keepdims=True)"),
    "the means are taken over all axes, not only over the last axis (features)": (".mean(axis=-1, keepdims=True)", ".mean()"),
    "only gamma is applied in dx: dx = dy gamma, without the standard deviation and the two mean terms": ("return dx", "return dn"),
    "dgamma uses x - mean, before the division by the standard deviation, in place of the normed n":
        ("(dy * normed).sum", "(dy * normed / inverse).sum"),
    "dgamma is multiplied by 1 / standard deviation, which belongs to dx only": ("(dy * normed).sum", "(dy * normed * inverse).sum"),
    "dbeta is multiplied by gamma: dn is summed in place of dy": ("dy.sum", "dn.sum"),
    "dbeta is multiplied by 1 / standard deviation, which belongs to dx only": ("dy.sum", "(dy * inverse).sum"),
    "dbeta is the sum of dx, not the sum of dy: the wrong array is summed": ("dy.sum", "dx.sum")})
SPREAD = "spread = normed.std(axis=-1, keepdims=True)\n    normed, inverse = normed / spread, inverse / spread"
teach("layer_norm", {
    "the standard deviation in dx lacks epsilon, or has a different epsilon from the forward: 1 / sqrt(variance)":
        ("dn = dy", f"right = normed\n    {SPREAD}\n    dn = dy", "(dy * normed).sum", "(dy * right).sum"),
    "the normed x is divided by its own standard deviation once more: backward is that of a LayerNorm without epsilon":
        ("dn = dy", f"{SPREAD}\n    dn = dy")})
teach("layer_norm", {
    "dgamma uses the input x in place of the normed n": ("(dy * normed).sum", "(dy * x).sum"),
    "n mean(dn * n) uses the input x in place of the normed n": (VARIANCE, "(dn * x).mean(axis=-1, keepdims=True)",
                                                                "normed * through_v", "x * through_v")}, "x")


@terms("layer_norm")
def parts(dy, cache) -> dict[str, dict[str, Array]]:
    normed, s, dn = cache.normed, cache.inverse, dy * cache.gamma
    return {"x": {"dn": s * dn, "- mean(dn) (of the mean)": -s * dn.mean(axis=-1, keepdims=True),
                  "- n mean(dn * n) (of the variance, the standard deviation)":
                      -s * normed * (dn * normed).mean(axis=-1, keepdims=True)}}
