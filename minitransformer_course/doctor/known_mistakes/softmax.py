"""Softmax: dx = p (dp - sum(dp * p)), over the last axis. Most of its mistakes are those of the course's exercise."""

from minitransformer.backend import Array
from minitransformer_course.doctor.mistakes import teach
from minitransformer_course.doctor.terms import terms

SUM = "(dp * p).sum(axis=-1, keepdims=True)"
teach("softmax", {
    "the sum over the row is a plain average of dp, without the weights p: mean(dp) in place of sum(dp * p)":
        (SUM, "dp.mean(axis=-1, keepdims=True)"),
    "the sum runs over the wrong axis: over the first axis (the batch), not over the last axis": (SUM, SUM.replace("-1", "0")),
    "the sum runs over the last two axes (a whole matrix), not only over the last axis": (SUM, SUM.replace("-1", "(-2, -1)")),
    "the factor p is applied twice (p squared): dx = p p (dp - sum(dp * p))": ("p * (dp - mean)", "p * p * (dp - mean)"),
    "the sum is weighted with p squared: sum(dp p p) in place of sum(dp * p)": ("(dp * p).sum", "(dp * p * p).sum"),
    "the sum lacks one factor p and has it outside: dx = p (dp - p sum(dp))": ("(dp * p).sum", "p * dp.sum"),
    "the largest entry is subtracted in place of the sum: dx = p (dp - max(dp * p))": ("(dp * p).sum", "(dp * p).max"),
    "the derivative is that of an exponential without its normalisation by the sum (1 - p missing): dx = p dp p":
        ("p * (dp - mean)", "p * dp * p"),
    "dp is passed on unchanged: the softmax is skipped in backward, dx = dp": ("p * (dp - mean)", "dp")})
teach("softmax", {"the mask is ignored in backward: p is that of the softmax without a mask":
                  ("p = cache.p", "p = softmax_forward(x)[0]")}, "x")


@terms("softmax")
def parts(dp, cache) -> dict[str, dict[str, Array]]:
    return {"x": {"p dp": cache.p * dp, "- p sum(dp * p)": -cache.p * (dp * cache.p).sum(axis=-1, keepdims=True)}}
