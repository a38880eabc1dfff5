"""Text that continues a prompt: what is drawn, and what the model reads when the learned positions
run out.
"""

from itertools import islice

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer.decoding import generate
from minitransformer.models import LanguageModel, LanguageModelConfig
from tests.helpers.randomised import randomised

PROMPT = [3, 5, 4]


def random_model(seed, **changes):
    sizes = dict(vocab_size=9, d_model=12, num_layers=2, num_heads=2, d_ff=20, dropout=0.0)
    return randomised(LanguageModel(LanguageModelConfig(**{**sizes, **changes}), seed), 0.5, seed)


def by_definition(model, prompt, count, rng, positions):
    """A continuation drawn with everything computed again; when `positions` run out, from the
    second half of the text read.
    """
    ids, read = list(prompt), len(prompt)
    for _ in range(count):
        if read > positions:
            read = (read + 1) // 2
        logits = model.forward(np.array([ids[-read:]]))[0][0, -1]
        logits[:3] = -np.inf
        order = np.argsort(-logits)
        reached = np.cumsum(np.exp(logits[order] - logits.max()))
        ids.append(int(order[(reached <= rng.random() * reached[-1]).sum()]))
        read += 1
    return ids[len(prompt) :]


@pytest.mark.parametrize("positions", [None, 3, 4, 7, 10])
def test_a_continuation_is_its_definition(positions):
    model = (
        random_model(1)
        if positions is None
        else random_model(1, positions="learned", max_length=positions)
    )
    found = list(generate(model, PROMPT, 40, np.random.default_rng(0)))
    assert found == by_definition(model, PROMPT, 40, np.random.default_rng(0), positions or 10**6)
    assert len(set(found)) > 2 and min(found) > 2


def test_the_narrowest_cut_is_the_likeliest_token():
    model, ids = random_model(1), list(PROMPT)
    for token in generate(model, PROMPT, 10, np.random.default_rng(0), top_k=1):
        assert token == model.forward(np.array([ids]))[0][0, -1, 3:].argmax() + 3
        ids.append(token)


def test_frequencies_are_the_models():
    model = random_model(2)
    logits = model.forward(np.array([PROMPT]))[0][0, -1]
    p = np.exp(logits / 1.5)
    p[:3] = 0
    p /= p.sum()
    rng = np.random.default_rng(0)
    drawn = [next(generate(model, PROMPT, 1, rng, temperature=1.5)) for _ in range(600)]
    assert np.abs(np.bincount(drawn, minlength=9) / 600 - p).max() < 4.5 * 0.5 / np.sqrt(
        600
    )  # standard deviations


def test_tokens_come_one_by_one(monkeypatch):
    model, advanced = random_model(1), []
    start = model.start

    def counted(prompt):
        state = start(prompt)
        advance = state.advance
        state.advance = lambda *arguments: (advanced.append(arguments), advance(*arguments))[1]
        return state

    monkeypatch.setattr(model, "start", counted)
    tokens = generate(model, PROMPT, 1000, np.random.default_rng(0))
    assert len(list(islice(tokens, 5))) == len(advanced) == 5


@pytest.mark.parametrize(
    "prompt", [[3] * 7, np.full(7, 3, np.uint8), np.full(7, 3, np.uint64), [np.uint64(3)] * 7]
)
def test_a_full_prompt_can_be_continued(prompt):
    model = random_model(1, positions="learned", max_length=7)
    found, expected = (
        list(generate(model, ids, 2, np.random.default_rng(0))) for ids in (prompt, [3] * 7)
    )
    assert found == expected and len(found) == 2


def test_a_model_without_numbers_is_explained():
    model = random_model(0)
    model.flat.data[...] *= 1e200  # finite, but its logits are not
    with np.errstate(all="ignore"), pytest.raises(InputError, match="logits are not finite"):
        list(generate(model, PROMPT, 2, np.random.default_rng(0)))
