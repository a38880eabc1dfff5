"""lab.chat_model: the small model of today that comes with the book, and SmolLM2 if it is here."""

import json
import os
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from minitransformer import InputError, load_weights
from minitransformer.dispatch import TABLE, running
from minitransformer.speed.kernels import kernels_run
from minitransformer_course import lab
from minitransformer_course.judge.course import exercises, folder_of_chapters
from minitransformer_course.lab import chat_model
from tests import ROOT

pytestmark = pytest.mark.slow

OWN = {
    name: exercises()[name].reference
    for name in ("rms_norm", "rotary", "swiglu", "grouped_attention")
}


TEXT = "KING:\nWhat must"


@pytest.fixture
def model():
    return chat_model.small()


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """An empty folder in which SmolLM2 is not found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINITRANSFORMER_DATA", raising=False)


def test_the_small_model_has_read_shakespeare(model):
    assert model.model.num_parameters() == 236_320
    path = folder_of_chapters() / "small_shakespeare" / "weights.safetensors"
    assert path.stat().st_size <= 500_000
    unseen = lab.text.shakespeare()[2][: 40 * 96].reshape(40, 96)
    bits = exercises()["bits_per_character"].reference(model.model.forward(unseen)[0], unseen)
    assert bits == pytest.approx(1.903, abs=0.002)
    assert model.answer("KING:\n").isprintable() or "\n" in model.answer("KING:\n")


def test_without_the_file_one_line_says_how_to_get_it(bare, capsys):
    assert chat_model.smollm2() is None
    assert capsys.readouterr().out == chat_model.MISSING + "\n"


@pytest.mark.parametrize("place", ["data/smollm2", "elsewhere", "elsewhere/smollm2"])
def test_the_file_is_found_where_it_is_put_and_a_damaged_one_is_one_line(
    place, bare, monkeypatch, capsys
):
    monkeypatch.setenv("MINITRANSFORMER_DATA", "elsewhere")
    path = Path(place, next(iter(chat_model.FILES)))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF, but cut off")
    with pytest.raises(InputError, match="not an intact GGUF file|this needs gguf"):
        chat_model.real()
    assert chat_model.smollm2() is None
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize("name", OWN)
def test_each_function_runs_in_the_model_and_gives_its_logits(name, model):
    calls, expected = [], model.logits(TEXT)

    def own(*arguments):
        calls.append(name)
        return OWN[name](*arguments)

    np.testing.assert_allclose(model.logits(TEXT, own={name: own}), expected, atol=1e-5)
    assert len(calls) == {"rms_norm": 9, "rotary": 8}.get(
        name, 4
    )  # two norms a layer and the last, queries and keys
    wrong = (
        exercises()[name].mistakes[0].wrong
        if name != "rms_norm"
        else exercises()[name].module.layer_norm
    )
    assert np.abs(model.logits(TEXT, own={name: wrong}) - expected).max() > 1e-3
    assert (
        len(model.answer(TEXT, {name: own})) == chat_model.TOKENS
        and len(calls) > 4 * chat_model.TOKENS
    )


def test_halves_with_moved_columns_are_neighbours(model):
    right, d = model.logits(TEXT), chat_model.SMALL.d_k
    with model.as_halves(np.arange(d)):
        assert np.abs(model.logits(TEXT) - right).max() > 1e-2
    with model.as_halves(np.r_[0:d:2, 1:d:2]):
        np.testing.assert_allclose(model.logits(TEXT), right, atol=1e-5)
        np.testing.assert_allclose(
            model.logits(TEXT, own=OWN), right, atol=1e-5
        )  # the reader's neighbours, as halves
    np.testing.assert_array_equal(model.logits(TEXT), right)


def test_the_halves_are_undone_after_an_error(model):
    right = model.logits(TEXT)
    with pytest.raises(KeyboardInterrupt), model.as_halves(np.r_[0:20:2, 1:20:2]):
        raise KeyboardInterrupt
    np.testing.assert_array_equal(model.logits(TEXT), right)


def test_the_sizes_are_those_of_the_rows_of_x(model):
    sizes = model.sizes(TEXT)
    embedded = model.model.embedding.forward(np.array([model.prompt(TEXT)]))[0][0]
    np.testing.assert_allclose(sizes[0], np.sqrt((embedded**2).mean(axis=-1) + 1e-5), rtol=1e-5)
    assert sizes.shape == (4, len(TEXT))


def test_logits_that_are_not_finite_are_told_in_one_line(model):
    assert "not finite" in model.answer(TEXT, {"swiglu": lambda a, u: (a * np.nan, a, a)})


def test_smollm2_has_its_parameters():
    assert chat_model.PARAMETERS == 134_515_008


def test_the_pictures_name_their_axes():
    chat_model.show_sizes(np.ones((30, 4)))
    chat_model.show_changes({"none": 1.9, "no division": 3e8})
    assert plt.gca().get_xlabel() and plt.gca().get_ylabel() and len(plt.gca().patches) == 2
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


@pytest.mark.campaign
def test_the_script_of_the_weights_writes_weights_that_fit(tmp_path, monkeypatch):
    folder = folder_of_chapters() / "small_shakespeare"
    text = (folder_of_chapters() / "12b_text" / "shakespeare.txt").read_text(encoding="utf-8")
    (tmp_path / "train.txt").write_text(text, encoding="utf-8")
    (tmp_path / "valid.txt").write_text(text[:500], encoding="utf-8")
    copy = tmp_path / "train.py"
    source = (folder / "train.py").read_text(encoding="utf-8")
    copy.write_text(source.replace("STEPS, WARMUP, BATCH = 5000", "STEPS, WARMUP, BATCH = 2"))
    monkeypatch.setattr("sys.argv", [str(copy), str(tmp_path)])
    runpy.run_path(str(copy), run_name="__main__")
    load_weights(chat_model.small().model, tmp_path / "weights.safetensors")
    assert (tmp_path / "weights.safetensors").stat().st_size < 500_000
