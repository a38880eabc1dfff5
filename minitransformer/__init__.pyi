"""What editors and type checkers see of the package: its names are imported when they are first used (__init__.py)."""

from minitransformer import (
    benchmarks as benchmarks,
    checking as checking,
    cli as cli,
    data as data,
    decoding as decoding,
    diagnosis as diagnosis,
    explore as explore,
    functional as functional,
    interchange as interchange,
    kernels as kernels,
    layers as layers,
    learn as learn,
    models as models,
    parsing as parsing,
    pictures as pictures,
    rivals as rivals,
    successors as successors,
    tasks as tasks,
    training as training,
    workers as workers,
)
from minitransformer.checking import check_contract as check_contract
from minitransformer.checking import gradcheck as gradcheck
from minitransformer.data.batches import Batch as Batch
from minitransformer.data.batches import make_batch as make_batch
from minitransformer.decoding import Ensemble as Ensemble
from minitransformer.decoding import Hypothesis as Hypothesis
from minitransformer.decoding import Search as Search
from minitransformer.decoding import beam_search as beam_search
from minitransformer.decoding import generate as generate
from minitransformer.decoding import greedy as greedy
from minitransformer.decoding import sample as sample
from minitransformer.decoding import translate as translate
from minitransformer.errors import InputError as InputError
from minitransformer.errors import NonFiniteError as NonFiniteError
from minitransformer.functional import cross_entropy_backward as cross_entropy_backward
from minitransformer.functional import cross_entropy_forward as cross_entropy_forward
from minitransformer.functional.special import PAD as PAD
from minitransformer.interchange.weights import load_weights as load_weights
from minitransformer.interchange.weights import save_weights as save_weights
from minitransformer.layers import Layer as Layer
from minitransformer.layers.parameter import Parameter as Parameter
from minitransformer.models import Classifier as Classifier
from minitransformer.models import ClassifierConfig as ClassifierConfig
from minitransformer.models import LanguageModel as LanguageModel
from minitransformer.models import LanguageModelConfig as LanguageModelConfig
from minitransformer.models import Transformer as Transformer
from minitransformer.models import TransformerConfig as TransformerConfig
from minitransformer.replaceable import plugged as plugged
from minitransformer.replaceable import replaces as replaces
from minitransformer.zoo.baselines import ConvolutionalConfig as ConvolutionalConfig
from minitransformer.zoo.baselines import ConvolutionalModel as ConvolutionalModel
from minitransformer.zoo.baselines import GRUModel as GRUModel
from minitransformer.zoo.baselines import LSTMAttentionModel as LSTMAttentionModel
from minitransformer.zoo.baselines import LSTMDotAttentionModel as LSTMDotAttentionModel
from minitransformer.zoo.baselines import LSTMModel as LSTMModel
from minitransformer.zoo.baselines import RNNModel as RNNModel
from minitransformer.zoo.baselines import RecurrentConfig as RecurrentConfig
from minitransformer.training.config import TrainingConfig as TrainingConfig
from minitransformer.training.optim import Adam as Adam
from minitransformer.training.optim import schedule as schedule
from minitransformer.training.run import Run as Run
from minitransformer.training.step import training_step as training_step
from minitransformer.training.trainer import train as train
from minitransformer.workers.host import fast as fast
from minitransformer.workers.threads import Threads as Threads

__version__: str
__all__: list[str]
