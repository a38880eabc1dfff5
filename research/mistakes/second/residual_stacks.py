"""Mistakes in residuals, encoder and decoder layers, stacks, pooling and whole models."""

from minitransformer.functional import dropout_backward
from minitransformer.layers.pooling import FirstCache
from research.mistakes import makers
from research.mistakes.held_out import stacks as held_out
from research.mistakes.makers import edited, through
from research.mistakes.mistake import Mistake
from research.mistakes.seen import stacks as seen
from research.mistakes.words import LEFT_OUT, UNKNOWN

LAYERS, MODELS = "minitransformer.layers.", "minitransformer.models."
MISSING = (*LEFT_OUT, "does not", "not multiplied", "only", "ignor")


def residual_dropout_at_the_end(self, dy, cache):
    dx, _ = self.feed_forward_residual.backward(dy, cache.feed_forward_residual)
    dh = self.feed_forward.backward(dx, cache.feed_forward)
    dh = dropout_backward(dh, cache.feed_forward_residual.dropout)
    dx = dx + self.feed_forward_residual.enter_backward(dh, cache.feed_forward_entered)
    return through(self, "self_attention", dx, cache)


def encoder_layer_adds_both(self, dy, cache):
    dx = through(self, "feed_forward", dy, cache)
    return dx + through(self, "self_attention", dx, cache)


def decoder_layer_memory_wrong_order(self, dy, cache):
    dx, dmemory = through(self, "cross_attention", dy, cache)
    dx = through(self, "feed_forward", dx, cache)
    return through(self, "self_attention", dx, cache), dmemory


def memory(memories):
    return sum(memories) + memories[-1]


def decoder_memory_first_twice(self, dy, cache):
    memories = []
    for layer, layer_cache in zip(reversed(self.layers), reversed(cache.layers)):
        dy, dlayer = layer.backward(dy, layer_cache)
        memories.append(dlayer)
    return dy, memory(memories)


NORM = ("norm",)
SHORT = ("residual", "shortcut", "skip", "direct", "identity", "dy", "sum", "path")
DROPOUT = ("dropout", "dropped", "mask", "kept")
ENC, DEC = LAYERS + "encoder:", LAYERS + "decoder:"
POOL = LAYERS + "pooling:"

MISTAKES = [
    makers.residual("residual-shortcut-dropped-too",
            ("dy, dropout_backward(dy, cache.dropout)", "2 * (dropout_backward(dy, cache.dropout),)"),
            DROPOUT + SHORT),
    makers.residual("residual-no-dropout", ("dropout_backward(dy, cache.dropout)", "dy"), DROPOUT),
    makers.residual("residual-shortcut-around-norm",
            ("dy = self.norm", "dh = self.norm", "dropout_backward(dy, cache.dropout)", "dropout_backward(dh, cache.dropout)"),
            SHORT + NORM),
    makers.encoder_layer_pre_norm("residual-norm-of-the-sum",
            ("dx + self.feed_forward_residual.enter_backward(dh", "self.feed_forward_residual.enter_backward(dx + dh"),
            SHORT + NORM),
    makers.encoder_layer_pre_norm("residual-pre-norm-no-norm",
            ("self.feed_forward_residual.enter_backward(dh, cache.feed_forward_entered)", "dh"), (*NORM, "gamma"),
            comment="Pre-norm: LayerNorm's backward is left out (right for post-norm)."),
    makers.residual("residual-post-norm-no-norm", ("not self.pre_norm", "False"), (*NORM, "gamma"),
            comment="Post-norm: LayerNorm's backward is left out (right for pre-norm)."),
    makers.encoder_layer("residual-shortcut-twice", ("dx + self.feed_forward", "dx + dx + self.feed_forward"), SHORT,
            ("twice", "doubl", "extra", "too often", "2 times", "times 2", "2x", "again")),
    makers.encoder_layer("residual-averaged", ("self_attention_residual.backward(dx", "self_attention_residual.backward(dx / 2"),
            ("average", "mean", "half", "divid", "factor", "0.5", "1/2")),
    makers.encoder_layer("residual-minus", ("dx + self.feed_forward", "dx - self.feed_forward"),
            ("sign", "minus", "subtract", "negat", "-1", "opposite")),
    makers.encoder_layer("residual-sublayer-cut", ("dx + self.feed_forward", "dx + 0 * self.feed_forward"),
            ("sub-layer", "sublayer", "branch", "shortcut", "path", "residual", "feed"), MISSING),
    makers.encoder_layer("residual-dropout-at-the-end", residual_dropout_at_the_end, DROPOUT),
    makers.decoder_layer("residual-no-gradient-for-memory", ("return dx, dmemory", "return dx, 0 * dmemory"), ("memory",), MISSING),
    makers.residual("residual-two-dropout-and-shortcut", ("dy, dropout_backward(dy, cache.dropout)", "2 * dy, dy"),
            DROPOUT + SHORT + ("twice", "doubl")),
    makers.encoder_layer("residual-blend", ("dx + self.feed_forward", "dx + (1 + 0.1 * dx) * self.feed_forward"),
            (*UNKNOWN, "residual", "dx", "input")),
    edited("residual-forward-shortcut-from-norm", ENC + "EncoderLayer.forward", "enter(x)\n", "enter(x)\n    x = h\n",
            "encoder-layer-pre-norm", SHORT + NORM, in_model="transformer-pre-norm"),
    makers.residual_forward("residual-forward-scaled", ("h, dropout =", "x, h = 0.5 ** 0.5 * x, 0.5 ** 0.5 * h\n    h, dropout ="),
            ("factor", "scale", "sqrt", "0.707", "1.41", "times", "constant")),
    makers.residual_forward("residual-stale-norm-cache",
            ("(dropout, norm)", "(dropout, norm if self.pre_norm else self.norm.forward(x)[1])"), (*NORM, "cache", "stale")),
    makers.encoder_layer("encoder-layer-wrong-order", held_out.encoder_order, ("order", "revers", "before", "attention", "feed")),
    makers.encoder_layer("encoder-layer-stale-dy", ("self_attention_residual.backward(dx", "self_attention_residual.backward(dy"),
            ("feed", "dy", "attention", "skipped", "chain", "wrong gradient")),
    makers.encoder_layer("encoder-layer-adds-both", encoder_layer_adds_both, (*SHORT, "twice", "added", "feed", "extra")),
    makers.encoder("encoder-not-reversed",
            ("zip(reversed(self.layers), reversed(cache.layers))", "zip(self.layers, cache.layers)"),
            ("order", "revers", "first", "last", "layers")),
    makers.encoder("encoder-caches-not-reversed", ("reversed(cache.layers)", "cache.layers"),
            ("cache", "order", "revers", "layers")),
    makers.encoder("encoder-first-layer-left-out",
            ("zip(reversed(self.layers), reversed(cache.layers))", "zip(self.layers[:0:-1], cache.layers[:0:-1])"),
            ("layer", "layers.0", "first"), MISSING),
    makers.encoder("encoder-every-layer-gets-dy",
            ("dy = layer.backward(dy, layer_cache)\n    return dy", "dx = layer.backward(dy, layer_cache)\n    return dx"),
            ("layer", "dy", "chain", "order")),
    makers.encoder("encoder-no-final-norm", ("if self.norm", "if False"), NORM, block="transformer-pre-norm",
            in_model="transformer-pre-norm", comment="Pre-norm: the final LayerNorm's backward is left out (post-norm has none)."),
    makers.encoder("encoder-adds-a-shortcut", ("dy = layer", "dy = dy + layer"), (*SHORT, "layer", "twice", "extra"),
            comment="dy is added to what each layer returns, although the residuals inside have done so."),
    makers.encoder("encoder-tanh-between-layers", ("layer.backward(dy, layer_cache)", "np.tanh(layer.backward(dy, layer_cache))"),
            (*UNKNOWN, "encoder", "layer", "dx", "input", "tanh")),
    makers.decoder_layer("decoder-layer-wrong-order", decoder_layer_memory_wrong_order, ("order", "revers", "before", "cross", "attention", "feed")),
    makers.decoder_layer("decoder-layer-no-self-attention",
            ("dx, dh = self.self_attention", "return dx, dmemory\n    dx, dh = self.self_attention"),
            ("self-attention", "self_attention", "self attention"), MISSING),
    makers.decoder_layer("decoder-layer-stale-dx", seen.decoder_around_cross, ("cross", "dx", "self", "skipped", "wrong gradient")),
    makers.decoder("decoder-memory-overwritten", ("dmemory + dlayer", "dlayer"), ("memory",),
            (*MISSING, "first", "last", "overwrit", "sum", "add", "some of", "layer", "one"),
            comment="The memory's gradient is assigned in each round: only the first layer's (the last visited) remains."),
    makers.decoder("decoder-memory-last-layer", ("dmemory + dlayer", "dlayer if layer is self.layers[-1] else dmemory"),
            ("memory",), (*MISSING, "first", "last", "sum", "add", "some of", "layer", "one")),
    makers.decoder("decoder-memory-averaged", ("return dy, dmemory", "return dy, dmemory / len(self.layers)"), ("memory",),
            ("average", "mean", "half", "divid", "factor", "0.5", "1/2")),
    makers.decoder("decoder-memory-first-twice", decoder_memory_first_twice, ("memory",),
            ("twice", "doubl", "again", "2 times", "times 2", "2x", "layer", "extra", "too often")),
    makers.decoder("decoder-two-memory-and-norm", ("if self.norm", "if False", "dmemory + dlayer", "dlayer"),
            ("memory", "norm", "cross", "encoder"), block="transformer-pre-norm", in_model="transformer-pre-norm"),
    makers.decoder("decoder-memory-mixture", ("dmemory + dlayer", "0.7 * dmemory + dlayer"), (*UNKNOWN, "memory")),
    makers.mean_over_tokens("pooling-mean-over-all", ("* cache.share", "* np.ones_like(cache.share) / cache.share.shape[1]"),
            ("padding", "mask", "real", "count", "number of", "divid", "1/t", "position")),
    makers.mean_over_tokens("pooling-mean-not-divided", ("* cache.share", "* (cache.share > 0)"),
            ("divid", "count", "number of", "mean", "factor", "share")),
    makers.mean_over_tokens("pooling-mean-share-squared", ("* cache.share", "* cache.share * cache.share"),
            ("twice", "square", "divid", "count", "share", "factor")),
    makers.mean_over_tokens("pooling-mean-count-of-batch",
            ("* cache.share", "* (cache.share > 0) / (cache.share > 0).sum().astype(dy.dtype)"),
            ("batch", "count", "divid", "number of", "factor", "share", "constant")),
    makers.mean_over_tokens("pooling-mean-first-sentences-share", ("* cache.share", "* cache.share[:1]"),
            ("first", "batch", "padding", "count", "share", "broadcast", "sentence", "mask")),
    makers.mean_forward("pooling-forward-padding-too", ("(x * share).sum(axis=1)", "x.mean(axis=1)"),
            ("padding", "mask", "real", "count", "number of", "divid", "position", "share")),
    makers.mean_forward("pooling-forward-root-of-count",
            ("x * share).sum(axis=1)", "x * real[:, :, None]).sum(axis=1) / xp.sqrt(count).astype(x.real.dtype)"),
            ("root", "sqrt", "count", "factor", "divid", "number of", "scale", "share")),
    makers.mean_over_tokens("pooling-mean-odd-power", ("* cache.share", "* cache.share ** 1.5"),
            (*UNKNOWN, "dx", "input", "share", "factor", "constant")),
    makers.first_token("pooling-first-gets-last", ("[:, 0]", "[:, -1]"), ("last", "first", "position", "place")),
    makers.first_token("pooling-first-everywhere", ("dx[:, 0] = dy", "dx[...] = dy[:, None]"),
            ("every", "all", "other", "broadcast", "first", "position")),
    makers.first_token("pooling-first-two-positions", ("dx[:, 0] = dy", "dx[:, :2] = dy[:, None]"),
            ("second", "slice", "off by one", "first", "position", "two")),
    makers.first_token("pooling-first-shared-dy", ("= dy\n", "= dy[0]\n"),
            ("batch", "sentence", "sequence", "sample", "broadcast", "first", "upstream", "dy")),
    Mistake("pooling-first-forward-mean", POOL + "FirstToken.forward", lambda self, x, real: (x.mean(axis=1), FirstCache(x.shape)),
            "first-token", (("mean", "first", "position", "average", "other", "forward"),), in_model="classifier-first-token"),
    makers.transformer("model-encoder-not-reached", ("dx = self.encoder", "return\n    dx = self.encoder"),
            ("encoder", "memory", "source"), MISSING),
    makers.transformer("model-source-embedding-forgotten", ("self.source_input.backward(dx, cache.encode.input)", "pass"),
            ("embedding", "source", "input"), MISSING,
            comment="The source's embedding gets no gradient (its weight is shared with the target's)."),
    makers.transformer("model-target-embedding-forgotten", ("self.target_input.backward(dx, cache.decode.input)", "pass"),
            ("embedding", "target", "input"), MISSING,
            comment="The target's embedding gets no gradient (its weight is shared with the source's)."),
    makers.transformer("model-memory-twice", ("backward(dmemory", "backward(2 * dmemory"), ("encoder", "memory", "source"),
            ("twice", "doubl", "2 times", "times 2", "2x", "factor")),
    makers.transformer("model-encoder-backward-twice",
            ("dx = self.encoder", "self.encoder.backward(dmemory, cache.encode.encoder); dx = self.encoder"), ("encoder",),
            ("twice", "doubl", "2 times", "times 2", "2x", "factor")),
    makers.transformer("model-encoder-skipped", ("self.encoder.backward(dmemory, cache.encode.encoder)", "dmemory"), ("encoder",),
            MISSING),
    makers.transformer("model-memory-normalised",
            ("backward(dmemory", "backward(dmemory / np.sqrt(1 + (dmemory * dmemory).sum(axis=-1, keepdims=True))"),
            (*UNKNOWN, "encoder", "memory", "source")),
    makers.language_model("model-language-input-forgotten", ("self.input.backward(dx, cache.input)", "pass"),
            ("embedding", "input", "weight"), MISSING,
            comment="The input's backward is never called: the tied weight has the output projection's part only."),
    makers.language_model("model-language-stack-bypassed", ("self.input.backward(dx", "self.input.backward(dy"),
            ("embedding", "input", "stack", "dy", "weight")),
    makers.classifier("model-classifier-over-batch", ("backward(dlogits", "backward(dlogits / len(dlogits)"),
            ("average", "mean", "half", "divid", "factor", "0.5", "1/2", "batch"),
            comment="dlogits is divided by the batch size, which is the loss's affair."),
    makers.classifier("model-classifier-encoder-frozen", ("dx = self.encoder", "return\n    dx = self.encoder"),
            ("encoder", "pooling", "embedding", "input"), MISSING),
]
