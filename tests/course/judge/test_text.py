"""The page before the first chapter and the chapter on text: what their cells need, and how `learn`
leads through them.
"""

import json
import runpy

import matplotlib.pyplot as plt
import numpy as np
import pytest

from minitransformer import Adam, LanguageModel, LanguageModelConfig, load_weights, training_step
from minitransformer_course import lab
from minitransformer_course.judge import my_transformer
from minitransformer_course.judge.course import SHORT, chapters, exercises, folder_of_chapters
from minitransformer_course.judge.learner_progress import FILE
from minitransformer_course.judge.plug import in_the_paper

pytestmark = pytest.mark.slow


def model_of(vocabulary):
    return LanguageModel(
        LanguageModelConfig.named("toy", vocab_size=vocabulary.size, max_length=64, pre_norm=True)
    )


def bits(model, windows):
    return exercises()["bits_per_character"].reference(model.forward(windows)[0], windows)


def test_the_text_is_small_and_a_tenth_of_it_is_held_out():
    assert (folder_of_chapters() / "12b_text" / "shakespeare.txt").stat().st_size <= 300_000
    vocabulary, train, held_out = lab.text.shakespeare()
    assert vocabulary.decode(train[:14]) == "First Citizen:" and len(held_out) == pytest.approx(
        len(train) / 9, rel=1e-3
    )
    assert lab.text.windows(held_out).shape == (80, 64)
    batch = next(lab.text.random_windows(train))
    assert batch.ids.shape == (12, 64) and np.array_equal(
        batch.ids[:, 1:], batch.next_target[:, :-1]
    )


def test_a_short_training_run_comes_near_the_table_of_pairs():
    vocabulary, train, held_out = lab.text.shakespeare()
    model = model_of(vocabulary)
    adam, batches, unseen = (
        Adam(model),
        lab.text.random_windows(train),
        lab.text.windows(held_out, 20),
    )
    assert bits(model, unseen) > 8  # it bets on the character that it has just read
    for step in range(60):
        training_step(model, adam, next(batches), 0.006 * min(1, (step + 1) / 50))
    assert bits(model, unseen) < 4.3


@pytest.mark.parametrize("name, steps", [("shakespeare", 2000), ("parrot", 800)])
def test_a_saved_run_gives_the_model_its_last_weights(name, steps):
    vocabulary, train, held_out = lab.text.shakespeare()
    model = model_of(vocabulary)
    found = lab.text.saved(model, name)
    assert [*found] == [*range(0, steps + 1, 50)]
    read = train[:3000] if name == "parrot" else train
    ends = [bits(model, lab.text.windows(ids)) for ids in (read, held_out)]
    assert found[steps] == pytest.approx(ends, abs=0.01)
    path = folder_of_chapters() / "saved_runs" / f"{name}.safetensors"
    assert path.stat().st_size <= 300_000


def test_three_seeds_are_run_or_saved():
    saved = lab.teaching.three_seeds("detours, answers", 0, None)
    run = lab.teaching.three_seeds("detours, answers", 2, "{} {more}".format, more="more")
    assert run == ["0 more", "1 more", saved[2]] and len(saved) == 3
    assert all([*measured] == [0, 50, 100, 150] for _model, measured in saved)


@pytest.mark.campaign
def test_the_script_of_the_saved_runs_writes_files_that_fit(tmp_path, monkeypatch):
    source = (folder_of_chapters() / "saved_runs" / "train.py").read_text(encoding="utf-8")
    for long, short in ((" 2000)", " 2)"), (" 800)", " 1)"), ("range(3)", "range(0)")):
        assert long in source
        source = source.replace(long, short)
    (tmp_path / "train.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path("train.py", run_name="__main__")
    for name in ("shakespeare", "parrot"):
        load_weights(model_of(lab.text.shakespeare()[0]), f"{name}.safetensors")
    assert len(json.loads((tmp_path / "teaching.json").read_text(encoding="utf-8"))) == 5


def write_own(folder, names):
    """my_transformer.py with references that note their names in `calls`, under the names of the
    exercises.
    """
    parts = "".join(
        f"\n{my_transformer.SECTION.format(name=name, chapter=exercises()[name].chapter.name)}\n\n"
        f"def {name}(*given):\n    calls.append('{name}')\n    return exercises()['{name}'].reference(*given)\n\n"
        for name in names
    )
    head = "from minitransformer_course.judge.course import exercises\nfrom tests.course.judge.test_text import calls\n"
    (folder / my_transformer.FILE).write_text(my_transformer.HEAD + head + parts, encoding="utf-8")


calls: list[str] = []


def test_the_readers_functions_train_the_language_model(tmp_path, monkeypatch):
    write_own(tmp_path, [*in_the_paper(), "nucleus"])
    monkeypatch.chdir(tmp_path)
    calls.clear()
    vocabulary, train, _held_out = lab.text.shakespeare()
    with lab.own_functions() as names:
        model = model_of(vocabulary)
        training_step(model, Adam(model), next(lab.text.random_windows(train)), 0.001)
    assert names == in_the_paper()
    assert {*names} - {*calls} == {
        "softmax",
        "softmax_backward",
        "masked_softmax",
    }  # the reader's attention has its own


def test_an_earlier_function_is_the_readers_own_once_it_passed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert lab.own("nucleus") is exercises()["nucleus"].reference
    write_own(tmp_path, ["nucleus"])
    calls.clear()
    lab.own("nucleus")(np.zeros((1, 3)), 1, 1)
    assert calls == ["nucleus"]
    assert capsys.readouterr().out == "nucleus: the reference, until yours passes\nnucleus: yours\n"


def test_the_bits_of_both_texts_and_their_levels_are_drawn(axes):
    lab.text.show_bits(axes, {0: [6, 6.1], 50: [4, 4.2]}, {"pairs": 3.6})
    assert [[*line.get_ydata()] for line in axes.lines] == [[6, 4], [6.1, 4.2], [3.6, 3.6]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "training text",
        "held-out text",
    ]


def test_every_character_of_a_line_has_its_bar(axes):
    lab.text.show_costs(axes, "a b\n", [1, 2, 3])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "␣", "b", "¶"] and len(
        axes.patches
    ) == 3


def test_the_first_word_is_forgotten_the_sooner_the_longer_the_sentence():
    left = lab.before.what_is_left((3, 10, 30))
    assert left[0] > 0.3 and left[1] < 0.1 and left[2] < 1e-4


def test_with_attention_every_state_is_looked_at():
    _figure, (without, with_it) = plt.subplots(2)
    lab.before.show_reading(without)
    lab.before.show_reading(with_it, attention=True)
    arrows = [
        sum(hasattr(text, "arrow_patch") for text in axes.texts) for axes in (without, with_it)
    ]
    assert arrows[1] - arrows[0] == len(lab.before.SOURCE)
    assert "the context vector" in [text.get_text() for text in without.texts]


def test_the_page_before_the_first_chapter_has_nothing_to_check(learn, tmp_path):
    assert "learn start 0 " in learn()[1]
    code, out, _ = learn("start", "0")
    assert (
        code == 0
        and "nothing to write yet" in out
        and (tmp_path / f"{chapters()[0].name}.py").exists()
    )
    assert "learn start 1\n" in learn()[1]
    code, _, error = learn("check", "0")
    assert code == 2 and error.count("\n") == 1 and "has no exercises" in error


def test_after_a_chapter_comes_the_next_one_with_exercises(learn, tmp_path):
    (tmp_path / FILE).write_text(
        json.dumps({"exercises": {name: {"state": "passed"} for name in exercises()}})
    )
    learn("start", "1")
    assert "learn start 1b\n" in learn()[1]


def test_the_list_marks_the_path_of_three_hours(learn):
    out = learn("list")[1]
    assert [
        name
        for line in out.splitlines()
        if line.startswith("> not")
        for name in SHORT
        if f" {name} " in line
    ] == [*SHORT]
    assert "count on 35 to 45" in out
