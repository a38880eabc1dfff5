"""What a notebook shows of runs, settings and configurations."""

import re
from dataclasses import fields

import pytest

from minitransformer import Run, Search, TrainingConfig, TransformerConfig, train
from minitransformer.tasks import TASKS
from tests.library.training.test_training import start


def cells(page):
    return dict(re.findall(r"<tr><td>([^<]*)</td><td>([^<]*)</td></tr>", page))


@pytest.mark.parametrize("shown, name, expected", [
    (TrainingConfig(steps=7, warmup=2, threads=1), "TrainingConfig", {"steps": "7", "peak_rate": "None"}),
    (TransformerConfig.named("toy", 30), "TransformerConfig", {"num_layers": "2", "activation": "relu"}),
    (TASKS["numbers"](language="korean"), "Numbers", {"language": "korean", "batch": "64"}),
    (Search(beam=3), "Search", {"beam": "3"})])
def test_settings_are_a_table_of_all_fields(shown, name, expected):
    page = shown._repr_html_()
    assert page.startswith(f"<b>{name}</b>") and expected.items() <= cells(page).items()
    assert len(cells(page)) == len(fields(shown))
    assert repr(shown).startswith(f"{name}(")


def test_a_table_escapes_what_it_shows():
    page = TASKS["language"](train=["<b>", "&"], valid=["b"])._repr_html_()
    assert "<td>&lt;b&gt;\n&amp;</td>" in page


def test_a_run_says_what_it_is_and_how_far_it_has_come(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    what = f"Run({str(tmp_path / 'run')!r}): copy, Transformer with {run.model.num_parameters():,} parameters, "
    assert repr(run) == what + "not trained yet"
    train(run, TrainingConfig(steps=4, warmup=2), batches, valid)
    assert repr(run) == repr(Run.load(run.path)) == what + "trained"
    run.invalidate_weights()
    assert repr(run) == what + "4 steps saved"
    page = run._repr_html_()
    assert "4 steps saved" in page
    assert {"d model": "16", "max length": "512", "vocabulary": "symbols"}.items() <= cells(page).items()
    assert cells(page).items() >= cells(run.settings._repr_html_()).items()
    (run.path / "manifest.json").write_text("damaged")
    assert repr(run) == what + "its folder cannot be read"


def test_the_settings_of_a_run_are_read_line_by_line(tmp_path):
    run, _, _ = start(tmp_path / "run")
    assert repr(run.settings).startswith("RunSettings {\n") and '\n    "d_model": 16,\n' in repr(run.settings)
