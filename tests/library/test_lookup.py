"""Choices by name: each table is written in one place, and looking a name up is all that imports
anything of the zoo.
"""

import json
import subprocess
import sys

import pytest

from minitransformer import Transformer, TransformerConfig
from minitransformer.layers import LayerNorm
from minitransformer.layers.attention_kinds import ATTENTIONS, ScaledAttention
from minitransformer.functional.activations import ACTIVATIONS
from minitransformer.lookup import Table
from minitransformer.zoo import CHOICES

TABLES = {  # {kind: where its table is}
    "activation": "functional.activations:ACTIVATIONS",
    "attention": "layers.attention_kinds:ATTENTIONS",
    "blocks": "checking.blocks:BLOCKS",
    "embedding": "layers.embedding:EMBEDDINGS",
    "kernel": "speed.kernels:KERNELS",
    "kept attention": "decoding.cached_layer:KEPT",
    "model": "models:MODELS",
    "norm": "layers.layer_norm:NORMS",
    "pooling": "models.classifier:POOLINGS",
    "positions": "layers.positions:POSITIONS",
    "pretrained model": "data.download:PRETRAINED",
    "task": "tasks:TASKS",
    "vocabulary": "data.vocabularies:VOCABULARIES",
}
MAKE = f"""
import json
from minitransformer.lookup import imported
tables = {{kind: imported(place) for kind, place in {TABLES}.items()}}
"""
IMPORT_ALL = """
from importlib import import_module
from pkgutil import walk_packages
import minitransformer
for module in walk_packages(minitransformer.__path__, "minitransformer."):
    if not module.name.endswith("__main__") and ".compiled" not in module.name:
        import_module(module.name)
"""
SHOW = """
names = {kind: list(table) for kind, table in tables.items()}
loaded = {kind: list(table.loaded) for kind, table in tables.items()}
print(json.dumps([loaded, names]))
"""


def in_a_fresh_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_no_import_adds_to_a_table():
    """Whatever is imported, a table has the same names, and has loaded the library's."""
    few, every = (json.loads(in_a_fresh_process(MAKE + more + SHOW)) for more in ("", IMPORT_ALL))
    assert few == every
    loaded, names = few
    assert loaded["attention"] == ["scaled"] and loaded["norm"] == ["layer"]
    for kind in TABLES:
        assert names[kind] == sorted({*loaded[kind], *CHOICES.get(kind, {})})


def test_every_kind_of_the_zoo_has_a_table():
    assert CHOICES.keys() <= TABLES.keys() | {"command"}


@pytest.mark.parametrize(
    "kind, name",
    [
        pytest.param(kind, name, marks=[pytest.mark.campaign] if i else [])
        for kind, names in CHOICES.items()
        for i, name in enumerate(names)
    ],
)
def test_a_name_of_the_zoo_is_found_there(kind, name):
    """In a fresh process, which has imported nothing of it."""
    find = f"from minitransformer.lookup import find; find(tables[{kind!r}], {name!r})"
    if kind == "command":
        find = f"from minitransformer.{CHOICES[kind][name]} import add_arguments, execute"
    in_a_fresh_process(MAKE + find)


def test_a_table_is_a_dict_of_the_library_and_the_zoo():
    table = Table("activation", {"relu": 1})
    assert list(table) == ["geglu", "relu", "swiglu"] and len(table) == 3
    assert "geglu" in table and list(table.loaded) == ["relu"]
    assert table["geglu"] is ACTIVATIONS["geglu"] and list(table.loaded) == ["relu", "geglu"]
    table["mine"] = 2
    assert dict(table)["mine"] == table["mine"] == 2
    del table["mine"]
    assert "mine" not in table and table.get("mine") is None
    with pytest.raises(KeyError):
        table["mine"]


def test_a_choice_of_your_own(monkeypatch):
    class Mine(ScaledAttention):
        description = "my own"

    monkeypatch.setitem(ATTENTIONS, "mine", Mine)
    config = TransformerConfig.named("toy", 20, attention="mine")
    assert ATTENTIONS[config.attention] is Mine and Transformer(config)


def test_a_table_without_its_own_choices_has_those_of_the_zoo():
    table = Table("norm", {"layer": LayerNorm})
    table["mine"] = LayerNorm
    del table["mine"]
    assert list(table) == ["layer", *CHOICES["norm"]]
    table.clear()
    assert list(table) == list(CHOICES["norm"]) and table["rms"].__name__ == "RMSNorm"
