"""What a run and its settings say of themselves."""

from minitransformer import Run, TrainingConfig, train
from tests.library.training.test_training import start


def test_a_run_says_what_it_is_and_how_far_it_has_come(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    what = f"Run({str(tmp_path / 'run')!r}): copy, Transformer with {run.model.num_parameters():,} parameters, "
    assert repr(run) == what + "not trained yet"
    train(run, TrainingConfig(steps=4, warmup=2), batches, valid)
    assert repr(run) == repr(Run.load(run.path)) == what + "trained"
    run.invalidate_weights()
    assert repr(run) == what + "4 steps saved"
    (run.path / "manifest.json").write_text("damaged")
    assert repr(run) == what + "its folder cannot be read"


def test_the_settings_of_a_run_are_read_line_by_line(tmp_path):
    run, _, _ = start(tmp_path / "run")
    assert repr(run.settings).startswith("RunSettings {\n") and '\n    "d_model": 16,\n' in repr(run.settings)
