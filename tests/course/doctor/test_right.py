"""The parts from which the corpora make mistakes are right: put in the textbook's place without a mistake, all is right."""

import pytest

from tests.course.doctor.corpus import MISSED, ask
from tests.course.doctor.mistakes import makers, right
from tests.course.doctor.mistakes.mistake import Mistake

PARTS = [("Linear.backward", right.linear(), "linear"), (makers.OUTPUT + "backward", right.output(), "output-projection"),
         ("Embedding.backward", right.embedding(), "embedding"), (makers.LEARNED, right.learned(), "learned-positions"),
         ("gelu_backward", right.gelu(), "gelu"), ("dropout_backward", right.dropout(), "feed-forward"),
         ("dropout_forward", right.dropout_forward(), "feed-forward"), (makers.FF, right.feed_forward(), "feed-forward"),
         ("layer_norm_backward", right.norm(), "layer-norm"), ("layer_norm_forward", right.norm_forward(), "layer-norm"),
         ("softmax_backward", right.softmax(), "softmax"), ("softmax_forward", right.softmax_forward(), "softmax"),
         ("attention_backward", right.attention(), "attention"), ("attention_forward", right.attention_forward(), "attention"),
         ("MultiHeadAttention.backward", right.multi_head(), "multi-head-attention"),
         ("cross_entropy_backward", right.loss(), "cross-entropy"),
         ("cross_entropy_forward", right.loss_forward(), "cross-entropy"),
         ("linear_cross_entropy_backward", right.fused(), "linear-cross-entropy"),
         *((makers.RESIDUAL + "backward", right.leave(), name) for name in ("residual", "residual-pre-norm", "decoder-layer")),
         *((makers.RESIDUAL + "forward", right.leave_forward(), name) for name in ("residual", "residual-pre-norm")),
         *((makers.ENCODER_LAYER, right.encoder_layer(), name) for name in ("encoder-layer", "encoder-layer-pre-norm")),
         *((makers.DECODER_LAYER, right.decoder_layer(), name) for name in ("decoder-layer", "decoder-layer-pre-norm")),
         (makers.ENCODER, right.encoder(), "encoder"), (makers.DECODER, right.decoder(), "decoder"),
         (makers.TRANSFORMER, right.transformer(), "transformer")]


@pytest.mark.campaign
@pytest.mark.parametrize("replaces, part, block", PARTS)
def test_a_part_without_a_mistake_is_right(replaces, part, block):
    answer = ask(Mistake("none", replaces, part, block, ()), block)
    assert answer.verdict == MISSED, answer.says
