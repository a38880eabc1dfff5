"""The operations that the doctor knows: it finds them by name in the package, and none may be lost
when something moves.
"""

from minitransformer.models import Transformer
from minitransformer.zoo import baselines as rivals
from minitransformer.zoo.baselines import LSTM
from minitransformer_course.diagnosis.operations import OPERATIONS, library_only

PAIRS = """
    additive_attention attention convolution cross_entropy depthwise_convolution dropout gelu
    grouped_attention gru_step layer_norm lstm_step relu
    restricted_attention rms_norm rnn_step rotary silu softmax through_time windows""".split()
LAYERS = """
    AdditiveAttention AdditiveScores AttentionalState Bidirectional Classifier Convolution CrossAttention
    Decoder DecoderLayer Embedding Encoder EncoderLayer FeedForward FirstToken GatedFeedForward
    GroupedQueryAttention Input
    LanguageModel LayerNorm LearnedPositions Linear LinearCrossEntropy MeanOverTokens MultiHeadAttention NextTokenModel
    OneDirection OutputProjection Projection RMSNorm Recurrent RecurrentModel RecurrentStack Residual RestrictedSelfAttention
    RotaryPositions SelfAttention SeparableConvolution SinusoidalPositions Transformer UnscaledEmbedding UnscaledScores""".split()


def test_no_operation_is_lost():
    assert {name for name, operation in OPERATIONS.items() if operation.is_pair} == set(PAIRS)
    assert {name for name, operation in OPERATIONS.items() if not operation.is_pair} == set(LAYERS)
    assert len(OPERATIONS) == len(PAIRS) + len(LAYERS) == 61


def test_an_operation_has_a_forward_and_a_backward():
    for operation in OPERATIONS.values():
        assert callable(operation.forward) and callable(operation.backward), operation.name
    assert (
        OPERATIONS["lstm_step"].forward is rivals.lstm_step_forward
        and OPERATIONS["lstm_step"].owner is None
    )
    assert OPERATIONS["RestrictedSelfAttention"].owner is rivals.RestrictedSelfAttention
    assert (
        "LSTM" not in OPERATIONS and not {"forward", "backward"} & vars(LSTM).keys()
    )  # both are Recurrent's


def test_the_librarys_own_methods_run_even_those_that_a_class_inherits(monkeypatch):
    right = Transformer.backward
    assert "backward" not in vars(Transformer)
    monkeypatch.setattr(Transformer, "backward", lambda self, dlogits, cache: None, raising=False)
    with library_only():
        assert Transformer.backward is right
    assert Transformer.backward is not right
