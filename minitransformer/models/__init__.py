"""Complete models: token ids in, a loss out (loss_forward, loss_backward); models that generate text also have `start`."""

from minitransformer.models.classifier import Classifier, ClassifierConfig
from minitransformer.models.language_model import LanguageModel, LanguageModelConfig
from minitransformer.models.registry import MODELS
from minitransformer.models.transformer import Transformer, TransformerConfig
