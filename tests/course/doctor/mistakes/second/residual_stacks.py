"""Mistakes in residuals, encoder and decoder layers, stacks, pooling and whole models."""

from functools import reduce

import numpy as np

from minitransformer.functional import dropout_backward
from minitransformer.layers.encoder import EncoderLayerCache
from minitransformer.layers.pooling import FirstCache, MeanCache
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


def residual_forward_shortcut_from_norm(self, x, mask=None, rng=None):
    def sublayer(name, x, *others):
        x, entered = getattr(self, f"{name}_residual").enter(x)
        h, inside = getattr(self, name).forward(x, *others, rng=rng)
        y, left = getattr(self, f"{name}_residual").forward(x, h, rng)
        return y, (entered, inside, left)

    x, attended = sublayer("self_attention", x, mask)
    y, fed = sublayer("feed_forward", x)
    return y, EncoderLayerCache(*attended, *fed)


def residual_forward_stale_norm(self, x, h, rng=None):
    y, cache = leave_forward()(self, x, h, rng)
    return y, cache if self.pre_norm else cache._replace(norm=self.norm.forward(x)[1])


# ---- layers and stacks

def encoder_layer_stale_dy(self, dy, cache):
    through(self, "feed_forward", dy, cache)
    return through(self, "self_attention", dy, cache)


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
first_forward_mean = lambda self, x, real: (x.mean(axis=1), FirstCache(x.shape))


def mean_count_of_the_batch(self, dy, cache):
    real = cache.share > 0
    return dy[:, None, :] * real / real.sum().astype(dy.dtype)


def mean_forward_padding_too(self, x, real):
    share = (real / np.maximum(real.sum(axis=1, keepdims=True), 1)).astype(x.real.dtype)[:, :, None]
    return x.mean(axis=1), MeanCache(share, x.shape[2])


def mean_forward_root_of_count(self, x, real):
    count = np.maximum(real.sum(axis=1, keepdims=True), 1)
    share = (real / count).astype(x.real.dtype)[:, :, None]
    return (x * real[:, :, None]).sum(axis=1) / np.sqrt(count).astype(x.real.dtype), MeanCache(share, x.shape[2])


def first_second_too(self, dy, cache):
    dx = np.zeros(cache.shape, dy.dtype)
    dx[:, :2] = dy[:, None]
    return dx


def first_shared_dy(self, dy, cache):
    dx = np.zeros(cache.shape, dy.dtype)
    dx[:, 0] = dy[0]
    return dx


# ---- models

model_memory_twice = transformer(lambda dmemory, _: 2 * dmemory)
model_encoder_called_twice = transformer(encode=lambda encoder, d, cache: [encoder.backward(d, cache) for _ in range(2)][1])
model_encoder_skipped = transformer(encode=lambda encoder, dmemory, cache: dmemory)
model_memory_detach_norm = transformer(lambda dmemory, _: dmemory / np.sqrt(1 + right.total(dmemory * dmemory)))


def classifier_softmax_free(self, dlogits, cache):
    dx = self.output.backward(dlogits / len(dlogits), cache.output)
    dx = self.pooling.backward(dx, cache.pooling)
    dx = self.encoder.backward(dx, cache.encoder)
    self.input.backward(dx, cache.input)


def classifier_encoder_frozen(self, dlogits, cache):
    dx = self.output.backward(dlogits, cache.output)
    self.pooling.backward(dx, cache.pooling)


NORM = ("norm",)
SHORT = ("residual", "shortcut", "skip", "direct", "identity", "dy", "sum", "path")
DROPOUT = ("dropout", "dropped", "mask", "kept")
ENC, DEC = LAYERS + "encoder:", LAYERS + "decoder:"
POOL = LAYERS + "pooling:"

MISTAKES = [
    Mistake("residual-shortcut-dropped-too", RESIDUAL + "backward", seen_residual.dropout_on_shortcut, "residual", (DROPOUT + SHORT,),
            comment="Dropout's backward is applied to the shortcut's part as well."),
    Mistake("residual-no-dropout", RESIDUAL + "backward", seen_residual.dropout_forgotten, "residual", (DROPOUT,),
            comment="Dropout's backward is left out."),
    Mistake("residual-shortcut-around-norm", RESIDUAL + "backward", seen_residual.shortcut_around_norm, "residual", (SHORT + NORM,),
            comment="Post-norm: the shortcut's part is the dy from before the LayerNorm's backward."),
    Mistake("residual-norm-of-the-sum", ENC + "EncoderLayer.backward", seen_residual.pre_norm_of_sum, "encoder-layer-pre-norm", (SHORT + NORM,), in_model="transformer-pre-norm",
            comment="Pre-norm: LayerNorm's backward is applied to the sum of both paths, not to the sub-layer's only."),
    Mistake("residual-pre-norm-no-norm", ENC + "EncoderLayer.backward", held_out_residual.pre_norm_skipped, "encoder-layer-pre-norm", ((*NORM, "gamma"),), in_model="transformer-pre-norm",
            comment="Pre-norm: LayerNorm's backward is left out (right for post-norm)."),
    Mistake("residual-post-norm-no-norm", RESIDUAL + "backward", held_out_residual.norm_skipped, "residual", ((*NORM, "gamma"),),
            comment="Post-norm: LayerNorm's backward is left out (right for pre-norm)."),
    Mistake("residual-shortcut-twice", ENC + "EncoderLayer.backward", seen_residual.shortcut_twice, "encoder-layer", (SHORT, ("twice", "doubl", "extra", "too often", "2 times", "times 2", "2x", "again")),
            comment="The shortcut's part is added twice."),
    Mistake("residual-averaged", ENC + "EncoderLayer.backward", held_out_residual.averaged, "encoder-layer", (("average", "mean", "half", "divid", "factor", "0.5", "1/2"),),
            comment="The two paths' gradients are averaged instead of added."),
    Mistake("residual-minus", ENC + "EncoderLayer.backward", seen_residual.subtracted, "encoder-layer", (("sign", "minus", "subtract", "negat", "-1", "opposite"),),
            comment="The sub-layer's part is subtracted from dx."),
    Mistake("residual-sublayer-cut", ENC + "EncoderLayer.backward", seen_residual.sublayer_lost, "encoder-layer", (("sub-layer", "sublayer", "branch", "shortcut", "path", "residual", "feed"), MISSING),
            comment="dx is the shortcut's part alone; the sub-layer's parameters get their gradients, its input does not."),
    Mistake("residual-dropout-at-the-end", ENC + "EncoderLayer.backward", residual_dropout_at_the_end, "encoder-layer", (DROPOUT,),
            comment="Dropout's backward comes after the sub-layer's instead of before."),
    Mistake("residual-no-gradient-for-memory", DEC + "DecoderLayer.backward", held_out_residual.others_zero, "decoder-layer", (("memory",), MISSING),
            comment="What else the sub-layer takes (the memory) gets a gradient of zeros."),
    Mistake("residual-two-dropout-and-shortcut", RESIDUAL + "backward", residual_two_dropout_and_shortcut, "residual", (DROPOUT + SHORT + ("twice", "doubl"),),
            comment="Two mistakes: no dropout backward, and the shortcut's part twice."),
    Mistake("residual-blend", ENC + "EncoderLayer.backward", residual_blend, "encoder-layer", ((*UNKNOWN, "residual", "dx", "input"),),
            comment="0.1 dy dh is added to dx: arbitrary."),
    Mistake("residual-forward-shortcut-from-norm", ENC + "EncoderLayer.forward", residual_forward_shortcut_from_norm, "encoder-layer-pre-norm", (SHORT + NORM,), in_model="transformer-pre-norm",
            comment="Pre-norm: forward's shortcut starts behind the LayerNorm; the given backward's before it."),
    Mistake("residual-forward-scaled", RESIDUAL + "forward", residual_forward_scaled, "residual", (("factor", "scale", "sqrt", "0.707", "1.41", "times", "constant"),),
            comment="forward multiplies the sum by sqrt(1/2); the given backward does not."),
    Mistake("residual-stale-norm-cache", RESIDUAL + "forward", residual_forward_stale_norm, "residual", ((*NORM, "cache", "stale"),),
            comment="Post-norm: the LayerNorm's cache that is kept is from a call on x, not on the sum."),
    Mistake("encoder-layer-wrong-order", ENC + "EncoderLayer.backward", held_out.encoder_order, "encoder-layer", (("order", "revers", "before", "attention", "feed"),),
            comment="backward goes through self-attention first, then through the feed-forward network: in forward's order."),
    Mistake("encoder-layer-stale-dy", ENC + "EncoderLayer.backward", encoder_layer_stale_dy, "encoder-layer", (("feed", "dy", "attention", "skipped", "chain", "wrong gradient"),),
            comment="Self-attention's backward is given dy instead of what the feed-forward residual returned."),
    Mistake("encoder-layer-adds-both", ENC + "EncoderLayer.backward", encoder_layer_adds_both, "encoder-layer", ((*SHORT, "twice", "added", "feed", "extra"),),
            comment="The gradient between the sub-layers is added to dx once more (a shortcut counted twice)."),
    Mistake("encoder-not-reversed", ENC + "Encoder.backward", seen.encoder_layers_forwards, "encoder", (("order", "revers", "first", "last", "layers"),),
            comment="The layers are gone through in forward's order."),
    Mistake("encoder-caches-not-reversed", ENC + "Encoder.backward", held_out.encoder_caches_forwards, "encoder", (("cache", "order", "revers", "layers"),),
            comment="The layers are reversed, their caches are not: each layer gets another one's cache."),
    Mistake("encoder-first-layer-left-out", ENC + "Encoder.backward", held_out.encoder_first_layer_skipped, "encoder", (("layer", "layers.0", "first"), MISSING),
            comment="range(n - 1, 0, -1) never reaches layer 0 (off by one)."),
    Mistake("encoder-every-layer-gets-dy", ENC + "Encoder.backward", held_out.encoder_same_dy, "encoder", (("layer", "dy", "chain", "order"),),
            comment="Each layer's backward is given the top's dy, not what the layer above returned."),
    Mistake("encoder-no-final-norm", ENC + "Encoder.backward", seen.encoder_norm_forgotten, "transformer-pre-norm", (NORM,), in_model="transformer-pre-norm",
            comment="Pre-norm: the final LayerNorm's backward is left out (post-norm has none)."),
    Mistake("encoder-adds-a-shortcut", ENC + "Encoder.backward", seen.encoder_summed, "encoder", ((*SHORT, "layer", "twice", "extra"),),
            comment="dy is added to what each layer returns, although the residuals inside have done so."),
    Mistake("encoder-tanh-between-layers", ENC + "Encoder.backward", encoder_damped, "encoder", ((*UNKNOWN, "encoder", "layer", "dx", "input", "tanh"),),
            comment="A tanh is applied to the gradient between layers: arbitrary."),
    Mistake("decoder-layer-wrong-order", DEC + "DecoderLayer.backward", decoder_layer_memory_wrong_order, "decoder-layer", (("order", "revers", "before", "cross", "attention", "feed"),),
            comment="Cross-attention's backward comes before the feed-forward network's."),
    Mistake("decoder-layer-no-self-attention", DEC + "DecoderLayer.backward", held_out.decoder_self_attention_skipped, "decoder-layer", (("self-attention", "self_attention", "self attention"), MISSING),
            comment="The self-attention residual's backward is never called."),
    Mistake("decoder-layer-stale-dx", DEC + "DecoderLayer.backward", seen.decoder_around_cross, "decoder-layer", (("cross", "dx", "self", "skipped", "wrong gradient"),),
            comment="Self-attention's backward is given the gradient from above the cross-attention: its dx is thrown away."),
    Mistake("decoder-memory-overwritten", DEC + "Decoder.backward", seen.memory_of_first_layer, "decoder", (("memory",), (*MISSING, "first", "last", "overwrit", "sum", "add", "some of", "layer", "one")),
            comment="The memory's gradient is assigned in each round: only the first layer's (the last visited) remains."),
    Mistake("decoder-memory-last-layer", DEC + "Decoder.backward", held_out.memory_of_last_layer, "decoder", (("memory",), (*MISSING, "first", "last", "sum", "add", "some of", "layer", "one")),
            comment="The memory's gradient is the last layer's alone."),
    Mistake("decoder-memory-averaged", DEC + "Decoder.backward", seen.memory_averaged, "decoder", (("memory",), ("average", "mean", "half", "divid", "factor", "0.5", "1/2")),
            comment="The memory's gradient is the mean over the layers instead of the sum."),
    Mistake("decoder-memory-first-twice", DEC + "Decoder.backward", decoder_memory_last_twice, "decoder", (("memory",), ("twice", "doubl", "again", "2 times", "times 2", "2x", "layer", "extra", "too often")),
            comment="The first layer's part is added to the memory's gradient twice."),
    Mistake("decoder-two-memory-and-norm", DEC + "Decoder.backward", decoder_two_memory_and_norm, "transformer-pre-norm", (("memory", "norm", "cross", "encoder"),), in_model="transformer-pre-norm",
            comment="Two mistakes: the memory's gradient is overwritten, and the final LayerNorm's backward left out."),
    Mistake("decoder-memory-mixture", DEC + "Decoder.backward", decoder_memory_mixture, "decoder", ((*UNKNOWN, "memory"),),
            comment="The memory's gradient is a running mixture, 0.7 of what was there plus the new: arbitrary."),
    Mistake("pooling-mean-over-all", POOL + "MeanOverTokens.backward", mean_over_all_positions, "mean-over-tokens", (("padding", "mask", "real", "count", "number of", "divid", "1/t", "position"),), in_model="classifier",
            comment="dy / T goes to every position, padding included."),
    Mistake("pooling-mean-not-divided", POOL + "MeanOverTokens.backward", seen_positions.pooling_undivided, "mean-over-tokens", (("divid", "count", "number of", "mean", "factor", "share"),), in_model="classifier",
            comment="dy goes to every real position without division by their number."),
    Mistake("pooling-mean-share-squared", POOL + "MeanOverTokens.backward", held_out_positions.pooling_share_twice, "mean-over-tokens", (("twice", "square", "divid", "count", "share", "factor"),), in_model="classifier",
            comment="The share 1 / count is multiplied in twice."),
    Mistake("pooling-mean-count-of-batch", POOL + "MeanOverTokens.backward", mean_count_of_the_batch, "mean-over-tokens", (("batch", "count", "divid", "number of", "factor", "share", "constant"),), in_model="classifier",
            comment="The division is by the number of real positions of the whole batch."),
    Mistake("pooling-mean-first-sentences-share", POOL + "MeanOverTokens.backward", mean_share_of_first_sentence, "mean-over-tokens", (("first", "batch", "padding", "count", "share", "broadcast", "sentence", "mask"),), in_model="classifier",
            comment="The first sentence's shares are broadcast to all sentences."),
    Mistake("pooling-forward-padding-too", POOL + "MeanOverTokens.forward", mean_forward_padding_too, "mean-over-tokens", (("padding", "mask", "real", "count", "number of", "divid", "position", "share"),), in_model="classifier",
            comment="forward's mean counts padding; the given backward's shares do not."),
    Mistake("pooling-forward-root-of-count", POOL + "MeanOverTokens.forward", mean_forward_root_of_count, "mean-over-tokens", (("root", "sqrt", "count", "factor", "divid", "number of", "scale", "share"),), in_model="classifier",
            comment="forward divides the sum by the square root of the count; the given backward by the count."),
    Mistake("pooling-mean-odd-power", POOL + "MeanOverTokens.backward", mean_sharp, "mean-over-tokens", ((*UNKNOWN, "dx", "input", "share", "factor", "constant"),), in_model="classifier",
            comment="The share enters with the power 1.5: arbitrary."),
    Mistake("pooling-first-gets-last", POOL + "FirstToken.backward", seen_positions.first_becomes_last, "first-token", (("last", "first", "position", "place"),), in_model="classifier-first-token",
            comment="dy is put at the last position instead of the first."),
    Mistake("pooling-first-everywhere", POOL + "FirstToken.backward", held_out_positions.first_everywhere, "first-token", (("every", "all", "other", "broadcast", "first", "position"),), in_model="classifier-first-token",
            comment="dy goes to every position instead of the first alone."),
    Mistake("pooling-first-two-positions", POOL + "FirstToken.backward", first_second_too, "first-token", (("second", "slice", "off by one", "first", "position", "two"),), in_model="classifier-first-token",
            comment="A slice [:, :2] sends dy to the first two positions."),
    Mistake("pooling-first-shared-dy", POOL + "FirstToken.backward", first_shared_dy, "first-token", (("batch", "sentence", "sequence", "sample", "broadcast", "first", "upstream", "dy"),), in_model="classifier-first-token",
            comment="The first sentence's dy is broadcast to all sentences."),
    Mistake("pooling-first-forward-mean", POOL + "FirstToken.forward", first_forward_mean, "first-token", (("mean", "first", "position", "average", "other", "forward"),), in_model="classifier-first-token",
            comment="forward takes the mean over positions; the given backward is for the first."),
    Mistake("model-encoder-not-reached", MODELS + "transformer:Transformer.hidden_backward", held_out.model_without_encoder, "transformer", (("encoder", "memory", "source"), MISSING),
            comment="The memory's gradient is thrown away: encoder and source get none."),
    Mistake("model-source-embedding-forgotten", MODELS + "transformer:Transformer.hidden_backward", seen.model_without_source_input, "transformer", (("embedding", "source", "input"), MISSING),
            comment="The source's embedding gets no gradient (its weight is shared with the target's)."),
    Mistake("model-target-embedding-forgotten", MODELS + "transformer:Transformer.hidden_backward", seen.model_without_target_input, "transformer", (("embedding", "target", "input"), MISSING),
            comment="The target's embedding gets no gradient (its weight is shared with the source's)."),
    Mistake("model-memory-twice", MODELS + "transformer:Transformer.hidden_backward", model_memory_twice, "transformer", (("encoder", "memory", "source"), ("twice", "doubl", "2 times", "times 2", "2x", "factor")),
            comment="The memory's gradient is doubled before it enters the encoder."),
    Mistake("model-encoder-backward-twice", MODELS + "transformer:Transformer.hidden_backward", model_encoder_called_twice, "transformer", (("encoder",), ("twice", "doubl", "2 times", "times 2", "2x", "factor")),
            comment="The encoder's backward is called twice: its parameters' gradients are doubled, the source embedding's is not."),
    Mistake("model-encoder-skipped", MODELS + "transformer:Transformer.hidden_backward", model_encoder_skipped, "transformer", (("encoder",), MISSING),
            comment="The memory's gradient is handed to the source's embedding directly; the encoder's backward is never called."),
    Mistake("model-memory-normalised", MODELS + "transformer:Transformer.hidden_backward", model_memory_detach_norm, "transformer", ((*UNKNOWN, "encoder", "memory", "source"),),
            comment="The memory's gradient is divided by sqrt(1 + its squared length): arbitrary."),
    Mistake("model-language-input-forgotten", MODELS + "language_model:LanguageModel.hidden_backward", seen.language_model_without_input, "language-model", (("embedding", "input", "weight"), MISSING), in_model="language-model",
            comment="The input's backward is never called: the tied weight has the output projection's part only."),
    Mistake("model-language-stack-bypassed", MODELS + "language_model:LanguageModel.hidden_backward", held_out.language_model_input_from_dy, "language-model", (("embedding", "input", "stack", "dy", "weight"),), in_model="language-model",
            comment="The embedding is given the dy from above the stack instead of the stack's dx (the wrong variable)."),
    Mistake("model-classifier-over-batch", MODELS + "classifier:Classifier.backward", classifier_softmax_free, "classifier", (("average", "mean", "half", "divid", "factor", "0.5", "1/2", "batch"),), in_model="classifier",
            comment="dlogits is divided by the batch size, which is the loss's affair."),
    Mistake("model-classifier-encoder-frozen", MODELS + "classifier:Classifier.backward", classifier_encoder_frozen, "classifier", (("encoder", "pooling", "embedding", "input"), MISSING), in_model="classifier",
            comment="backward stops at the pooling: encoder and embedding get no gradient."),
]
