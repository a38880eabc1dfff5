"""ReLU: dx = dy where x > 0. GELU: dx = dy ((1 + tanh u) / 2 + x (1 - tanh^2 u) u' / 2)."""

from minitransformer.backend import Array
from minitransformer.functional.activations import CUBIC, SLOPE
from minitransformer_course.doctor.mistakes import teach
from minitransformer_course.doctor.terms import terms

RIGHT, POSITIVE = "dy * cache.positive", "cache.positive"
teach("relu", {sentence: (RIGHT, wrong) for sentence, wrong in {
    "the ReLU mask is missing: dx = dy, even where x is negative (the activation is skipped)": "dy",
    "the ReLU mask is inverted: the gradient passes where x is negative, not where it is positive": f"dy * ~{POSITIVE}",
    "the ReLU mask is taken from the upstream gradient dy (where dy > 0), not from x": "dy * (dy > 0)",
    "the ReLU mask is taken from the upstream gradient dy as well: guided backpropagation, dy > 0 and x > 0": f"{RIGHT} * (dy > 0)",
    "the ReLU mask of the first sentence is used for the whole batch": f"{RIGHT}[:1]",
    "the ReLU mask of the first position is used for all positions": f"{RIGHT}[..., :1, :]",
    "dy is missing: the ReLU's derivative itself is returned": f"1.0 * {POSITIVE}",
    "the gradient is 1 or -1 by the sign of x: the derivative of abs, not of ReLU": f"dy * np.where({POSITIVE}, 1, -1)",
    **{f"a negative x lets {slope} dy through: the derivative of a leaky ReLU, not of ReLU": f"dy * np.where({POSITIVE}, 1, {slope})"
       for slope in (0.01, 0.1)}}.items()})
teach("relu", {
    "dy is multiplied by the ReLU's output (x where positive), not by its derivative (1 where positive)": (RIGHT, f"{RIGHT} * x"),
    "dy is multiplied by the input x, not by the derivative (1 where positive)": (RIGHT, "dy * x")}, "x")

INNER, SQUARE, LAST, FIRST = "SLOPE * (1 + 3 * CUBIC * x * x)", "(1 - tanh * tanh)", "0.5 * x * (1", "0.5 * (1 + tanh)"
WHOLE = f"({FIRST} + 0.5 * x * {SQUARE} * u_prime)"
LOGISTIC = "/ (1 + np.exp(-{} * x))"
teach("gelu", {
    "the product rule is forgotten: the term with the derivative of tanh is missing, dx = dy (1 + tanh u) / 2": (LAST, f"0 * {LAST}"),
    "the inner derivative u' is missing (chain rule)": (INNER, "1"),
    "the inner derivative u' has the factor 2, not 3, in its cubic term": ("3 * CUBIC", "2 * CUBIC"),
    "the inner derivative u' lacks the factor sqrt(2/pi)": ("SLOPE * (1", "(1"),
    "the inner derivative u' has x in place of x^2 in its cubic term": ("CUBIC * x * x", "CUBIC * x"),
    "the inner derivative u' has x^3 in place of x^2 in its cubic term": ("CUBIC * x * x", "CUBIC * x * x * x"),
    "the inner derivative u' was replaced by u itself": (INNER, "SLOPE * (x + CUBIC * x * x * x)"),
    "the derivative of tanh is 1 - tanh^2, not 1 - tanh: the square is missing": (SQUARE, "(1 - tanh)"),
    "the derivative of tanh is 1 - tanh^2, not 1 + tanh^2: wrong sign": (SQUARE, "(1 + tanh * tanh)"),
    "the derivative of tanh is 1 - tanh^2, not tanh^2": (SQUARE, "(tanh * tanh)"),
    "the derivative of tanh (1 - tanh^2) is missing": (f" * {SQUARE}", ""),
    "the factor 1/2 is missing from the term with the derivative of tanh": (LAST, "x * (1"),
    "the factor 1/2 is missing from the term 1 + tanh u": (FIRST, "(1 + tanh)"),
    "the term with the derivative of tanh has the wrong sign (subtracted)": (f"+ {LAST}", f"- {LAST}"),
    "the factor x is missing from the term with the derivative of tanh": (LAST, "0.5 * (1"),
    "the derivative is that of ReLU: dy where x > 0 (a step)": (WHOLE, "(x > 0)"),
    "the derivative is that of the exact GELU (erf), but the forward uses the tanh form":
        (WHOLE, "(0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))"),
    "the derivative is that of the sigmoid form x sigmoid(1.702 x), but the forward uses the tanh form":
        (WHOLE, f"(1 {LOGISTIC} * (1 + 1.702 * x * (1 - 1 {LOGISTIC})))".format(1.702, 1.702)),
    "the derivative is that of swish (SiLU), not of GELU": (WHOLE, f"(1 {LOGISTIC} * (1 + x * (1 - 1 {LOGISTIC})))".format(1, 1)),
    "tanh is taken of x, not of u": ("x, tanh = cache", "x, tanh = cache.x, np.tanh(cache.x)")})


@terms("gelu")
def parts(dy, cache) -> dict[str, dict[str, Array]]:
    x, t = cache
    chain = dy * 0.5 * x * (1 - t * t) * SLOPE
    return {"x": {"(1 + tanh u) / 2": dy * 0.5 * (1 + t), "x (1 - tanh^2 u) sqrt(2/pi) / 2 of the inner derivative u'": chain,
                  "3 * 0.044715 x^2 (cubic) of the inner derivative u'": chain * 3 * CUBIC * x * x}}
