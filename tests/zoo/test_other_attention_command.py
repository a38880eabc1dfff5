"""minitransformer train TASK with another --attention, or with later blocks; what other commands do with the run."""

import pytest

from minitransformer import Run
from tests.library.cli.conftest import resumes_to_the_bit, train

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


def test_other_commands_take_the_run(run_cli, refused, runs, tmp_path):
    for name, folder in runs.items():
        code, out, _ = run_cli("translate", folder, "a b c", "--max-length", 5, "--n-best", 2, "--beam", 3)
        assert code == 0 and len(out.splitlines()) == 2
        assert run_cli("attention", folder, "a b c", "--output", tmp_path / f"{name}.png")[0] == 0
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
        error = refused("export", folder, "--output", tmp_path / "weights.safetensors")
        assert f"attention is {name}, but PyTorch's" in error and not (tmp_path / "weights.safetensors").exists()
