"""minitransformer train TASK with another --attention, or with later blocks; what other commands do with the run."""

import pytest

from minitransformer import Run
from tests.library.cli.conftest import one_line, resumes_to_the_bit, train

pytestmark = pytest.mark.slow

QUICK = ("--batch", "8", "--steps", "6", "--validate-every", "3", "--d-model", "8", "--dropout", "0.2", "--threads", "1")
KINDS = {"restricted": ("--attention", "restricted", "--radius", "3"),
         "grouped": ("--norm", "rms", "--positions", "rotary", "--activation", "swiglu", "--kv-heads", "2", "--pre-norm")}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """{kind: run folder} of a few steps on the copy task."""
    folder = tmp_path_factory.mktemp("kinds")
    for kind, options in KINDS.items():
        train("copy", *options, *QUICK, "--run", folder / kind)
    return {kind: folder / kind for kind in KINDS}


def test_the_run_keeps_its_model(runs):
    restricted = Run.load(runs["restricted"]).model.config
    assert (restricted.attention, restricted.attention_settings) == ("restricted", {"radius": 3})


def test_a_run_resumes_to_the_bit(run_cli, runs, tmp_path):
    assert resumes_to_the_bit(run_cli, runs["restricted"], tmp_path / "restricted")


def test_other_commands_take_the_run(run_cli, runs, tmp_path):
    for name, folder in runs.items():
        code, out, _ = run_cli("translate", folder, "a b c", "--max-length", 5, "--n-best", 2, "--beam", 3)
        assert code == 0 and len(out.splitlines()) == 2
        assert run_cli("attention", folder, "a b c", "--output", tmp_path / f"{name}.png")[0] == 0
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
        code, _, error = run_cli("export", folder, "--output", tmp_path / "weights.safetensors")
        assert code == 2 and one_line(error) and not (tmp_path / "weights.safetensors").exists()
        assert f"attention is {name}, but PyTorch's" in error


@pytest.mark.parametrize("arguments, words", [
    (("--model", "gru", "--attention", "additive"), "--attention is of no use to the model gru; leave it out"),
    (("--model", "lstm", "--radius", "3"), "--radius is of no use to the model lstm; leave it out"),
    (("--attention", "restricted"), "--radius is None, expected a whole number of at least 0"),
    (("--attention", "restricted", "--radius", "-1"), "--radius is -1, expected a whole number of at least 0"),
    (("--radius", "3"), "--radius is 3, but only restricted attention has one"),
    (("--kv-heads", "2"), "--kv-heads is 2, but only grouped attention has one"),
    (("--positions", "rotary", "--kv-heads", "3"), "--kv-heads is 3, expected a divisor of the 4 heads"),
    (("--positions", "rotary", "--attention", "scaled"), "--attention is scaled, but rotary positions need grouped attention"),
    (("--norm", "rsm"), "invalid choice: 'rsm'; choose from layer, rms"),
    (("--attention", "restrictd"), "invalid choice: 'restrictd'; did you mean restricted?"),
    (("--model", "gru", "--config", "base"), "unknown configuration 'base' of a recurrent model; choose from toy, tiny"),
])
def test_what_a_model_cannot_be(run_cli, tmp_path, arguments, words):
    code, _, error = run_cli("train", "copy", *arguments, "--run", tmp_path / "run")
    assert code == 2 and words in error and one_line(error) and not (tmp_path / "run").exists()
