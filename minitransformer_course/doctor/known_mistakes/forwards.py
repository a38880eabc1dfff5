"""Wrong forwards for the right backward."""

from functools import partial

from minitransformer_course.doctor.mistakes import teach

teach_forward = partial(teach, method="forward")
RIGHT = "return p, SoftmaxCache"
teach_forward("softmax", {
    "the forward normalises over the wrong axis (the rows, queries: the second last), but the backward over the last (keys)":
        ("axis=-1", "axis=-2"),
    "the forward normalises over the wrong axis (the first, the batch), but the backward over the last (keys)": ("axis=-1", "axis=0"),
    "the forward applies the mask after the softmax (afterwards): a row no longer sums to 1, as the backward assumes":
        ("xp.where(mask, x, -xp.inf)", "x", RIGHT, f"p = p if mask is None else p * mask\n    {RIGHT}"),
    "the forward does not divide by the sum of the row (the normalisation is missing), as the backward assumes": ("p /= total", "pass"),
    "the forward returns the logarithm of the softmax, but the backward is that of the softmax": (RIGHT, "return xp.log(p), SoftmaxCache")})

teach_forward("attention", {sentence: (" / math.sqrt(query.shape[-1])", wrong) for sentence, wrong in {
    "the forward does not scale the scores: its factor 1/sqrt(d_k) is missing (forgotten), but the backward has it": "",
    "the forward scales the scores by 1/d_k, but the backward by 1/sqrt(d_k)": " / query.shape[-1]",
    "the forward multiplies the scores by sqrt(d_k), but the backward divides by it (the scale)": " * math.sqrt(query.shape[-1])",
    "the forward scales the scores by 1/sqrt(d_model) of all heads, but the backward by 1/sqrt(d_k)":
        " / math.sqrt(query.shape[-1] * query.shape[-3])",
    "the forward scales the scores by 1/sqrt(d_v), but the backward by 1/sqrt(d_k)": " / math.sqrt(value.shape[-1])",
    "the forward scales the scores by 1/sqrt(T_k), but the backward by 1/sqrt(d_k)": " / math.sqrt(key.shape[-2])"}.items()})

SQUARES = "(centred * centred).{}(axis=-1, keepdims=True)"
teach_forward("layer_norm", {
    "the forward normalises over the wrong axis (the positions, the second last), but the backward over the last (features)":
        ("axis=-1", "axis=-2"),
    "the forward normalises over the wrong axis (the batch, the first), but the backward over the last (features)": ("axis=-1", "axis=0"),
    "the forward normalises over the batch and the positions, as in batch normalisation, but the backward over the last axis":
        ("axis=-1", "axis=(0, 1)"),
    "the forward normalises over positions and features together, but the backward over the last axis only": ("axis=-1", "axis=(-2, -1)"),
    "the forward does not subtract the mean (it is missing, as in RMSNorm), but the backward has the mean's term":
        (" - x.mean(axis=-1, keepdims=True)", ""),
    "the forward divides the variance by D - 1 (unbiased), but the backward by D":
        (SQUARES.format("mean"), f"{SQUARES.format('sum')} / (x.shape[-1] - 1)"),
    "the forward adds epsilon to the standard deviation, outside the square root; the backward takes it inside":
        ("module_of(x).sqrt(variance + epsilon)", "(module_of(x).sqrt(variance) + epsilon)")})

ROUNDED = "dropout_mask(x.shape, dropout_rate, rng, x.real.dtype)"    # its rate is k / 256
EXACT = "(rng.random(x.shape) >= dropout_rate) / (1 - dropout_rate)"
TWICE = "the forward draws the dropout mask twice: backward gets another mask than the one that was applied"
UNSCALED = "the forward does not scale what it keeps by 1 / (1 - rate): the scale is missing, but the backward has it"
teach_forward("dropout", {
    TWICE: (ROUNDED, EXACT, "DropoutCache(mask)", f"DropoutCache({EXACT})"),
    f"{TWICE} (bytes)": ("DropoutCache(mask)", f"DropoutCache({ROUNDED})"),
    UNSCALED: ("x * mask", "x * (mask > 0)"),
    f"{UNSCALED} (exact rate)": (ROUNDED, EXACT, "x * mask", "x * (mask > 0)")})

SMOOTHED, LOSS = "((mean - log_total) * real).sum()", "return loss"
teach_forward("cross_entropy", {
    "the forward counts padding in the loss, but the backward does not":
        ("log_likelihood.sum()", "(target - log_total).sum()", SMOOTHED, "(mean - log_total).sum()"),
    "the forward counts padding in the smoothing's part of the loss, but the backward does not": (SMOOTHED, "(mean - log_total).sum()"),
    "the forward forgets the label smoothing (it is missing), but the backward has it": (f" - smoothing * {SMOOTHED}", "", "(1 - smoothing) * ", ""),
    "the forward averages the loss over the real tokens (divides by the count), but the backward is that of the sum":
        (LOSS, f"{LOSS} / real.sum()"),
    "the forward averages the loss over all tokens (divided by their number), but the backward is that of the sum":
        (LOSS, f"{LOSS} / real.size"),
    "the forward averages the loss over the batch (divided by it), but the backward is that of the sum": (LOSS, f"{LOSS} / len(real)")})
