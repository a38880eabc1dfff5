"""Another model or attention for a task: minitransformer train TASK --model NAME, and what other
commands do with its run.
"""

import json

import pytest

from minitransformer import Run
from minitransformer.models import MODELS
from minitransformer.tasks import TASKS
from tests.helpers.command import resumes_to_the_bit, train, write_corpus

pytestmark = pytest.mark.slow

QUICK = (
    "--batch",
    "8",
    "--steps",
    "6",
    "--validate-every",
    "3",
    "--d-model",
    "8",
    "--dropout",
    "0.2",
    "--threads",
    "1",
)


ATTENTION = {
    "restricted": ("--attention", "restricted", "--radius", "3"),
    "grouped": (
        "--norm",
        "rms",
        "--positions",
        "rotary",
        "--activation",
        "swiglu",
        "--kv-heads",
        "2",
        "--pre-norm",
    ),
}
KINDS = {**{model: ("--model", model) for model in ("gru", "lstm", "lstm-attention")}, **ATTENTION}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """{kind: run folder} of a few steps on the copy task."""
    folder = tmp_path_factory.mktemp("models")
    for kind, options in KINDS.items():
        train("copy", *options, *QUICK, "--run", folder / kind)
    return {kind: folder / kind for kind in KINDS}


def test_every_model_of_a_task_is_registered():
    for task in TASKS.values():
        assert set(task.models) <= set(MODELS)
        assert not task.models or task.model == task.models[0]


def test_the_run_keeps_its_model(runs):
    for name, folder in runs.items():
        run = Run.load(folder)
        assert type(run.model) is MODELS["transformer" if name in ATTENTION else name]
        assert run.model.config.d_model == 8 and run.model.config.dropout == 0.2
        assert (folder / "report.html").exists() and repr(run).endswith("parameters, trained")
    restricted = Run.load(runs["restricted"]).model.config
    assert (restricted.attention, restricted.attention_settings) == ("restricted", {"radius": 3})


@pytest.mark.parametrize("name", ["gru", "lstm-attention", "restricted"])
def test_a_run_resumes_to_the_bit(run_cli, runs, tmp_path, name):
    assert resumes_to_the_bit(run_cli, runs[name], tmp_path / name)


def test_all_commands_take_the_run(run_cli, refused, runs, tmp_path):
    for name, folder in runs.items():
        code, out, _ = run_cli("evaluate", folder, "--beam", 3, "--max-length", 2, "--json")
        assert code == 0 and json.loads(out)["examples"] == 20
        code, out, _ = run_cli(
            "translate", folder, "a b c", "--max-length", 5, "--beam", 2, "--n-best", 2
        )
        assert code == 0 and len(out.splitlines()) == 2
        words = f"attention is {name}, but PyTorch's" if name in ATTENTION else "cannot be exported"
        assert words in refused(
            "export", folder, "--output", tmp_path / "torch.safetensors"
        ) and not list(tmp_path.iterdir())


def test_attention_is_drawn_where_there_is_one(run_cli, refused, runs, tmp_path):
    words = "a b c", "--output", tmp_path / "a.png"
    attending = runs["lstm-attention"]
    assert "--kind is encoder, but this model's attention is cross" in refused(
        "attention", attending, *words, "--kind", "encoder"
    )
    assert "--layer is 1, expected 0" in refused("attention", attending, *words, "--layer", 1)
    assert "this model has no attention to show" in refused("attention", runs["lstm"], *words)
    assert not (tmp_path / "a.png").exists()
    for name, kind in (("lstm-attention", "cross"), *((name, "encoder") for name in ATTENTION)):
        (tmp_path / "a.png").unlink(missing_ok=True)
        assert run_cli("attention", runs[name], *words, "--kind", kind, "--layer", 0)[0] == 0
        assert (tmp_path / "a.png").stat().st_size > 5000


def test_translation_with_the_options_of_a_preset(run_cli, tmp_path):
    """The Transformer's --pre-norm in it does not disturb; its dropout holds; its size is the
    recurrent model's own.
    """
    text = write_corpus(tmp_path) / "tsv"
    code, _, error = run_cli(
        "train translate --model lstm-attention --preset multi30k --steps 1 --train",
        text,
        "--valid",
        text,
        "--run",
        tmp_path / "run",
    )
    assert code == 0, error
    assert "tiny LSTMAttentionModel, 2 layers of width 176, " in error
    model = json.loads((tmp_path / "run" / "config.json").read_text())["model"]
    assert model == {
        "name": "lstm-attention",
        "source_vocab": model["target_vocab"],
        "target_vocab": model["target_vocab"],
        "num_layers": 2,
        "d_model": 176,
        "dropout": 0.3,
        "bidirectional": True,
        "share_embeddings": True,
        "share_output": True,
    }
