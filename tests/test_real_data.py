"""The way from real text to a translation model, on a slice of Multi30K (where MINITRANSFORMER_DATA is set)."""

import json

from minitransformer.data.parallel import read_pairs


def test_multi30k_is_read_whole(multi30k):
    pairs = read_pairs([multi30k / f"train.lc.norm.tok.{side}.gz" for side in ("en", "de")])
    assert len(pairs) == 29_000
    assert pairs[0] == ("two young , white males are outside near many bushes .",
                        "zwei junge weiße männer sind im freien in der nähe vieler büsche .")


def test_a_model_learns_from_multi30k(multi30k, run_cli, tmp_path):
    """A hundred small updates take the perplexity to a quarter of the 1,000 that guessing would give."""
    train, valid = ([multi30k / f"{split}.lc.norm.tok.{side}.gz" for side in ("en", "de")] for split in ("train", "val"))
    code, out, error = run_cli("train", "translate", "--train", *train, "--valid", *valid, "--run", tmp_path / "run",
                               "--config", "toy", "--vocab-size", 1000, "--steps", 100, "--batch", 1000, "--warmup", 30)
    assert code == 0, error
    records = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert records[-1]["valid_perplexity"] < 250
    code, out, _ = run_cli("translate", tmp_path / "run", "a man is riding a bike .")
    assert code == 0 and out.strip()
