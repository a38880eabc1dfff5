"""Five mistakes to start with; they move to their families' files."""

from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import encoder_layer, linear, mean, norm, rows, softmax

linear_mean_over_rows = linear(bias=lambda dy: rows(dy).mean(axis=0))


def embedding_repeated_ids(self, dy, cache):
    d_model = self.weight.shape[1]
    self.weight.grad[cache.ids] += d_model ** 0.5 * dy


MISTAKES = [
    makers.softmax("softmax-diagonal-only", softmax(lambda dp, p: p * (1 - p) * dp),
            ("diagonal", "off-diagonal", "p (1 - p)", "p * (1 - p)", "p(1 - p)", "p(1-p)")),
    makers.norm("layer-norm-projection-forgotten", norm(lambda dn, n, s, *_: s * (dn - mean(dn))),
            ("mean(dn * n)", "variance", "standard deviation", "second mean", "inverse"),
            ("miss", "forgot", "left out", "without", "lack", "constant")),
    makers.linear("linear-bias-mean-for-sum", linear_mean_over_rows, ("bias",), ("mean", "average", "divided")),
    makers.embedding("embedding-repeated-ids", embedding_repeated_ids,
            ("repeat", "more than once", "several", "only one", "last", "again")),
    makers.encoder_layer("residual-shortcut-forgotten", encoder_layer(lambda dy, dh: dh),
            ("residual", "skip", "shortcut", "direct", "identity", "dy + ")),
]
