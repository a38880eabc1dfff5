"""From real text to a model (if MINITRANSFORMER_DATA is set)."""

import gzip
import json

import pytest

from minitransformer.runs.log import read_metrics

pytestmark = pytest.mark.campaign


def beside(multi30k, name):
    path = multi30k.with_name(name)
    if not path.is_dir():
        pytest.skip(f"{path} does not exist: no real data here")
    return path


def test_a_model_learns_from_multi30k(multi30k, run_cli, tmp_path):
    """A hundred small updates reduce the perplexity to a quarter of the 1,000 that guessing would
    give.
    """
    train, valid = (
        [multi30k / f"{split}.lc.norm.tok.{side}.gz" for side in ("en", "de")]
        for split in ("train", "val")
    )
    code, out, error = run_cli(
        "train translate --config toy --vocab-size 1000 --steps 100 --batch 1000 "
        "--warmup 30 --train",
        *train,
        "--valid",
        *valid,
        "--run",
        tmp_path / "run",
    )
    assert code == 0, error
    assert read_metrics(tmp_path / "run")[-1]["valid_perplexity"] < 250
    code, out, _ = run_cli("translate", tmp_path / "run", "a man is riding a bike .")
    assert code == 0 and out.strip()


def test_a_language_model_learns_from_tiny_shakespeare(multi30k, run_cli, tmp_path):
    """A hundred small updates on characters are better than their frequencies, which need 4.8 bits
    each.
    """
    text = gzip.decompress(
        (beside(multi30k, "tinyshakespeare") / "input.txt.gz").read_bytes()
    ).decode()
    (tmp_path / "train").write_text(text[:1_003_854])
    (tmp_path / "valid").write_text(text[1_003_854:][:20_000])
    code, out, error = run_cli(
        "train language --config toy --steps 100 --window 64 --batch 16 --warmup 20 "
        "--peak-rate 0.005 --train",
        tmp_path / "train",
        "--valid",
        tmp_path / "valid",
        "--run",
        tmp_path / "run",
    )
    assert code == 0, error
    scores = json.loads(run_cli("evaluate", tmp_path / "run", "--json")[1])
    assert scores["characters"] == 19_999 and 2 < scores["bits_per_character"] < 4.2
    assert scores["nats_per_token"] == pytest.approx(
        read_metrics(tmp_path / "run")[-1]["valid_nll"], rel=1e-5
    )
    code, out, _ = run_cli("generate", tmp_path / "run", "KING", "--max-length", 100)
    assert code == 0 and out.startswith("KING") and len(out) == 105


def test_a_classifier_learns_from_sst2(multi30k, run_cli, tmp_path):
    """Sixty small updates beat always predicting the most common class, 55.9 % of the phrases."""
    folder = beside(multi30k, "sst2")
    code, _, error = run_cli(
        "train classify --config toy --num-layers 1 --vocab-size 2000 --steps 60 "
        "--warmup 20 --peak-rate 0.003 --dropout 0 --train",
        folder / "train.tsv.gz",
        "--valid",
        folder / "dev.tsv.gz",
        "--run",
        tmp_path / "run",
    )
    assert code == 0, error
    scores = json.loads(
        run_cli("evaluate", tmp_path / "run", "--test", folder / "test.tsv.gz", "--json")[1]
    )
    assert (
        scores["examples"] == 872 and scores["majority"] == 444 / 872 and scores["accuracy"] > 0.6
    )
