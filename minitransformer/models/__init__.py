"""Complete models: token ids in, a loss out (loss_forward, loss_backward); models that generate text also have `start`."""

from minitransformer.lookup import Table
from minitransformer.models.classifier import Classifier, ClassifierConfig
from minitransformer.models.language_model import LanguageModel, LanguageModelConfig
from minitransformer.models.model import Model
from minitransformer.models.transformer import Transformer, TransformerConfig

MODELS = Table("model", {    # by the names that run folders store
    "classifier": Classifier, "language-model": LanguageModel, "transformer": Transformer})
