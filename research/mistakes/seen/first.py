"""Five mistakes to start with; they move to their families' files."""

from research.mistakes import makers
from research.mistakes.makers import BIAS_GRADIENT


def embedding_repeated_ids(self, dy, cache):
    d_model = self.weight.shape[1]
    self.weight.grad[cache.ids] += d_model ** 0.5 * dy


MISTAKES = [
    makers.softmax("softmax-diagonal-only", ("p * (dp - mean)", "p * (1 - p) * dp"),
            ("diagonal", "off-diagonal", "p (1 - p)", "p * (1 - p)", "p(1 - p)", "p(1-p)")),
    makers.norm("layer-norm-projection-forgotten", (" - normed * through_variance", ""),
            ("mean(dn * n)", "variance", "standard deviation", "second mean", "inverse"),
            ("miss", "forgot", "left out", "without", "lack", "constant")),
    makers.linear("linear-bias-mean-for-sum", (BIAS_GRADIENT, "drows.mean(axis=0)"), ("bias",), ("mean", "average", "divided")),
    makers.embedding("embedding-repeated-ids", embedding_repeated_ids,
            ("repeat", "more than once", "several", "only one", "last", "again")),
    makers.encoder_layer("residual-shortcut-forgotten", ("dx + self.feed_forward", "self.feed_forward"),
            ("residual", "skip", "shortcut", "direct", "identity", "dy + ")),
]
