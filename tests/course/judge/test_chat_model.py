"""learn.lab.chat_model: a model of today for chapter 13, with or without the file of SmolLM2."""

import json
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from minitransformer import InputError
from minitransformer.dispatch import TABLE, running
from minitransformer.speed.kernels import kernels_run
from minitransformer_course.judge.course import exercises
from minitransformer_course.lab import chat_model
from tests import ROOT

pytestmark = pytest.mark.slow

OWN = {
    name: exercises()[name].reference
    for name in ("rms_norm", "rotary", "swiglu", "grouped_attention")
}


@pytest.fixture
def model(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINITRANSFORMER_DATA", raising=False)
    return chat_model.smollm2()


def test_without_the_file_one_line_says_how_to_get_it(model, capsys):
    model = chat_model.smollm2()
    assert model.vocabulary is chat_model.CHARACTERS and model.model.config == chat_model.TINY
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "minitransformer data smollm2" in said and "tiny" in said


@pytest.mark.parametrize("place", ["data/smollm2", "elsewhere", "elsewhere/smollm2"])
def test_the_file_is_found_where_it_is_put_and_a_damaged_one_is_one_line(
    place, monkeypatch, tmp_path, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINITRANSFORMER_DATA", "elsewhere")
    path = Path(place, next(iter(chat_model.FILES)))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF, but cut off")
    with pytest.raises(InputError, match="not an intact GGUF file|this needs gguf"):
        chat_model.real()
    assert (
        chat_model.smollm2().vocabulary is chat_model.CHARACTERS
        and capsys.readouterr().out.count("\n") == 1
    )


@pytest.mark.parametrize("name", OWN)
def test_each_function_runs_in_the_model_and_gives_its_logits(name, model):
    calls, expected = [], model.logits("Why?")

    def own(*arguments):
        calls.append(name)
        return OWN[name](*arguments)

    np.testing.assert_allclose(model.logits("Why?", own={name: own}), expected, atol=1e-5)
    assert len(calls) == {"rms_norm": 7, "rotary": 6}.get(
        name, 3
    )  # two norms a layer and the last, queries and keys
    wrong = (
        exercises()[name].mistakes[0].wrong
        if name != "rms_norm"
        else exercises()[name].module.layer_norm
    )
    assert np.abs(model.logits("Why?", own={name: wrong}) - expected).max() > 1e-3
    assert (
        len(model.answer("Why?", {name: own})) == chat_model.TOKENS
        and len(calls) > 3 * chat_model.TOKENS
    )


def test_halves_with_moved_columns_are_neighbours(model):
    right, d = model.logits("Why?"), chat_model.TINY.d_k
    with model.as_halves(np.arange(d)):
        assert np.abs(model.logits("Why?") - right).max() > 1e-2
    with model.as_halves(np.r_[0:d:2, 1:d:2]):
        np.testing.assert_allclose(model.logits("Why?"), right, atol=1e-5)
        np.testing.assert_allclose(
            model.logits("Why?", own=OWN), right, atol=1e-5
        )  # the reader's neighbours, as halves
    np.testing.assert_array_equal(model.logits("Why?"), right)


def test_the_halves_are_undone_after_an_error(model):
    right = model.logits("Why?")
    with pytest.raises(KeyboardInterrupt), model.as_halves(np.r_[0:8:2, 1:8:2]):
        raise KeyboardInterrupt
    np.testing.assert_array_equal(model.logits("Why?"), right)


def test_the_sizes_are_those_of_the_rows_of_x(model):
    sizes = model.sizes("Why?")
    embedded = model.model.embedding.forward(np.array([model.prompt("Why?")]))[0][0]
    np.testing.assert_allclose(sizes[0], np.sqrt((embedded**2).mean(axis=-1) + 1e-5), rtol=1e-5)
    assert sizes.shape == (3, 4)


def test_logits_that_are_not_finite_are_told_in_one_line(model):
    assert "not finite" in model.answer("Why?", {"swiglu": lambda a, u: (a * np.nan, a, a)})


def test_smollm2_has_its_parameters():
    assert chat_model.PARAMETERS == 134_515_008


def test_the_pictures_name_their_axes():
    chat_model.show_sizes(np.ones((30, 4)))
    axes = plt.figure().subplots()
    chat_model.show_cache(axes, (9, 3))
    assert axes.get_xlabel() == "positions" and len(axes.lines) == 3
    assert axes.lines[1].get_ydata()[-1] == pytest.approx(2 * 30 * 9 * 64 * 8192 / 1e6)


def test_the_table_is_what_the_experiment_measured():
    measured = json.loads(
        (ROOT / "research" / "experiments" / "after_2017.json").read_text(encoding="utf-8")
    )
    page = (ROOT / "tutorials" / "13_after_2017" / "chapter.py").read_text(encoding="utf-8")
    for change, one in measured.items():
        begins = " ".join(one["answer"].split())[:56].rpartition(" ")[0]
        told = (
            f"{one['loss']:.2f} | `{begins}`"
            if one["loss"]
            else "NaN | nothing: its logits are not finite"
        )
        assert f"# | {change} | {told} |\n" in page, change


@pytest.mark.skipif(
    not os.environ.get("MINITRANSFORMER_DATA"),
    reason="MINITRANSFORMER_DATA is not set: SmolLM2 is not here",
)
def test_smollm2_answers_with_the_readers_functions():
    try:
        real = chat_model.real()
    except InputError as error:
        pytest.skip(str(error))
    assert real.model.num_parameters() == chat_model.PARAMETERS
    measured = json.loads(
        (ROOT / "research" / "experiments" / "after_2017.json").read_text(encoding="utf-8")
    )
    assert real.answer("Why is the sky blue?", OWN) == measured["none"]["answer"]


def test_no_kernel_runs_with_the_readers_functions():
    with kernels_run(), chat_model.running({"rms_norm": OWN["rms_norm"]}):
        assert all(
            function in (entry.own, entry.textbook)
            for name, function in running().items()
            for entry in [TABLE[name]]
        )
