"""What is refused, and how: one line that names the argument and its value, and says what would be
right.
"""

from contextlib import nullcontext
from inspect import signature

import numpy as np
import pytest

from minitransformer import (
    Adam,
    ClassifierConfig,
    InputError,
    LanguageModelConfig,
    Parameter,
    Run,
    Threads,
    TrainingConfig,
    TransformerConfig,
    beam_search,
    cross_entropy_backward,
    cross_entropy_forward,
    functional as F,
    generate,
    gradcheck,
    greedy,
    layers as L,
    make_batch,
    sample,
    schedule,
    training_step,
    translate,
)
from minitransformer.errors import counted
from minitransformer.interchange.weights import load_weights, save_weights
from minitransformer.lookup import find
from minitransformer.layers import (
    Embedding,
    Encoder,
    FeedForward,
    Input,
    LayerNorm,
    LearnedPositions,
    Linear,
    OutputProjection,
    SelfAttention,
    SinusoidalPositions,
    StackConfig,
    initial,
)
from minitransformer.pictures.architecture import architecture
from minitransformer.speed.kernels import kernels_run
from minitransformer.tasks import TASKS
from minitransformer.zoo import baselines as R
from minitransformer.zoo.baselines import RecurrentConfig
from minitransformer.zoo.modern import rotary_forward
from minitransformer.zoo.modern.gated import silu_backward, silu_forward
from minitransformer.zoo.modern.rms_norm import rms_norm_forward
from minitransformer.data.download import download
from minitransformer.data.epochs import EpochBatches
from minitransformer.data.windows import WindowBatches
from minitransformer.data.labelled import make_labelled_batch
from minitransformer.tasks.evaluation import exact_match, mean_loss
from minitransformer.runs.settings import RunSettings
from minitransformer_course.explorer.page import batch_of, explore
from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from tests.helpers.models import KINDS, RECURRENT, V, make_batch_for, make_model

RNG = np.random.default_rng(0)
VOCABULARY = SymbolVocabulary("abcdefghij")
SOURCES, SOURCE = np.array([[4, 5, 2], [6, 2, 0]]), np.array([[4, 2]])
X = np.ones((2, 3, 4), np.float32)
LINEAR = Linear(4, 4, RNG)
CACHE = LINEAR.forward(X)[1]
MODEL, LANGUAGE = make_model("transformer"), make_model("language-model")
BATCH = make_batch([([4, 5], [6])])
LOGITS, TARGETS = np.ones((2, 3)), np.array([0, 1])
RELU = F.relu_forward, F.relu_backward
WHAT = "expected a layer, or a pair of functions \\(forward, backward\\)"
RUN = Run(
    "runs/copy",
    RunSettings.of(TASKS["copy"](), MODEL, VOCABULARY, None, "numpy"),
    MODEL,
    VOCABULARY,
)


def step_with(*given, **more):
    """A training step of the model, with these arguments after the optimizer."""
    return lambda: training_step(MODEL, Adam(MODEL), *given, **more)


def stack(**changes):
    return StackConfig.named("toy", **changes)


class Tensor:
    """What another library calls an array."""

    shape, dtype = (2, 3, 4), "torch.float32"


CALLS = [  # (a call, words of the error)
    # Layers
    (lambda: LINEAR.forward(Tensor()), "Linear: x is a .*Tensor, expected a NumPy or CuPy array"),
    (
        lambda: LINEAR.backward(Tensor(), CACHE),
        "Linear: dy is a .*Tensor, expected a NumPy or CuPy",
    ),
    (
        lambda: LINEAR.forward(LayerNorm(4).forward(X)),
        "Linear: x is a tuple, expected an array .*: forward returns a pair, y, cache = ",
    ),
    (
        lambda: LINEAR.forward(np.ones((2, 3))),
        r"^Linear: x has shape \(2, 3\), expected \(\.\.\., 4\)",
    ),
    (
        lambda: L.CrossAttention(4, 2, RNG).forward(X[..., :3], X),
        r"^CrossAttention: query has shape \(2, 3, 3\), expected \(B, T_q, 4\)",
    ),
    (
        lambda: L.MultiHeadAttention(4, 2, RNG).forward(X, X, X[:, :2]),
        r"value has shape \(2, 2, 4\), expected \(2, 3, 4\)",
    ),
    (lambda: SinusoidalPositions().forward(X[0]), "SinusoidalPositions: x has shape"),
    (lambda: LearnedPositions(9, 5, RNG).forward(X), "LearnedPositions: x has shape"),
    (lambda: LearnedPositions(2, 4, RNG).forward(X), "x has 3 positions, at most 2 were learned"),
    (lambda: SelfAttention(4, 2, RNG).forward(X, [[True]]), "mask has dtype list, expected bool"),
    (lambda: F.softmax_forward(LOGITS, LOGITS), "mask has dtype float64, expected bool"),
    (lambda: SelfAttention(4, 2, RNG, dropout=1.5).forward(X, rng=RNG), "the dropout rate is 1.5"),
    (lambda: FeedForward(4, 4, RNG, dropout=2), "the dropout rate is 2"),
    (lambda: FeedForward(4, 8, RNG, activation="swiglu"), "swiglu .* has a network of its own"),
    (lambda: FeedForward(4, 8, RNG, activation="silu"), "unknown activation 'silu'"),
    (lambda: Input(Embedding(4, 4, RNG), SinusoidalPositions(), 1.5), "the dropout rate is 1.5"),
    (lambda: F.dropout_forward(np.ones(3, complex), 0, 7), "rng is 7, expected a generator"),
    (lambda: F.dropout_mask((3,), 0.5, 7, "float32"), "rng is 7, expected a generator"),
    (lambda: SelfAttention(4, 2, RNG, d_k=0), "d_k is 0"),
    (lambda: SelfAttention("4", 2, RNG), "d_model is '4'"),
    (lambda: initial.ones(0.5), "a size of the layer is 0.5"),
    (lambda: R.SeparableConvolution(4, 4, RNG, dilation=0), "dilation is 0"),
    *(
        (
            lambda positions=positions: rotary_forward(X, np.array(positions)),
            "positions are .*, expected whole numbers of at least 0",
        )
        for positions in ([0, -1, 2], [0.0, 1.0, 2.0])
    ),
    (lambda: Encoder(StackConfig.named("toy")), "rng is None, expected a generator"),
    *(
        (
            lambda dtype=dtype: LINEAR.astype(dtype),
            "a Parameter's data is .*, expected float32, float64 or complex128",
        )
        for dtype in (np.float16, "float16", int, "complex64", np.longdouble)
    ),
    (lambda: Parameter([1.0, 2.0]), "data is a list, expected a NumPy or CuPy array"),
    (lambda: Parameter(np.arange(3)), "data is int64, expected float32, float64 or complex128"),
    *(
        (lambda use=use: use(SinusoidalPositions()), "SinusoidalPositions has no parameters")
        for use in (lambda layer: layer.xp, lambda layer: layer.flat, Adam, L.Layer.replica)
    ),
    # Losses
    (lambda: cross_entropy_forward([[1.0]], np.array([0]), padding=None), "logits is a list"),
    (lambda: cross_entropy_forward(LOGITS, [0, 1], padding=None), "targets is a builtins.list"),
    (
        lambda: cross_entropy_forward(LOGITS, TARGETS[:1], padding=None),
        r"targets has shape \(1,\), expected \(2,\)",
    ),
    *(
        (
            lambda target=target: cross_entropy_forward(
                LOGITS, np.array([1, target]), padding=None
            ),
            f"targets contains the token id {target}, expected 0 to 2",
        )
        for target in (-1, -100, 3)
    ),
    (lambda: cross_entropy_forward(LOGITS, TARGETS, 2.0, padding=None), "smoothing is 2.0"),
    (
        lambda: cross_entropy_forward(LOGITS, TARGETS, padding="0"),
        "padding is '0', expected the id of missing",
    ),
    (
        lambda: MODEL.loss.forward(np.ones((2, 12)), MODEL.output, TARGETS, padding=0.5),
        "padding is 0.5",
    ),
    (
        lambda: MODEL.loss.forward(np.ones((2, 5)), MODEL.output, TARGETS, padding=0),
        "OutputProjection: x has shape",
    ),
    # Models and their configurations
    *(
        (lambda size=size, value=value: stack(**{size: value}), f"{size} is {value}, expected a")
        for value in (10**10, 10**20)
        for size in "num_layers d_model num_heads d_ff d_k d_v max_length".split()
    ),
    (lambda: stack(num_layers=10_001), "num_layers is 10001, expected .* from 1 to 10,000"),
    (lambda: TransformerConfig.named("toy", 10**20), "source_vocab is 10{20}, expected"),
    (
        lambda: TransformerConfig.named("toy", 2),
        "source_vocab is 2, expected a whole number of at least 3",
    ),
    (
        lambda: RecurrentConfig.named("toy", 9, target_vocab=1, share_embeddings=False),
        "target_vocab is 1, expected a whole number of at least 3",
    ),
    *(
        (layer, "a size of the layer is 10{20}, expected a whole number from 1 to 2,147,483,647")
        for layer in (
            lambda: Linear(10**20, 3, RNG),
            lambda: Linear(3, 10**20, RNG),
            lambda: Embedding(10**20, 3, RNG),
            lambda: LearnedPositions(10**20, 3, RNG),
            lambda: LayerNorm(10**20),
        )
    ),
    *(
        (lambda kind=kind, config=config: type(make_model(kind))(config), words)
        for kind in KINDS
        for config, words in (
            ("toy", r"config is a str, expected a \w+Config$"),
            (None, "config is a NoneType, expected a"),
            (StackConfig.named("toy"), "config is a StackConfig, expected a"),
        )
    ),
    *(
        (
            lambda kind=kind, seed=seed: type(make_model(kind))(make_model(kind).config, seed),
            f"seed is {seed!r}, expected",
        )
        for kind in KINDS
        for seed in (-1, "x", 0.5)
    ),
    (
        lambda: MODEL.hidden(SOURCE[0], SOURCE),
        r"Transformer: source has shape \(2,\), expected \(B, T_k\)",
    ),
    (
        lambda: MODEL.hidden(np.array([[4], [4]]), SOURCE),
        r"Transformer: target has shape \(1, 2\), expected \(2, T_q\)",
    ),
    (
        lambda: MODEL.hidden([[5, 6]], SOURCE),
        r"source is a list, expected an array of shape \(B, T_k\)",
    ),
    (lambda: MODEL.hidden(np.ones((1, 3)), SOURCE), "dtype float64, expected an array of integer"),
    (lambda: MODEL.hidden(np.full((1, 3), V), SOURCE), f"token id {V}, expected 0 to {V - 1}"),
    (lambda: MODEL.hidden(np.full((1, 3), -1), SOURCE), "token id -1"),
    (
        lambda: LANGUAGE.forward(SOURCE[0]),
        r"LanguageModel: ids has shape \(2,\), expected \(B, T\)",
    ),
    (
        lambda: make_model("classifier").forward(SOURCE[0]),
        r"Classifier: ids has shape \(2,\), expected \(B, T\)",
    ),
    (lambda: LANGUAGE.start(SOURCE[0]), "prompt has shape"),
    (
        lambda: LANGUAGE.start(np.empty((1, 0), int)),
        "the prompt is empty, expected at least one token",
    ),
    *(
        (lambda kind=kind: make_model(kind).start(SOURCE[0]), "source has shape")
        for kind in RECURRENT
    ),
    (lambda: SelfAttention(10, 3, RNG), "d_model 10 is not divisible by 3 heads"),
    (lambda: stack(num_layers=0), "num_layers is 0"),
    (lambda: stack(dropout=1.0), "dropout is 1.0"),
    (lambda: stack(d_k=-2), "d_k is -2"),
    (lambda: stack(d_v=2.5), "d_v is 2.5"),
    (lambda: stack(positions="none"), "positions is 'none'"),
    (lambda: stack(pre_norm="no"), "pre_norm is 'no', expected True or False"),
    (
        lambda: stack(activation="swish"),
        "activation is 'swish'; choose from geglu, gelu, relu, swiglu",
    ),
    (lambda: stack(attention=["scaled"]), "unknown attention"),
    (lambda: stack(attention_settings=3), "attention_settings is 3, expected a dict"),
    (lambda: TransformerConfig.named("toy", 20, source_vocab=7), "share_embeddings"),
    (
        lambda: TransformerConfig.named("toy", 20, layers=3),
        "no field 'layers'; did you mean num_layers",
    ),
    (
        lambda: TransformerConfig.named("huge", 20),
        "unknown configuration 'huge'; choose from base, big",
    ),
    (
        lambda: LanguageModelConfig.named(5, vocab_size=3),
        "unknown configuration 5; choose from base",
    ),
    (lambda: LanguageModelConfig.named("toy", vocab_size=0), "vocab_size is 0"),
    (lambda: ClassifierConfig.named("toy", vocab_size=1.5, num_classes=2), "vocab_size is 1.5"),
    (lambda: ClassifierConfig.named("toy", vocab_size=9, num_classes=0), "num_classes is 0"),
    *(
        (
            lambda pooling=pooling: ClassifierConfig.named(
                "toy", vocab_size=9, num_classes=2, pooling=pooling
            ),
            words,
        )
        for pooling, words in (
            ("last", "pooling is 'last'; choose from first, mean"),
            (["mean"], "pooling is"),
        )
    ),
    (lambda: RecurrentConfig.named(["toy"], 9), "unknown configuration"),
    (
        lambda: RecurrentConfig.named("base", 9),
        "unknown configuration 'base' of a recurrent model; choose from toy, tiny",
    ),
    (
        lambda: RecurrentConfig.named("toy", 20, layers=3),
        "no field 'layers'; did you mean num_layers",
    ),
    (
        lambda: RecurrentConfig.named("toy", 20, bidirectional="no"),
        "bidirectional is 'no', expected True or False",
    ),
    (
        lambda: RecurrentConfig.named("toy", 20, num_layers=0),
        "num_layers is 0, expected a whole number from 1 to 10,000",
    ),
    (lambda: RecurrentConfig.named("toy", 20, d_model=2.0), "d_model is 2.0, expected a whole"),
    (
        lambda: RecurrentConfig.named("toy", 20, d_model=7),
        "d_model is 7, expected an even number: half of it for each direction",
    ),
    (
        lambda: RecurrentConfig.named("toy", 20, dropout=1.0),
        "dropout is 1.0, expected a number of at least 0 and below 1",
    ),
    (
        lambda: RecurrentConfig.named("toy", 20, source_vocab=5),
        "share_embeddings needs one vocabulary",
    ),
    # Decoding
    (lambda: beam_search(MODEL, SOURCE, 2.5), "the beam width is 2.5"),
    (lambda: beam_search(MODEL, SOURCE, 0), "the beam width is 0"),
    *(
        (
            lambda width=width: beam_search(MODEL, SOURCE, width),
            f"the beam width is {width}, expected a whole number from 1 to 1,000",
        )
        for width in (1001, 10**12)
    ),
    (lambda: sample(MODEL, SOURCE, None), "rngs is a NoneType, expected a list of generators"),
    (lambda: sample(MODEL, SOURCE, [7]), "rng is 7, expected a generator"),
    (lambda: beam_search(MODEL, SOURCE, 2, "x"), "alpha is 'x'"),
    (lambda: beam_search(MODEL, SOURCE, 2, np.nan), "alpha is nan"),
    (lambda: beam_search(MODEL, SOURCE, 2, min_length=-1), "min_length is -1"),
    (lambda: beam_search(MODEL, SOURCE, 2, max_length=0), "max_length is 0"),
    (
        lambda: beam_search(MODEL, SOURCE, 2, min_length=5, max_length=4),
        "max_length is 4, expected .* of at least 5",
    ),
    (
        lambda: beam_search(MODEL, SOURCE, 2, max_length="3"),
        "max_length is '3', expected a whole number",
    ),
    (lambda: greedy(MODEL, SOURCES[0]), r"source has shape \(3,\), expected \(B, T_k\)"),
    (lambda: sample(MODEL, SOURCE, [RNG], "3"), "the number of samples is '3'"),
    (lambda: sample(MODEL, SOURCE, [RNG], 0), "the number of samples is 0"),
    (lambda: sample(MODEL, SOURCE, [RNG], temperature=0), "temperature is 0"),
    (lambda: sample(MODEL, SOURCE, [RNG], temperature=np.nan), "temperature is nan"),
    (lambda: sample(MODEL, SOURCE, [RNG], temperature=None), "temperature is None"),
    (lambda: sample(MODEL, SOURCE, [RNG], top_p="1"), "top_p is '1'"),
    (lambda: sample(MODEL, SOURCE, [RNG], top_k=0.5), "top_k is 0.5"),
    (lambda: sample(MODEL, SOURCE, [RNG], top_k=-1), "top_k is -1"),
    (lambda: sample(MODEL, SOURCE, [RNG], top_p=0), "top_p is 0"),
    (
        lambda: sample(MODEL, SOURCES, [RNG]),
        "rngs is 1 generator, expected one for each of 2 sentences",
    ),
    (lambda: generate(LANGUAGE, [4], 2.5, RNG), "the number of tokens is 2.5"),
    (lambda: generate(LANGUAGE, [4], 0, RNG), "the number of tokens is 0"),
    (lambda: generate(LANGUAGE, [], 2, RNG), "the prompt is empty"),
    (
        lambda: next(generate(LANGUAGE, [3, 0], 2, RNG)),
        "the prompt contains the id 0, which is padding",
    ),
    (lambda: next(generate(LANGUAGE, [4, 99], 2, RNG)), "token id 99"),
    (
        lambda: generate(
            make_model("language-model", positions="learned", max_length=2), [4] * 3, 2, RNG
        ),
        "the prompt has 3 tokens, but the model has 2 positions",
    ),
    (lambda: generate(LANGUAGE, [4], 2, RNG, temperature=0), "temperature is 0"),
    (lambda: generate(LANGUAGE, [4], 2, RNG, top_k=-1), "top_k is -1"),
    (lambda: generate(LANGUAGE, [4], 2, RNG, top_p=0), "top_p is 0"),
    (
        lambda: generate(MODEL, [4], 3, RNG),
        "a Transformer does not continue its source; use translate",
    ),
    *(
        (
            lambda length=length: translate(MODEL, VOCABULARY, ["a"], length),
            "max_length is .*, expected a whole number of at least 1",
        )
        for length in (None, "5", 0, 2.5)
    ),
    *(
        (call, r"texts is a single text, expected a list of texts: \['a b c'\]")
        for call in (lambda: translate(MODEL, VOCABULARY, "a b c", 10), lambda: RUN.answer("a b c"))
    ),
    *(
        (lambda texts=texts: RUN.answer(texts), f"one of the texts is a {kind}, expected a str")
        for texts, kind in (([5], "int"), (["a", None], "NoneType"), ([b"a"], "bytes"))
    ),
    (lambda: RUN.answer(None), "texts is a NoneType, expected a list of texts"),
    (lambda: RUN.answer(["a"], 5), "search is a int, expected a Search"),
    # Batches and training
    *(
        (lambda pairs=pairs: make_batch(pairs), words)
        for pairs, words in (
            ([([5.5], [4])], "the token ids are float64, expected whole numbers"),
            ([([5], [4.0])], "the token ids are float64"),
            (
                [([5, 0, 4], [4])],
                "a sentence contains the id 0, expected ids above 0, the id of padding",
            ),
            ([([5], [-1])], "a sentence contains the id -1"),
            ([("ab", "cd")], "the token ids are <U1"),
            ([([None], [4])], "the token ids are object"),
            ([([True], [False])], "the token ids are bool"),
            ([], "no pairs"),
        )
    ),
    *(
        (lambda given=given: EpochBatches([([4], [5])], *given), words)
        for given, words in (
            ((None, 0), "max_tokens is None, expected a whole number"),
            ((-1, 0), "max_tokens is -1"),
            ((8, -1), "seed is -1"),
            ((8, "x"), "seed is 'x'"),
        )
    ),
    *(
        (lambda given=given: WindowBatches([4] * 9, *given), words)
        for given, words in (
            ((-1, 3, 0), "window is -1, expected a whole number"),
            ((None, 3, 0), "window is None"),
            ((2, [1], 0), r"size is \[1\]"),
            ((2, 0, 0), "size is 0"),
            ((2, 3, None), "seed is None"),
        )
    ),
    *(
        (lambda epsilon=epsilon: LayerNorm(4, epsilon), f"epsilon is {epsilon!r}, expected")
        for epsilon in (-1, float("nan"), "x", None, 1)
    ),
    (lambda: make_labelled_batch([]), "no examples"),
    (lambda: make_labelled_batch([([4, 0], 1)]), "the id 0"),
    (
        lambda: make_labelled_batch([([4], 1)])._replace(labels=np.int64(1)).terms,
        r"a batch's labels has shape \(\), expected \(B\)",
    ),
    (
        step_with(BATCH, 0.1, smoothing=1.5),
        "smoothing is 1.5, expected a number of at least 0 and below 1",
    ),
    (
        step_with(BATCH._replace(next_target=3), 0.1),
        r"have the shapes \(1, 3\), \(1, 2\), \(\), expected",
    ),
    (
        step_with(BATCH, 0.1, seed=0),
        r"seed is 0, expected integers of at least 0, such as \(0, step\)",
    ),
    (step_with(BATCH, 0.1, seed="x"), "seed is 'x'"),
    (step_with(BATCH, 0.1, seed=(0, -1)), r"seed is \(0, -1\)"),
    (step_with(BATCH, 0.1, seed=(0.5,)), r"seed is \(0.5,\)"),
    (
        step_with(BATCH, 0.1, workers=5),
        "workers is a int, expected some such as Threads",
    ),
    (step_with((BATCH, BATCH), 0.1), "batch is a tuple, expected a batch or a list of batches"),
    (step_with(None, 0.1), "batch is a NoneType"),
    (step_with([BATCH, None], 0.1), "batch is a NoneType"),
    (step_with(BATCH, None), "the learning rate is None, expected a finite number"),
    (step_with(BATCH, "0.1"), "the learning rate is '0.1'"),
    (step_with(BATCH, 0.1, clip="1"), "clip is '1'"),
    (step_with(BATCH, 0.1, smoothing=None), "smoothing is None"),
    (lambda: training_step(MODEL, None, BATCH, 0.1), r"optimizer is a NoneType, expected one such"),
    *(
        (lambda use=use: use(None), "model is a NoneType, expected a Layer")
        for use in (
            Adam,
            Threads,
            lambda model: training_step(model, Adam(MODEL), BATCH, 0.1),
        )
    ),
    (step_with(BATCH._replace(source=np.array([4])), 0.1), r"a batch's array has shape \(1,\)"),
    (
        step_with(BATCH._replace(next_target=np.zeros((2, 2), int)), 0.1),
        r"the shapes .* equal numbers of rows",
    ),
    *(
        (step_with(empty, 0.1), "no terms to learn from")
        for empty in (
            [],
            BATCH._replace(terms=-2),
            BATCH._replace(next_target=np.zeros((1, 2), int), terms=0),
        )
    ),
    (lambda: mean_loss(MODEL, []), "mean_loss: the list of batches is empty"),
    (
        lambda: mean_loss(MODEL, [BATCH._replace(terms=0)]),
        "mean_loss: .* has 1 batch without any terms",
    ),
    (lambda: exact_match(MODEL, []), "exact_match: no pairs"),
    (lambda: Adam(MODEL, beta1=2), "Adam: beta1 is 2, beta2 is 0.98"),
    (lambda: Adam(MODEL, beta1="x"), "Adam: beta1 is 'x'"),
    (lambda: Adam(MODEL, beta2=None), "beta2 is None"),
    (lambda: Adam(MODEL, epsilon=np.nan), "epsilon is nan"),
    *(
        (lambda arguments=arguments: Adam(LINEAR).step(*arguments), words)
        for arguments, words in (
            ((np.nan,), "the learning rate is nan"),
            ((-0.1,), "the learning rate is -0.1"),
            ((np.inf,), "the learning rate is inf"),
            ((0.1, 0.0), "clip is 0.0, expected a norm above 0, or None"),
            ((0.1, np.nan), "clip is nan"),
        )
    ),
    (lambda: schedule(0, 64, 50), "step is 0, expected at least 1: steps count from 1"),
    (lambda: schedule(1, 0, 50), "d_model is 0"),
    (lambda: schedule(1, 64, 0), "warmup is 0"),
    (lambda: schedule(None, 64, 4), "step is None"),
    (lambda: schedule(1, 64, np.nan), "warmup is nan"),
    *(
        (
            lambda factor=factor: schedule(1, 64, 4, factor),
            f"schedule: factor is {factor!r}, expected",
        )
        for factor in (float("nan"), float("inf"), -1, "x", None)
    ),
    *(
        (lambda count=count: Threads(MODEL, count), "Threads: count is")
        for count in (0, -1, 1.5, "2")
    ),
    (lambda: Threads(MODEL, 5000), "Threads: count is 5000, expected a whole number"),
    *(
        (
            lambda use=use, path=path: use(path),
            f"the path is {path!r}, expected the name of a file or a folder",
        )
        for path in (None, "", 5)
        for use in (
            Run.load,
            Run.open,
            lambda path: save_weights(MODEL, path),
            lambda path: load_weights(MODEL, path),
            lambda path: Run.create(path, TASKS["copy"](), make_model("transformer"), VOCABULARY),
        )
    ),
    (
        lambda: save_weights(MODEL, "."),
        "save_weights: path is '.', expected the path of a safetensors file",
    ),
    *(
        (lambda changes=changes: TrainingConfig(**{"steps": 10, "warmup": 5, **changes}), words)
        for changes, words in (
            (dict(steps=0), "steps is 0"),
            (dict(warmup=-1), "warmup is -1"),
            (dict(clip=0.0), "clip is 0.0"),
            (dict(rate_factor=np.nan), "rate_factor is nan"),
            (dict(smoothing=1.0), "smoothing is 1.0"),
            (dict(accumulate=0), "accumulate is 0"),
            (dict(accumulate=1.5), "accumulate is 1.5, expected a whole number from 1"),
            (dict(average=0), "average is 0"),
            (dict(patience=-1), "patience is -1"),
            (dict(seed=-1), "seed is -1"),
            (dict(schedule="papper"), "schedule is 'papper'; did you mean paper"),
            (dict(peak_rate=0.1), "has its own peak"),
            (dict(schedule="constant"), "the schedule constant needs one"),
            (dict(schedule="constant", peak_rate=0.0), "peak_rate is 0.0"),
        )
    ),
    # Tasks, and other names in a table
    (lambda: find(TASKS, "cpoy"), "unknown task 'cpoy'; did you mean copy"),
    (lambda: find(TASKS, None), "unknown task None"),
    (
        lambda: download("multi30", "nowhere", print),
        "unknown corpus 'multi30'; did you mean multi30k",
    ),
    (lambda: find(TASKS, ["copy"]), r"unknown task \['copy'\]; choose from"),
    (
        lambda: find(VOCABULARIES, "x"),
        "unknown vocabulary 'x'; choose from characters, pretrained, subwords, symbols",
    ),
    (
        lambda: TASKS["numbers"](language="french"),
        "language is 'french'; choose from german, korean",
    ),
    (lambda: TASKS["numbers"](language=None), "language is None"),
    (lambda: TASKS["copy"](batch=0), "batch is 0, expected a whole number from 1 to 1,000,000"),
    (lambda: TASKS["copy"](batch=2.0), "batch is 2.0"),
    (lambda: TASKS["sort"](max_length=True), "max_length is True"),
    # Pictures and pages
    (lambda: architecture(here=["softmx"]), "unknown part 'softmx'; did you mean softmax?"),
    (lambda: architecture(own=["x"]), "unknown part 'x'; choose from linear, "),
    (
        lambda: architecture(
            ClassifierConfig.named("toy", vocab_size=9, num_classes=2), ["decoding"]
        ),
        "decoding: this model has none",
    ),
    (
        lambda: architecture(TransformerConfig.named("toy", 9, attention="additive"), ["masks"]),
        "masks: this model has none",
    ),
    (
        lambda: architecture(RecurrentConfig.named("toy", 13)),
        "^a recurrent model is not a Transformer, and this is the map",
    ),
    (
        lambda: explore(None, "a"),
        "explore: the run is a NoneType, expected a Run, such as Run.load",
    ),
    (lambda: explore("runs/copy", "a"), "explore: the run is a str, expected a Run"),
    (lambda: explore(MODEL, "a"), "explore: the run is a Transformer, expected a Run"),
    (lambda: explore(RUN, None), "explore: the text is a NoneType, expected a str"),
    (lambda: batch_of(MODEL, VOCABULARY, "a b", 3), "explore: the target is a int, expected a str"),
    # The gradient check
    *(
        (lambda block=block: gradcheck(block, [X]), f"gradcheck: the block is {words}")
        for block, words in (
            (Linear, rf"the class Linear, {WHAT}: an instance, such as Linear\(...\)"),
            (np.tanh, rf"a ufunc, {WHAT}"),
            (None, f"a NoneType, {WHAT}"),
            ([np.tanh, np.cos], f"a list, {WHAT}"),
            ((np.tanh,), f"a tuple, {WHAT}"),
            ((), f"a tuple, {WHAT}"),
            ((np.tanh, 3), f"a tuple, {WHAT}"),
        )
    ),
    *(
        (lambda inputs=inputs: gradcheck(LINEAR, inputs), words)
        for inputs, words in (
            ([], r"forward\(x\) needs x"),
            ({}, r"forward\(x\) needs x"),
            (
                [np.ones((2, 4), int)],
                "Linear: x has dtype int64, expected real numbers such as float32",
            ),
        )
    ),
    *(
        (lambda inputs=inputs: gradcheck(RELU, inputs), words)
        for inputs, words in (
            ((X, X), r"2 inputs for forward\(x\)"),
            ({"z": X}, r"forward\(x\) has no argument z"),
            ((np.arange(3),), "relu has nothing to check"),
            ((X[:0],), r"x of relu has shape \(0, 3, 4\): no numbers to check"),
        )
    ),
    *(
        (
            lambda given=given: gradcheck(RELU, [X], projection=given),
            "gradcheck: projection is a .*, expected True, False or None",
        )
        for given in (np.ones((1, 1)), 1, "yes")
    ),
    *(
        (
            lambda methods=methods: gradcheck(RELU, [X], methods=methods),
            "expected one or more of central, complex",
        )
        for methods in ("central", (), ("forward",))
    ),
]


@pytest.mark.parametrize("call, words", CALLS, ids=[words for _, words in CALLS])
def test_what_is_refused(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "number, noun, said",
    [
        (1, "character", "1 character"),
        (2, "character", "2 characters"),
        (1, "batch", "1 batch"),
        (2, "batch", "2 batches"),
        (1000, "class", "1,000 classes"),
        (0, "line", "0 lines"),
    ],
)
def test_one_and_many(number, noun, said):
    assert counted(number, noun) == said


def test_one_character_is_not_many():
    with pytest.raises(InputError, match="consists of the 1 character of the training text"):
        CharacterVocabulary("a").encode("b")


def test_sentences_may_be_of_any_kind_of_sequence():
    batch = make_batch(pair for pair in [(np.array([4, 5]), range(6, 8)), ((), [1, 2])])
    assert batch.source.tolist() == [[4, 5, 2], [2, 0, 0]] and batch.terms == 6


@pytest.mark.parametrize(
    "call",
    [
        lambda: FeedForward(4, 3, RNG, dropout=0.5).forward(X, rng=7),
        lambda: Encoder(StackConfig.named("toy", dropout=0), RNG).forward(
            np.ones((1, 2, 64), np.float32), rng=7
        ),
        lambda: next(generate(make_model("language-model"), [4, 5], 3, 7)),
        lambda: SelfAttention(4, 2, RNG, dropout=0.5).forward(X, rng=7),
    ],
)
def test_a_seed_is_no_generator(call):
    with pytest.raises(
        InputError, match=r"rng is 7, expected a generator, such as np.random.default_rng\(7\)"
    ):
        call()


ARGUMENTS = dict(
    d_in=4,
    d_out=4,
    d_model=4,
    num_heads=2,
    vocab_size=4,
    max_length=4,
    d_ff=4,
    d_memory=4,
    d_attention=4,
    hidden_size=4,
    radius=1,
    attention=R.AdditiveAttention(4, 4, 4, RNG),
    config=StackConfig.named("toy"),
)


TAKE_RNG = [
    layer
    for layer in {**vars(L), **vars(R)}.values()
    if isinstance(layer, type)
    and issubclass(layer, L.Layer)
    and "rng" in signature(layer).parameters
]


@pytest.mark.parametrize("layer", TAKE_RNG)
def test_a_generator_left_out(layer):
    with pytest.raises(
        InputError, match=r"rng is None, expected a generator, such as np.random.default_rng\(0\)"
    ):
        layer(
            **{
                name: value
                for name, value in ARGUMENTS.items()
                if name in signature(layer).parameters
            }
        )


def some_vocabularies():
    yield VOCABULARY
    yield CharacterVocabulary("abc")
    yield SubwordVocabulary.learn(["abc"], 20)


@pytest.mark.parametrize(
    "ids, words",
    [
        (None, "the ids to decode are a NoneType, expected a list of token ids"),
        ("4", "the ids to decode are a str"),
        ([4, 10**4], "10000 is not the id of a token, expected a whole number from 0 to"),
        ([-1], "-1 is not the id of a token"),
        ([[4, 5]], r"\[4, 5\] is not the id of a token"),
        ([True], "True is not"),
        ([4.0], "4.0 is not"),
    ],
)
def test_wrong_ids_have_no_text(ids, words):
    for vocabulary in some_vocabularies():
        for function in (vocabulary.decode, vocabulary.tokens):
            with pytest.raises(InputError, match=words):
                function(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_of_another_model(kind):
    model, batch = make_model(kind), make_batch_for(kind)
    _, cache = model.loss_forward(batch)
    with pytest.raises(InputError, match=r"the cache is a \w+, expected the"):
        model.backward(np.ones(3), cache)
    with pytest.raises(InputError, match=r"the cache is a NoneType, expected the"):
        model.loss_backward(1.0, None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_gradient_of_the_loss(kind):
    model = make_model(kind)
    _, cache = model.loss_forward(make_batch_for(kind))
    for dloss in (None, "1", np.ones(3), True, np.array(1.0, object)):
        with pytest.raises(
            InputError, match="dloss is .*, expected one number, such as 1 / batch.terms"
        ):
            model.loss_backward(dloss, cache)


def test_a_gradient_of_the_loss_may_be_an_array_of_no_dimension():
    logits = RNG.standard_normal((2, 3))
    _, cache = cross_entropy_forward(logits, np.array([0, 1]), padding=None)
    assert np.array_equal(
        cross_entropy_backward(np.array(0.5), cache), cross_entropy_backward(0.5, cache)
    )


LAYERS = [
    (LINEAR, X),
    (SinusoidalPositions(), X),
    (LearnedPositions(5, 4, RNG), X),
    (LayerNorm(4), X),
    (FeedForward(4, 5, RNG), X),
    (SelfAttention(4, 2, RNG), X),
    (OutputProjection(5, 4, RNG), X),
    (Embedding(5, 4, RNG), np.ones((2, 3), int)),
]


@pytest.mark.parametrize("layer, x", LAYERS)
@pytest.mark.parametrize("fast", [True, False])
def test_a_gradient_of_another_shape(layer, x, fast):
    """With the textbook and with kernels; nothing is added before it is refused."""
    layer = layer.astype(np.float64)
    y, cache = layer.forward(x)
    for wrong in (
        y[:1],
        y[0],
        y.reshape(6, -1),
        np.swapaxes(y, 0, 1),
        y[..., :1],
        1.0,
        None,
        y.tolist(),
        y.astype(object),
    ):
        with (
            pytest.raises(InputError, match=r"dy|dlogits"),
            kernels_run() if fast else nullcontext(),
        ):
            layer.backward(wrong, cache)
    assert not any(parameter.grad.any() for parameter in layer.parameters().values())


HEADS = np.ones((2, 3, 4, 5), np.float32)  # (B, H, T, d)
ROWS = np.ones((2, 3), np.float32)
ONE = np.ones(3, np.float32)
BROADCAST = [  # (a call, words of the error): NumPy would repeat what is too small
    *(
        (lambda dy=dy, forward=forward, backward=backward: backward(dy, forward(ROWS)[1]), words)
        for forward, backward, words in (
            (F.relu_forward, F.relu_backward, "ReLU: dy"),
            (F.gelu_forward, F.gelu_backward, "GELU: dy"),
            (F.softmax_forward, F.softmax_backward, "softmax: dp"),
        )
        for dy in (ROWS[:1], ROWS[None], ROWS[:, :1], 1.0)
    ),
    *(
        (lambda key=key, value=value: F.attention_forward(HEADS, key, value), words)
        for key, value, words in (
            (HEADS[:1], HEADS[:1], r"key has shape \(1, 3, 4, 5\), expected \(2, 3, T_k, d\)"),
            (HEADS[:, :1], HEADS[:, :1], r"key has shape \(2, 1, 4, 5\)"),
            (HEADS[0, 0], HEADS[0, 0], r"key has shape \(4, 5\)"),
            (HEADS, HEADS[:1], r"value has shape \(1, 3, 4, 5\), expected \(2, 3, T_k, d\)"),
        )
    ),
    *(
        (
            lambda dy=dy: F.attention_backward(dy, F.attention_forward(HEADS, HEADS, HEADS)[1]),
            "attention: dy has shape",
        )
        for dy in (HEADS[:1], HEADS[:, :1], HEADS[0, 0], HEADS[..., :4])
    ),
    (
        lambda: F.softmax_forward(ROWS, np.ones((4, 2, 3), bool)),
        r"softmax: mask has shape \(4, 2, 3\), expected one that broadcasts to \(2, 3\)",
    ),
    (
        lambda: F.attention_forward(HEADS, HEADS, HEADS, np.ones((5, 2, 3, 4, 4), bool)),
        "mask has shape",
    ),
    (lambda: F.attention_forward(HEADS, HEADS, HEADS, np.ones((3, 4), bool)), "mask has shape"),
    *(
        (lambda dy=dy: silu_backward(dy, silu_forward(ROWS)[1]), "SiLU: dy")
        for dy in (ROWS[:1], ROWS[None], 1.0)
    ),
    (lambda: rms_norm_forward(ROWS, ONE[:1]), r"RMSNorm: gamma has shape \(1,\), expected \(3\)"),
    (
        lambda: R.additive_attention_forward(HEADS, HEADS[:1], HEADS[:1], ONE),
        "attention: key has shape",
    ),
    (
        lambda: R.additive_attention_forward(HEADS, HEADS, HEADS[:, :1], ONE),
        "attention: value has shape",
    ),
    *(
        (
            lambda dy=dy: R.additive_attention_backward(
                dy, R.additive_attention_forward(HEADS, HEADS, HEADS, HEADS[0, 0, 0])[1]
            ),
            "additive attention: dy has shape",
        )
        for dy in (HEADS[:1], HEADS[:, :1], HEADS[0, 0], HEADS[..., :4])
    ),
    (lambda: F.layer_norm_forward(ROWS, ONE[:1], ONE), r"gamma has shape \(1,\), expected \(3\)"),
    (lambda: F.layer_norm_forward(ROWS, ROWS, ONE), r"gamma has shape \(2, 3\)"),
    (lambda: F.layer_norm_forward(ROWS, ONE, ONE[:1]), r"beta has shape \(1,\), expected \(3\)"),
    (lambda: F.layer_norm_forward(ROWS, ONE, ONE[0]), r"beta has shape \(\), expected \(3\)"),
]


@pytest.mark.parametrize("call, words", BROADCAST, ids=[words for _, words in BROADCAST])
@pytest.mark.parametrize("fast", [True, False])
def test_nothing_is_repeated_in_silence(call, words, fast):
    with pytest.raises(InputError, match=words), kernels_run() if fast else nullcontext():
        call()


@pytest.mark.parametrize("layer, x", LAYERS[:-1])
def test_whole_numbers_and_half_precision_are_no_input(layer, x):
    for dtype in (int, bool, object, np.uint8, np.float16):
        with pytest.raises(
            InputError, match=rf"has dtype {np.dtype(dtype)}, expected real numbers such as float32"
        ):
            layer.forward(np.ones(x.shape, dtype))


@pytest.mark.parametrize(
    "changes, words",
    [
        (
            dict(vocabulary=None),
            "vocabulary is None, expected an object of a registered class: characters, pretrained",
        ),
        (dict(task="copy"), "task is 'copy', expected an object of a registered class: classify,"),
        (dict(task=TASKS["copy"]), "task is <class '.*Copy'>, expected an object"),
        (dict(model=None), "model is None, expected an object"),
        (dict(training={"steps": 3}), "training is a dict, expected a TrainingConfig"),
        (dict(backend="gpu"), "unknown array module 'gpu'; choose numpy, cupy or auto"),
    ],
)
def test_a_run_of_wrong_parts(tmp_path, changes, words):
    with pytest.raises(InputError, match=words):
        Run.create(
            tmp_path / "run",
            **{"task": TASKS["copy"](), "model": MODEL, "vocabulary": VOCABULARY, **changes},
        )
    assert not list(tmp_path.iterdir())


def test_texts_may_come_from_a_generator():
    assert len(translate(MODEL, VOCABULARY, (text for text in "ab"), 5)) == 2
