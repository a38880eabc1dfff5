"""Your own tasks, models and vocabularies: once they are in their table, everything finds them."""

import json

import pytest

from minitransformer import InputError, Run, Transformer, TransformerConfig
from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.tasks.evaluation import mean_loss
from minitransformer.models import MODELS, LanguageModelConfig
from minitransformer.tasks import TASKS
from minitransformer.runs.config import TrainingConfig
from minitransformer.runs.trainer import train
from tests import ROOT
from tests.helpers.command import few_examples
from tests.helpers.documents import new_files

pytestmark = pytest.mark.slow

TRAINING = TrainingConfig(
    steps=30, warmup=5, schedule="constant", peak_rate=0.03, smoothing=0.0, threads=1
)


def of_page(name, file):
    """The names of a file that a page of docs/ shows."""
    found = {"__name__": file.removesuffix(".py")}
    exec(new_files(ROOT / "docs" / name)[file], found)
    return found


@pytest.fixture
def count(tmp_path, monkeypatch):
    monkeypatch.setitem(TASKS, "count", None)
    of_page("add_a_task.md", "count.py")
    with few_examples():
        yield tmp_path


def test_a_new_task_is_a_class_in_the_table(run_cli, count):
    """It is listed in the help with its own option, trains, resumes, and is measured and used like
    the others.
    """
    run = count / "run"
    assert "count repeated letters: c c c a -> 3 c 1 a" in run_cli("train --help")[1]
    assert "--max-runs" in run_cli("train count --help")[1]
    code, out, error = run_cli("train count --max-runs 4 --steps 4 --batch 8 --run", run)
    assert code == 0 and f"saved in {run}" in out and "exact match" in out, error
    assert (run / "report.html").exists() and json.loads((run / "config.json").read_text())[
        "task"
    ] == {"name": "count", "batch": 8, "max_length": 256, "max_runs": 4}
    code, out, _ = run_cli("evaluate", run, "--json")
    assert code == 0 and json.loads(out)["examples"] == 20
    assert Run.load(run).task.max_runs == 4
    assert run_cli("translate", run, "a b")[0] == run_cli("train --resume", run)[0] == 0


def test_a_run_of_a_task_that_is_gone_is_one_line(run_cli, count, monkeypatch):
    run_cli("train count --steps 1 --batch 2 --run", count / "run")
    monkeypatch.delitem(TASKS, "count")
    code, out, error = run_cli("evaluate", count / "run")
    assert code == 2 and not out and "unknown task 'count'" in error and error.count("\n") == 1
    code, _, error = run_cli("train count")
    assert code == 2 and "invalid choice: 'count'" in error


@pytest.fixture
def language(tmp_path):
    """(the task language on a text of two letters in turn, its vocabulary)."""
    (tmp_path / "text").write_text("ab" * 100)
    task = TASKS["language"](
        train=[str(tmp_path / "text")], valid=[str(tmp_path / "text")], window=8, batch=4
    ).begin()
    return task, task.make_vocabulary()


def test_a_model_of_your_own_is_trained(run_cli, language, tmp_path, monkeypatch):
    """By train(), then stored in a run folder, loaded again, measured by the command, and resumed."""
    task, vocabulary = language
    data = task.data(vocabulary, TRAINING)
    monkeypatch.setitem(MODELS, "bigram", None)
    bigram = of_page("add_a_model.md", "bigram.py")["BigramModel"]
    model = bigram(LanguageModelConfig(vocab_size=vocabulary.size, d_model=8))
    run = Run.create(tmp_path / "run", task, model, vocabulary, TRAINING)
    before = mean_loss(run.model, data.valid)
    assert train(run, TRAINING, data.batches, data.valid, data.measure) == 30
    loaded = Run.load(tmp_path / "run")
    assert type(loaded.model) is bigram and loaded.settings.model == "bigram"
    assert mean_loss(loaded.model, data.valid) == mean_loss(run.model, data.valid) < 0.3 * before
    code, out, _ = run_cli("evaluate", tmp_path / "run", "--json")
    assert code == 0 and json.loads(out)["nats_per_token"] == pytest.approx(
        mean_loss(run.model, data.valid), abs=2e-5
    )
    code, out, error = run_cli("train --resume", tmp_path / "run")  # a report without attention
    assert code == 0 and f"saved in {tmp_path / 'run'}" in out and "Traceback" not in error
    assert (
        run_cli("generate", tmp_path / "run", "ab", "--max-length", 6, "--top-k", 1)[1]
        == "abababab\n"
    )
    code, out, error = run_cli("attention", tmp_path / "run", "ab", "--output", tmp_path / "a.png")
    assert code == 2 and "no attention to show" in error and error.count("\n") == 1


def copy_run(**changes):
    task = TASKS["copy"]()
    vocabulary = task.make_vocabulary()
    model = Transformer(
        TransformerConfig.named("toy", vocabulary.size, num_layers=1, d_model=8, num_heads=2)
    )
    return {"task": task, "model": model, "vocabulary": vocabulary, **changes}


class OwnVocabulary(SymbolVocabulary):
    pass


class OwnTransformer(Transformer):
    pass


class OwnTask(TASKS["copy"]):
    pass


@pytest.mark.parametrize(
    "name, make, variable",
    [
        ("vocabulary", lambda usual: OwnVocabulary("abc"), "VOCABULARIES"),
        ("model", lambda usual: OwnTransformer(usual["model"].config), "MODELS"),
        ("task", lambda usual: OwnTask(), "TASKS"),
    ],
)
def test_what_is_not_registered_is_refused(tmp_path, name, make, variable):
    """Even a class that inherits from a registered one: opening the folder would give the other
    class.
    """
    own = make(copy_run())
    with pytest.raises(InputError) as caught:
        Run.create(tmp_path / "run", **copy_run(**{name: own}))
    assert str(caught.value) == (
        f"{type(own).__name__} is not registered, so a run folder with it could not be opened again; "
        f'add it to the table: {variable}["a-name"] = {type(own).__name__}'
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name, table, make",
    [
        ("vocabulary", VOCABULARIES, lambda kind: kind("abc")),
        ("task", TASKS, lambda kind: kind()),
        ("model", MODELS, lambda kind: kind(copy_run()["model"].config)),
    ],
)
def test_an_object_of_a_class_that_was_registered_again_is_to_be_made_again(
    tmp_path, name, table, make, monkeypatch
):
    """A notebook's cell, run twice: it makes the class and puts it into the table."""

    def cell():
        monkeypatch.setitem(table, "of-a-cell", type("Mine", (type(copy_run()[name]),), {}))
        return table["of-a-cell"]

    old = make(cell())
    cell()
    with pytest.raises(InputError) as caught:
        Run.create(tmp_path / "run", **copy_run(**{name: old}))
    assert str(caught.value) == (
        f"another class is now registered as the {name} of-a-cell, as when a notebook's cell runs again; "
        "make this Mine again, too"
    )


def test_a_vocabulary_of_your_own_is_kept_and_loaded(tmp_path, monkeypatch):
    monkeypatch.setitem(VOCABULARIES, "own", OwnVocabulary)
    usual = copy_run(vocabulary=OwnVocabulary([chr(i) for i in range(97, 123)], joint="+"))
    run = Run.create(tmp_path / "run", **usual)
    run.save_weights()
    loaded = Run.load(tmp_path / "run")
    assert type(loaded.vocabulary) is OwnVocabulary and loaded.vocabulary.joint == "+"
    assert loaded.settings == run.settings and loaded.settings.vocabulary == "own"


def test_a_vocabulary_of_another_size_is_refused(tmp_path):
    with pytest.raises(
        InputError,
        match="the vocabulary has 6 tokens, the model 29; they are not from the same run",
    ):
        Run.create(tmp_path / "run", **copy_run(vocabulary=CharacterVocabulary("abc")))
    assert not list(tmp_path.iterdir())


def test_a_tie_that_the_configuration_cannot_express_is_refused_when_saved(tmp_path):
    run = copy_run()
    config = TransformerConfig.named(
        "toy", run["vocabulary"].size, num_layers=1, d_model=8, num_heads=2, share_output=False
    )
    model = Transformer(config)
    saved = Run.create(tmp_path / "run", **{**run, "model": model})
    model.output.weight = model.target_embedding.weight
    words = "output.weight is not a parameter of its own in this model, and .* in a new one"
    with pytest.raises(InputError, match=words):
        saved.save_weights()
    with pytest.raises(InputError, match=words):
        Run.create(tmp_path / "other", **{**run, "model": model})
    assert not (tmp_path / "other").exists()
    with pytest.raises(InputError, match=words):  # before its first checkpoint
        train(saved, TrainingConfig(steps=1, warmup=1), iter([]), [])
