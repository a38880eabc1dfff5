"""Pretrained models against what transformers computes: logits, loss and every gradient."""

import pytest

from tests.fixtures.pretrained_cases import CASES, FOLDER, compare, make_folder, parts

pytest.importorskip("tokenizers", reason="tokenizers is not installed: a pretrained model's text cannot be cut into tokens")


@pytest.mark.parametrize("name", CASES)
def test_transformers_computes_the_same(name, tmp_path):
    _, _, gradients, rest = parts(FOLDER / f"{name}.safetensors")
    found = compare(make_folder(name, tmp_path / "there"), tmp_path / "run", gradients, rest)
    assert len(found) > 20 and max(found.values()) < 1e-9, {name: error for name, error in found.items() if error > 1e-9}
