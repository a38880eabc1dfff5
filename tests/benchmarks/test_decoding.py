"""Beam search beside other libraries: they have the same model, decode the same text, and are
measured the same way.
"""

import numpy as np
import pytest

from research.benchmarks import decoding
from research.benchmarks.measure import Measurement, measure
from research.benchmarks.sentences import Sentences, limit, power, strip
from research.benchmarks.worker import serve
from minitransformer.data.batches import make_batch
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.decoding import translation
from minitransformer.decoding.hypothesis import length_penalty
from minitransformer.decoding.translation import longest_first
from minitransformer.errors import InputError
from minitransformer.models import Transformer, TransformerConfig
from minitransformer.tasks import TASKS
from minitransformer.runs.run import Run

pytestmark = pytest.mark.slow

TEXT = [
    "a dog runs .",
    "",
    "a cat sleeps in the red house .",
    "the dog sleeps .",
    "a red dog runs in the house .",
]


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """Four sentences and an empty one, for a model with random weights whose next token rarely
    depends on rounding.
    """
    folder = tmp_path_factory.mktemp("decoding")
    vocabulary = SubwordVocabulary.learn(TEXT, size=40)
    model = random_model(vocabulary.size)
    run = Run.create(
        folder / "run",
        TASKS["translate"](train=["none"], valid=["none"], max_length=30),
        model,
        vocabulary,
    )
    run.save_weights()
    text = folder / "text.tsv"
    text.write_text("".join(f"{line}\t{line}\n" for line in TEXT), encoding="utf-8")
    return Sentences(str(folder / "run"), [str(text)], beam=1)


def random_model(vocabulary):
    """Biases and norms are random, too, so that a swap shows."""
    config = TransformerConfig(
        source_vocab=vocabulary,
        target_vocab=vocabulary,
        num_layers=2,
        d_model=16,
        num_heads=2,
        d_ff=24,
    )
    model = Transformer(config, seed=3)
    rng = np.random.default_rng(5)
    for parameter in model.parameters().values():
        if parameter.data.ndim == 1:
            parameter.data[...] += 0.5 * rng.standard_normal(parameter.shape)
    return model


def outputs(contestant, case):
    """The worker's answer to one order."""
    (answer,) = serve(contestant, case, 2, ["1"])
    assert answer.get("failed") is None and answer["seconds"] > 0
    return answer["outputs"]


def test_marianmt_is_the_same_model():
    pytest.importorskip(
        "transformers", reason='transformers is not installed: pip install ".[bench]"'
    )
    torch = pytest.importorskip("torch", reason='torch is not installed: pip install ".[bench]"')
    from research.benchmarks.contestants import marian

    model, rng = random_model(30), np.random.default_rng(0)
    batch = make_batch(
        [(rng.integers(3, 30, size=n), rng.integers(3, 30, size=n + 2)) for n in (7, 3, 5)]
    )
    assert (batch.source == 0).any()
    with torch.inference_mode():
        logits = marian.convert(model, positions=20)(
            input_ids=torch.from_numpy(batch.source),
            attention_mask=torch.from_numpy(batch.source != 0),
            decoder_input_ids=torch.from_numpy(batch.target),
        ).logits.numpy()
    real = batch.next_target != 0
    np.testing.assert_allclose(
        logits[real], model.forward(batch.source, batch.target)[0][real], atol=1e-4
    )


@pytest.mark.parametrize(
    "contestant, library",
    [
        ("marianmt:2", "transformers"),
        ("ctranslate2:batches-2", "ctranslate2"),
        ("ctranslate2:operations-3", "ctranslate2"),
    ],
)
def test_peers_decode_greedily_what_we_do(case, contestant, library):
    """Without a beam, the length penalty has no effect; only the length limits differ, so the first
    tokens are compared.
    """
    pytest.importorskip(library, reason=f'{library} is not installed: pip install ".[bench]"')
    mine, theirs = outputs("minitransformer", case), outputs(contestant, case)
    assert [output[:20] for output in theirs] == [output[:20] for output in mine]
    assert any(mine) and not mine[1]
    assert len(outputs(contestant, case._replace(beam=5))) == len(TEXT)


def test_batches_hold_each_sentence_once():
    sources = [[5], [], [6, 7, 8], [9, 9], [4, 4, 4, 4]]
    places, ids = zip(*longest_first(sources, 3))
    assert places == ([4, 2, 3], [0])
    assert ids[0].tolist() == [[4, 4, 4, 4, 2], [6, 7, 8, 2, 0], [9, 9, 2, 0, 0]]
    assert [limit(batch) for batch in ids] == [54, 51]


def test_the_power_has_the_slope_of_our_length_penalty():
    sources = [[3] * 9, [], [3] * 13]  # with EOS 12 on average
    slope = np.log(length_penalty(12.01, 0.6) / length_penalty(11.99, 0.6)) / np.log(12.01 / 11.99)
    assert power(sources) == pytest.approx(slope, abs=1e-6)


def test_an_output_ends_at_eos():
    assert strip([1, 5, 6, 2, 0, 7]) == [5, 6] and strip(iter([1, 5, 0])) == [5]


def test_workers_decode(case):
    measured = measure(
        case, ("minitransformer", "minitransformer:3"), threads=1, rounds=1, warm_up=0
    )
    mine, batch = measured.values()
    assert len(mine.outputs) == len(TEXT) and len(batch.outputs) == 3
    assert len(mine.seconds) == len(batch.seconds) == 1 and mine.peak > 0


def test_our_batches_are_as_large_as_asked(monkeypatch, case):
    rows, search = [], translation.beam_search
    monkeypatch.setattr(translation, "ROWS", translation.ROWS)
    monkeypatch.setattr(
        translation,
        "beam_search",
        lambda model, source, *rest: rows.append(len(source)) or search(model, source, *rest),
    )
    together = outputs("minitransformer", case._replace(beam=3))
    assert outputs("minitransformer", case._replace(beam=3, batch=1)) == together and rows == [
        4,
        1,
        1,
        1,
        1,
    ]


def test_comparison(monkeypatch, case):
    """The best setting of each peer is measured; one that always fails is reported."""
    seconds = {"marianmt:32": 3.0, "marianmt:64": 2.0, "marianmt:100": 4.0}

    def measure(case, contestants, threads, rounds, warm_up):
        return {
            name: Measurement([1.0, 2.0], 100, None, [[5, 6], [7]])
            if name == "minitransformer"
            else Measurement([2 * seconds[name], seconds[name] * 3], 400, None, [[5, 6], [8]])
            if name in seconds
            else Measurement([], 0, "no luck")
            for name in contestants
        }

    monkeypatch.setattr(decoding, "measure", measure)
    vocabulary = Run.load(case.run).vocabulary
    references = [vocabulary.decode([5, 6]), vocabulary.decode([7])]
    result = decoding.compare(case, ("marianmt", "ctranslate2"), 1, 2, vocabulary, references)
    assert result["sentences"] == 2 and result["sentences_per_second"] == 2 / 1.5
    marian = result["peers"]["marianmt"]
    assert marian["setting"] == "64" and marian["ratio"] == 3.5 and marian["same_output"] == 0.5
    assert marian["peak_memory_ratio"] == 0.25 and marian["sentences_per_second"] == 2 / 5
    assert result["peers"]["ctranslate2"]["failed"] == "no luck"


def test_minitransformer_itself_must_not_fail(monkeypatch, case):
    monkeypatch.setattr(
        decoding,
        "measure",
        lambda _, names, *__, **___: {name: Measurement([], 0, "MemoryError: ") for name in names},
    )
    with pytest.raises(InputError, match="minitransformer failed: MemoryError"):
        decoding.compare(case, (), 1, 1, None, ["x"])
    with pytest.raises(
        InputError, match="minitransformer with batch 32 and beam 1 failed: MemoryError"
    ):
        next(decoding.scale_search(case, 1))


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"pre_norm": True}, "pre_norm True"),
        ({"d_k": 3}, "only with d_k None"),
        ({"share_output": False}, "share_output False"),
    ],
)
def test_a_model_that_the_peers_have_not(changes, words):
    with pytest.raises(InputError, match=words):
        decoding.check_model(TransformerConfig.named("toy", 20, **changes))
