"""Five mistakes to start with; they move to their families' files."""

from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import encoder_layer, linear, mean, norm, rows, softmax

softmax_diagonal = softmax(lambda dp, p: p * (1 - p) * dp)
layer_norm_without_projection = norm(lambda dn, n, s, *_: s * (dn - mean(dn)))
linear_mean_over_rows = linear(bias=lambda dy: rows(dy).mean(axis=0))
residual_without_shortcut = encoder_layer(lambda dy, dh: dh)


def embedding_repeated_ids(self, dy, cache):
    d_model = self.weight.shape[1]
    self.weight.grad[cache.ids] += d_model ** 0.5 * dy


MISTAKES = [
    Mistake("softmax-diagonal-only", "softmax_backward", softmax_diagonal, "softmax",
            (("diagonal", "off-diagonal", "p (1 - p)", "p * (1 - p)", "p(1 - p)", "p(1-p)"),)),
    Mistake("layer-norm-projection-forgotten", "layer_norm_backward", layer_norm_without_projection, "layer-norm",
            (("mean(dn * n)", "variance", "standard deviation", "second mean", "inverse"), ("miss", "forgot", "left out", "without", "lack", "constant"))),
    Mistake("linear-bias-mean-for-sum", "Linear.backward", linear_mean_over_rows, "linear",
            (("bias",), ("mean", "average", "divided"))),
    Mistake("embedding-repeated-ids", "Embedding.backward", embedding_repeated_ids, "embedding",
            (("repeat", "more than once", "several", "only one", "last", "again"),)),
    Mistake("residual-shortcut-forgotten", "minitransformer.layers.encoder:EncoderLayer.backward", residual_without_shortcut,
            "encoder-layer", (("residual", "skip", "shortcut", "direct", "identity", "dy + "),)),
]
