"""The page's engine computes what the library computes: the loss, every layer's value and gradient,
every parameter's gradient.
"""

from contextlib import nullcontext
from dataclasses import dataclass, fields

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer.data.batches import Batch
from minitransformer.data.windows import WindowBatch
from minitransformer.data.special import BOS, EOS
from minitransformer.models import (
    LanguageModel,
    LanguageModelConfig,
    Transformer,
    TransformerConfig,
)
from minitransformer_course.explorer.page import ENGINE, PAGE, engine_config, script
from tests.course.explorer.engine import blank_page, differences, random_case
from tests.helpers.randomised import randomised

pytestmark = pytest.mark.slow

# Each with a field that has another value than the default. The engine computes the same for it as
# the library, or it is refused.
SHOWN = [
    dict(num_layers=2),
    dict(d_model=12),
    dict(num_heads=4),
    dict(d_ff=5),
    dict(d_k=5),
    dict(d_v=3),
    dict(dropout=0.3),
    dict(embedding_dropout=0.3),
    dict(attention_dropout=0.3),
    dict(feed_forward_dropout=0.3),
    dict(activation="gelu"),
    dict(pre_norm=True),
    dict(norm_epsilon=0.1),
    dict(positions="learned"),
    dict(positions="learned", max_length=9),
    dict(share_output=False),
    dict(vocab_size=9),
    dict(share_embeddings=False),
    dict(share_embeddings=False, source_vocab=9),
    dict(share_embeddings=False, target_vocab=9),
]
REFUSED = [
    dict(norm="rms"),
    dict(activation="swiglu"),
    dict(attention="unscaled"),
    dict(embedding="unscaled"),
    dict(attention="grouped", positions="rotary"),
    dict(attention="restricted", attention_settings={"radius": 1}),
]
KINDS = {Transformer: TransformerConfig, LanguageModel: LanguageModelConfig}


def each(*cases):
    """Parameters of a test: each kind of model with each case whose fields it has."""
    return pytest.mark.parametrize(
        "kind, changes",
        [
            pytest.param(kind, changes, id=f"{kind.__name__}, {changes}")
            for kind, config in KINDS.items()
            for changes in cases
            if changes.keys() <= {one.name for one in fields(config)}
        ],
    )


def of(kind, changes):
    sizes = dict(
        dict.fromkeys(KINDS[kind].required(), 8), num_layers=1, d_model=8, num_heads=2, d_ff=8
    )
    return randomised(kind(KINDS[kind](**{**sizes, **changes})), 0.3)


@pytest.fixture(scope="module")
def engine(browser, tmp_path_factory):
    browser.open(blank_page(tmp_path_factory.mktemp("engine")).as_uri())
    return browser


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(4, 50))]
)
def test_the_engine_agrees_with_the_library(engine, seed):
    found = differences(engine, *random_case(seed))
    assert max(found.values()) < 1e-9, max(found.items(), key=lambda item: item[1])


@each(*SHOWN)
def test_each_field_of_a_configuration_counts(engine, kind, changes):
    batch = (
        Batch(np.array([[5, 4, EOS]]), np.array([[BOS, 6, 7, 3]]), np.array([[6, 7, 3, EOS]]), 4)
        if kind is Transformer
        else WindowBatch(np.array([[5, 4, 6]]), np.array([[4, 6, 7]]), 3)
    )
    found = differences(engine, of(kind, changes), batch, 0.1)
    assert max(found.values()) < 1e-9, max(found.items(), key=lambda item: item[1])


@each(*REFUSED)
def test_or_is_refused_by_name(kind, changes):
    with pytest.raises(
        InputError, match=f"({'|'.join(changes)}) is .*, but a page shows only models with"
    ):
        engine_config(of(kind, changes))


def test_no_field_is_passed_over():
    """Nor one that is not written yet."""
    assert {one.name for config in KINDS.values() for one in fields(config)} == {
        name for one in SHOWN + REFUSED for name in one
    }

    @dataclass(frozen=True, kw_only=True)
    class Further(TransformerConfig):
        window: int = 5

    for window in (5, 6):
        model = Transformer(
            Further(
                source_vocab=8,
                target_vocab=8,
                num_layers=1,
                d_model=8,
                num_heads=2,
                d_ff=8,
                window=window,
            )
        )
        with (
            nullcontext()
            if window == 5
            else pytest.raises(InputError, match="window is 6, but a page shows only models with 5")
        ):
            engine_config(model)


def test_the_engine_and_the_page_are_small():
    lines = [sum(len(script(name).splitlines()) for name in names) for names in (ENGINE, PAGE)]
    lines[1] += len(script("page/page", ".css").splitlines())
    assert sum(lines) <= 2021
    assert max(len(line) for name in (*ENGINE, *PAGE) for line in script(name).splitlines()) <= 132
