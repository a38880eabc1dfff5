"""Your own tasks, models and vocabularies: once they are in their table, everything finds them."""

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from minitransformer import InputError, Run, Transformer, TransformerConfig
from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.training.evaluation import mean_loss
from minitransformer.layers import Embedding, LinearCrossEntropy, OutputProjection
from minitransformer.models import MODELS
from minitransformer.models.next_token import NextTokenModel
from minitransformer.lookup import ELSEWHERE
from minitransformer.tables import setting
from minitransformer.tasks import TASKS
from minitransformer.tasks.toy import LetterTask
from minitransformer.training.config import TrainingConfig
from minitransformer.training.trainer import train
from tests.library.cli.conftest import few_examples

pytestmark = pytest.mark.slow

TRAINING = TrainingConfig(steps=30, warmup=5, schedule="constant", peak_rate=0.03, smoothing=0.0, threads=1)


@dataclass(frozen=True, kw_only=True)
class Twice(LetterTask):
    name: ClassVar[str] = "twice"
    description: ClassVar[str] = "say each letter twice: a b -> a a b b"

    times: int = setting("how often each letter is said", 2)

    def transform(self, letters):
        return [letter for letter in letters for _ in range(self.times)]


@pytest.fixture
def twice(tmp_path, monkeypatch):
    monkeypatch.setitem(TASKS, "twice", Twice)
    with few_examples():
        yield tmp_path


def test_a_new_task_is_a_class_in_the_table(run_cli, twice):
    """It is listed in the help with its own option, trains, resumes, and is measured and used like the others."""
    run = twice / "run"
    assert "say each letter twice: a b -> a a b b" in run_cli("train", "--help")[1]
    assert "--times" in run_cli("train", "twice", "--help")[1]
    code, out, error = run_cli("train", "twice", "--times", 3, "--steps", 4, "--batch", 8, "--run", run)
    assert code == 0 and f"saved in {run}" in out and "exact match" in out, error
    assert (run / "report.html").exists() and json.loads((run / "config.json").read_text())["task"] == {
        "name": "twice", "batch": 8, "max_length": 256, "times": 3}
    code, out, _ = run_cli("evaluate", run, "--json")
    assert code == 0 and json.loads(out)["examples"] == 20
    assert Run.load(run).task.transform(list("ab")) == list("aaabbb")
    assert run_cli("translate", run, "a b")[0] == run_cli("train", "--resume", run)[0] == 0


def test_a_run_of_a_task_that_is_gone_is_one_line(run_cli, twice, monkeypatch):
    run_cli("train", "twice", "--steps", 1, "--batch", 2, "--run", twice / "run")
    monkeypatch.delitem(TASKS, "twice")
    code, out, error = run_cli("evaluate", twice / "run")
    assert code == 2 and not out and "unknown task 'twice'" in error and error.count("\n") == 1
    code, _, error = run_cli("train", "twice")
    assert code == 2 and "invalid choice: 'twice'" in error


@dataclass(frozen=True, kw_only=True)
class BigramConfig:
    vocab_size: int
    d_model: int = 8


class Bigram(NextTokenModel):
    """The next token from the last one alone."""

    Config = BigramConfig

    def __init__(self, config, seed=0):
        rng = np.random.default_rng(seed)
        self.config = config
        self.embedding = Embedding(config.vocab_size, config.d_model, rng)
        self.output = OutputProjection(config.vocab_size, config.d_model, rng)
        self.loss = LinearCrossEntropy(self.output.weight)

    def hidden(self, ids, rng=None):
        return self.embedding.forward(ids)

    def hidden_backward(self, dy, cache):
        self.embedding.backward(dy, cache)

    def start(self, prompt):
        return BigramState(self, prompt)


class BigramState:
    def __init__(self, model, prompt):
        self.embedding, self.output, self.first = model.embedding, model.output, prompt[:, -1:]
        self.limit = np.full(len(prompt), sys.maxsize)

    def advance(self, ids, parents=None):
        return self.embedding.forward(ids)[0]

    def keep(self, rows):
        """No past, nothing to drop."""


@pytest.fixture
def bigram(monkeypatch):
    monkeypatch.setitem(MODELS, "bigram", Bigram)
    return Bigram


@pytest.fixture
def language(tmp_path):
    """(the task language on a text of two letters in turn, its vocabulary)."""
    (tmp_path / "text").write_text("ab" * 100)
    task = TASKS["language"](train=[str(tmp_path / "text")], valid=[str(tmp_path / "text")], window=8, batch=4).begin()
    return task, task.make_vocabulary()


def test_a_model_of_your_own_is_trained(run_cli, bigram, language, tmp_path):
    """By train(), then stored in a run folder, loaded again, measured by the command, and resumed."""
    task, vocabulary = language
    data = task.data(vocabulary, TRAINING)
    run = Run.create(tmp_path / "run", task, bigram(BigramConfig(vocab_size=vocabulary.size)), vocabulary, TRAINING)
    before = mean_loss(run.model, data.valid)
    assert train(run, TRAINING, data.batches, data.valid, data.measure) == 30
    loaded = Run.load(tmp_path / "run")
    assert type(loaded.model) is Bigram and loaded.settings.model == "bigram"
    assert mean_loss(loaded.model, data.valid) == mean_loss(run.model, data.valid) < 0.3 * before
    code, out, _ = run_cli("evaluate", tmp_path / "run", "--json")
    assert code == 0 and json.loads(out)["nats_per_token"] == pytest.approx(mean_loss(run.model, data.valid), abs=2e-5)
    code, out, error = run_cli("train", "--resume", tmp_path / "run")    # a report without attention
    assert code == 0 and f"saved in {tmp_path / 'run'}" in out and "Traceback" not in error
    assert run_cli("generate", tmp_path / "run", "ab", "--tokens", 6, "--top-k", 1)[1] == "abababab\n"
    code, out, error = run_cli("attention", tmp_path / "run", "ab", "--output", tmp_path / "a.png")
    assert code == 2 and "no attention to show" in error and error.count("\n") == 1


def copy_run(**changes):
    task = TASKS["copy"]()
    vocabulary = task.make_vocabulary()
    model = Transformer(TransformerConfig.named("toy", vocabulary.size, num_layers=1, d_model=8, num_heads=2))
    return {"task": task, "model": model, "vocabulary": vocabulary, **changes}


class OwnVocabulary(SymbolVocabulary):
    pass


class OwnTransformer(Transformer):
    pass


class OwnTask(TASKS["copy"]):
    pass


@pytest.mark.parametrize("name, make, variable", [
    ("vocabulary", lambda usual: OwnVocabulary("abc"), "VOCABULARIES"),
    ("model", lambda usual: OwnTransformer(usual["model"].config), "MODELS"), ("task", lambda usual: OwnTask(), "TASKS"),
])
def test_what_is_not_registered_is_refused(tmp_path, name, make, variable):
    """Even a class that inherits from a registered one: opening the folder would give the other class."""
    own = make(copy_run())
    with pytest.raises(InputError) as caught:
        Run.create(tmp_path / "run", **copy_run(**{name: own}))
    assert str(caught.value) == (f"{type(own).__name__} is not registered, so a run folder with it could not be opened again; "
                                 f'add it to the table: {variable}["a-name"] = {type(own).__name__}')
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name, table, make", [
    ("vocabulary", VOCABULARIES, lambda kind: kind("abc")), ("task", TASKS, lambda kind: kind()),
    ("model", MODELS, lambda kind: kind(copy_run()["model"].config))])
def test_an_object_of_a_class_that_was_registered_again_is_to_be_made_again(tmp_path, name, table, make, monkeypatch):
    """A notebook's cell, run twice: it makes the class and puts it into the table."""
    def cell():
        monkeypatch.setitem(table, "of-a-cell", type("Mine", (type(copy_run()[name]),), {}))
        return table["of-a-cell"]

    old = make(cell())
    cell()
    with pytest.raises(InputError) as caught:
        Run.create(tmp_path / "run", **copy_run(**{name: old}))
    assert str(caught.value) == (f"another class is now registered as the {name} of-a-cell, as when a notebook's cell runs again; "
                                 "make this Mine again, too")


def test_a_vocabulary_of_your_own_is_kept_and_loaded(tmp_path, monkeypatch):
    monkeypatch.setitem(VOCABULARIES, "own", OwnVocabulary)
    usual = copy_run(vocabulary=OwnVocabulary([chr(i) for i in range(97, 123)], joint="+"))
    run = Run.create(tmp_path / "run", **usual)
    run.save_weights()
    loaded = Run.load(tmp_path / "run")
    assert type(loaded.vocabulary) is OwnVocabulary and loaded.vocabulary.joint == "+"
    assert loaded.settings == run.settings and loaded.settings.vocabulary == "own"


def test_a_vocabulary_of_another_size_is_refused(tmp_path):
    with pytest.raises(InputError, match="the vocabulary has 6 tokens, the model 29; they are not from the same run"):
        Run.create(tmp_path / "run", **copy_run(vocabulary=CharacterVocabulary("abc")))
    assert not list(tmp_path.iterdir())


TABLES = {"activation": "layers.feed_forward.FEED_FORWARDS", "attention": "layers.attention_kinds.ATTENTIONS",
          "embedding": "layers.embedding.EMBEDDINGS", "norm": "layers.layer_norm.NORMS", "positions": "layers.positions.POSITIONS",
          "model": "models.MODELS", "task": "tasks.TASKS", "vocabulary": "data.vocabularies.VOCABULARIES",
          "pretrained model": "data.download.PRETRAINED", "blocks": "checking.blocks.BLOCKS",
          "decoding state": "models.next_token.STATES"}


@pytest.mark.parametrize("kind, name", [
    pytest.param(kind, name, marks=[pytest.mark.campaign] if i else [])
    for kind, names in ELSEWHERE.items() for i, name in enumerate(names)])
def test_what_is_elsewhere_is_found_there(kind, name):
    """In a fresh process, which imports the module named for it."""
    if kind in TABLES:
        module, _, table = TABLES[kind].rpartition(".")
        code = f"from minitransformer import lookup; from minitransformer.{module} import {table}; "
        code += f"lookup.find({table}, {kind!r}, {name!r})"
    else:
        code = f"from {ELSEWHERE[kind][name]} import {name if kind == 'public name' else 'add_arguments, execute'}"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == ""
