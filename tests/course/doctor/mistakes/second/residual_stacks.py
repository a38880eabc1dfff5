"""Mistakes in residuals, encoder and decoder layers, stacks, pooling and whole models."""

from functools import reduce

import numpy as np

from minitransformer.functional import dropout_backward
from minitransformer.layers.pooling import FirstCache
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.makers import edited
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.held_out import activations_positions as held_out_positions
from tests.course.doctor.mistakes.held_out import stacks as held_out
from tests.course.doctor.mistakes.held_out import dropout_residual as held_out_residual
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import decoder, encoder, encoder_layer, leave, leave_forward, through, transformer, unchanged
from tests.course.doctor.mistakes.seen import dropout_residual as seen_residual
from tests.course.doctor.mistakes.seen import activations_positions as seen_positions
from tests.course.doctor.mistakes.seen import stacks as seen
from tests.course.doctor.mistakes.words import LEFT_OUT, UNKNOWN

LAYERS, MODELS = "minitransformer.layers.", "minitransformer.models."
RESIDUAL = LAYERS + "residual:Residual."
MISSING = (*LEFT_OUT, "does not", "not multiplied", "only", "ignor")

residual_two_dropout_and_shortcut = leave(lambda dz, dh: 2 * dz, drop=unchanged)
residual_blend = encoder_layer(lambda dx, dh: dx + dh + 0.1 * dx * dh)
residual_forward_scaled = leave_forward(lambda x, h: (x + h) * 0.5 ** 0.5)


def residual_dropout_at_the_end(self, dy, cache):
    dx, _ = self.feed_forward_residual.backward(dy, cache.feed_forward_residual)
    dh = self.feed_forward.backward(dx, cache.feed_forward)
    dh = dropout_backward(dh, cache.feed_forward_residual.dropout)
    dx = dx + self.feed_forward_residual.enter_backward(dh, cache.feed_forward_entered)
    return through(self, "self_attention", dx, cache)


def residual_forward_stale_norm(self, x, h, rng=None):
    y, cache = leave_forward()(self, x, h, rng)
    return y, cache if self.pre_norm else cache._replace(norm=self.norm.forward(x)[1])


# ---- layers and stacks

def encoder_layer_adds_both(self, dy, cache):
    dx = through(self, "feed_forward", dy, cache)
    return dx + through(self, "self_attention", dx, cache)


def decoder_layer_memory_wrong_order(self, dy, cache):
    dx, dmemory = through(self, "cross_attention", dy, cache)
    dx = through(self, "feed_forward", dx, cache)
    return through(self, "self_attention", dx, cache), dmemory


def decoder_two_memory_and_norm(self, dy, cache):
    for layer, layer_cache in right.last_first(self.layers, cache.layers):
        dy, dmemory = layer.backward(dy, layer_cache)
    return dy, dmemory


encoder_damped = encoder(step=lambda dx, dy: np.tanh(dx))
decoder_memory_last_twice = decoder(lambda memories: sum(memories) + memories[-1])
decoder_memory_mixture = decoder(lambda memories: reduce(lambda so_far, dmemory: 0.7 * so_far + dmemory, memories))

# ---- pooling

mean_over_all_positions = lambda self, dy, cache: np.repeat(dy[:, None, :], cache.share.shape[1], axis=1) / cache.share.shape[1]
mean_share_of_first_sentence = lambda self, dy, cache: dy[:, None, :] * cache.share[:1]
mean_sharp = lambda self, dy, cache: dy[:, None, :] * cache.share ** 1.5


# ---- models

model_memory_twice = transformer(lambda dmemory, _: 2 * dmemory)
model_encoder_called_twice = transformer(encode=lambda encoder, d, cache: [encoder.backward(d, cache) for _ in range(2)][1])
model_memory_detach_norm = transformer(lambda dmemory, _: dmemory / np.sqrt(1 + right.total(dmemory * dmemory)))


NORM = ("norm",)
SHORT = ("residual", "shortcut", "skip", "direct", "identity", "dy", "sum", "path")
DROPOUT = ("dropout", "dropped", "mask", "kept")
ENC, DEC = LAYERS + "encoder:", LAYERS + "decoder:"
POOL = LAYERS + "pooling:"

MISTAKES = [
    makers.residual("residual-shortcut-dropped-too", seen_residual.dropout_on_shortcut, DROPOUT + SHORT),
    makers.residual("residual-no-dropout", seen_residual.dropout_forgotten, DROPOUT),
    makers.residual("residual-shortcut-around-norm", seen_residual.shortcut_around_norm, SHORT + NORM),
    makers.encoder_layer_pre_norm("residual-norm-of-the-sum", seen_residual.pre_norm_of_sum, SHORT + NORM),
    makers.encoder_layer_pre_norm("residual-pre-norm-no-norm", held_out_residual.pre_norm_skipped, (*NORM, "gamma"),
            comment="Pre-norm: LayerNorm's backward is left out (right for post-norm)."),
    makers.residual("residual-post-norm-no-norm", held_out_residual.norm_skipped, (*NORM, "gamma"),
            comment="Post-norm: LayerNorm's backward is left out (right for pre-norm)."),
    makers.encoder_layer("residual-shortcut-twice", seen_residual.shortcut_twice, SHORT, ("twice", "doubl", "extra", "too often", "2 times", "times 2", "2x", "again")),
    makers.encoder_layer("residual-averaged", held_out_residual.averaged, ("average", "mean", "half", "divid", "factor", "0.5", "1/2")),
    makers.encoder_layer("residual-minus", seen_residual.subtracted, ("sign", "minus", "subtract", "negat", "-1", "opposite")),
    makers.encoder_layer("residual-sublayer-cut", seen_residual.sublayer_lost, ("sub-layer", "sublayer", "branch", "shortcut", "path", "residual", "feed"), MISSING),
    makers.encoder_layer("residual-dropout-at-the-end", residual_dropout_at_the_end, DROPOUT),
    makers.decoder_layer("residual-no-gradient-for-memory", held_out_residual.others_zero, ("memory",), MISSING),
    makers.residual("residual-two-dropout-and-shortcut", residual_two_dropout_and_shortcut, DROPOUT + SHORT + ("twice", "doubl")),
    makers.encoder_layer("residual-blend", residual_blend, (*UNKNOWN, "residual", "dx", "input")),
    edited("residual-forward-shortcut-from-norm", ENC + "EncoderLayer.forward", "enter(x)\n", "enter(x)\n    x = h\n",
            "encoder-layer-pre-norm", SHORT + NORM, in_model="transformer-pre-norm"),
    makers.residual_forward("residual-forward-scaled", residual_forward_scaled, ("factor", "scale", "sqrt", "0.707", "1.41", "times", "constant")),
    makers.residual_forward("residual-stale-norm-cache", residual_forward_stale_norm, (*NORM, "cache", "stale")),
    makers.encoder_layer("encoder-layer-wrong-order", held_out.encoder_order, ("order", "revers", "before", "attention", "feed")),
    makers.encoder_layer("encoder-layer-stale-dy", ("self_attention_residual.backward(dx", "self_attention_residual.backward(dy"),
            ("feed", "dy", "attention", "skipped", "chain", "wrong gradient")),
    makers.encoder_layer("encoder-layer-adds-both", encoder_layer_adds_both, (*SHORT, "twice", "added", "feed", "extra")),
    makers.encoder("encoder-not-reversed", seen.encoder_layers_forwards, ("order", "revers", "first", "last", "layers")),
    makers.encoder("encoder-caches-not-reversed", held_out.encoder_caches_forwards, ("cache", "order", "revers", "layers")),
    makers.encoder("encoder-first-layer-left-out", held_out.encoder_first_layer_skipped, ("layer", "layers.0", "first"), MISSING),
    makers.encoder("encoder-every-layer-gets-dy",
            ("dy = layer.backward(dy, layer_cache)\n    return dy", "dx = layer.backward(dy, layer_cache)\n    return dx"),
            ("layer", "dy", "chain", "order")),
    makers.encoder("encoder-no-final-norm", seen.encoder_norm_forgotten, NORM, block="transformer-pre-norm", in_model="transformer-pre-norm",
            comment="Pre-norm: the final LayerNorm's backward is left out (post-norm has none)."),
    makers.encoder("encoder-adds-a-shortcut", seen.encoder_summed, (*SHORT, "layer", "twice", "extra"),
            comment="dy is added to what each layer returns, although the residuals inside have done so."),
    makers.encoder("encoder-tanh-between-layers", encoder_damped, (*UNKNOWN, "encoder", "layer", "dx", "input", "tanh")),
    makers.decoder_layer("decoder-layer-wrong-order", decoder_layer_memory_wrong_order, ("order", "revers", "before", "cross", "attention", "feed")),
    makers.decoder_layer("decoder-layer-no-self-attention", held_out.decoder_self_attention_skipped, ("self-attention", "self_attention", "self attention"), MISSING),
    makers.decoder_layer("decoder-layer-stale-dx", seen.decoder_around_cross, ("cross", "dx", "self", "skipped", "wrong gradient")),
    makers.decoder("decoder-memory-overwritten", seen.memory_of_first_layer, ("memory",), (*MISSING, "first", "last", "overwrit", "sum", "add", "some of", "layer", "one"),
            comment="The memory's gradient is assigned in each round: only the first layer's (the last visited) remains."),
    makers.decoder("decoder-memory-last-layer", held_out.memory_of_last_layer, ("memory",), (*MISSING, "first", "last", "sum", "add", "some of", "layer", "one")),
    makers.decoder("decoder-memory-averaged", seen.memory_averaged, ("memory",), ("average", "mean", "half", "divid", "factor", "0.5", "1/2")),
    makers.decoder("decoder-memory-first-twice", decoder_memory_last_twice, ("memory",), ("twice", "doubl", "again", "2 times", "times 2", "2x", "layer", "extra", "too often")),
    makers.decoder("decoder-two-memory-and-norm", decoder_two_memory_and_norm, ("memory", "norm", "cross", "encoder"), block="transformer-pre-norm", in_model="transformer-pre-norm"),
    makers.decoder("decoder-memory-mixture", decoder_memory_mixture, (*UNKNOWN, "memory")),
    makers.mean_over_tokens("pooling-mean-over-all", mean_over_all_positions, ("padding", "mask", "real", "count", "number of", "divid", "1/t", "position")),
    makers.mean_over_tokens("pooling-mean-not-divided", seen_positions.pooling_undivided, ("divid", "count", "number of", "mean", "factor", "share")),
    makers.mean_over_tokens("pooling-mean-share-squared", held_out_positions.pooling_share_twice, ("twice", "square", "divid", "count", "share", "factor")),
    makers.mean_over_tokens("pooling-mean-count-of-batch",
            ("* cache.share", "* (cache.share > 0) / (cache.share > 0).sum().astype(dy.dtype)"),
            ("batch", "count", "divid", "number of", "factor", "share", "constant")),
    makers.mean_over_tokens("pooling-mean-first-sentences-share", mean_share_of_first_sentence, ("first", "batch", "padding", "count", "share", "broadcast", "sentence", "mask")),
    makers.mean_forward("pooling-forward-padding-too", ("(x * share).sum(axis=1)", "x.mean(axis=1)"),
            ("padding", "mask", "real", "count", "number of", "divid", "position", "share")),
    makers.mean_forward("pooling-forward-root-of-count",
            ("x * share).sum(axis=1)", "x * real[:, :, None]).sum(axis=1) / xp.sqrt(count).astype(x.real.dtype)"),
            ("root", "sqrt", "count", "factor", "divid", "number of", "scale", "share")),
    makers.mean_over_tokens("pooling-mean-odd-power", mean_sharp, (*UNKNOWN, "dx", "input", "share", "factor", "constant")),
    makers.first_token("pooling-first-gets-last", ("[:, 0]", "[:, -1]"), ("last", "first", "position", "place")),
    makers.first_token("pooling-first-everywhere", held_out_positions.first_everywhere, ("every", "all", "other", "broadcast", "first", "position")),
    makers.first_token("pooling-first-two-positions", ("dx[:, 0] = dy", "dx[:, :2] = dy[:, None]"),
            ("second", "slice", "off by one", "first", "position", "two")),
    makers.first_token("pooling-first-shared-dy", ("= dy\n", "= dy[0]\n"),
            ("batch", "sentence", "sequence", "sample", "broadcast", "first", "upstream", "dy")),
    Mistake("pooling-first-forward-mean", POOL + "FirstToken.forward", lambda self, x, real: (x.mean(axis=1), FirstCache(x.shape)),
            "first-token", (("mean", "first", "position", "average", "other", "forward"),), in_model="classifier-first-token"),
    makers.transformer("model-encoder-not-reached", held_out.model_without_encoder, ("encoder", "memory", "source"), MISSING),
    makers.transformer("model-source-embedding-forgotten", seen.model_without_source_input, ("embedding", "source", "input"), MISSING,
            comment="The source's embedding gets no gradient (its weight is shared with the target's)."),
    makers.transformer("model-target-embedding-forgotten", seen.model_without_target_input, ("embedding", "target", "input"), MISSING,
            comment="The target's embedding gets no gradient (its weight is shared with the source's)."),
    makers.transformer("model-memory-twice", model_memory_twice, ("encoder", "memory", "source"), ("twice", "doubl", "2 times", "times 2", "2x", "factor")),
    makers.transformer("model-encoder-backward-twice", model_encoder_called_twice, ("encoder",), ("twice", "doubl", "2 times", "times 2", "2x", "factor")),
    makers.transformer("model-encoder-skipped", transformer(encode=lambda encoder, dmemory, cache: dmemory), ("encoder",), MISSING),
    makers.transformer("model-memory-normalised", model_memory_detach_norm, (*UNKNOWN, "encoder", "memory", "source")),
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
