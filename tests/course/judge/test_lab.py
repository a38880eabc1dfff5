"""learn.lab: the running example of the book, and what chapters share."""

import os
import runpy
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from minitransformer import InputError, load_weights
from minitransformer.data.drawn import draw_held_out
from minitransformer.functional import layer_norm_backward, layer_norm_forward
from minitransformer.pictures import architecture
from minitransformer.tasks import TASKS
from minitransformer.tasks.evaluation import exact_match
from minitransformer_course import lab
from minitransformer_course.judge import cells
from minitransformer_course.judge.course import (
    PARTS,
    chapters,
    exercises,
    find_chapter,
    folder_of_chapters,
)
from minitransformer_course.judge.learner_progress import PASSED, Progress
from minitransformer_course.judge.my_transformer import SECTION
from minitransformer_course.judge.plug import in_the_paper
from minitransformer_course.lab.own_functions import GAINS
from tests import ROOT

pytestmark = pytest.mark.slow

FOLDER = folder_of_chapters() / "drawkcab"
WORDS = (
    "a",
    "go",
    "key",
    "query",
    "value",
    "softmax",
    "decoder",
    "gradient",
    "language",
    "backward",
    "attention",
    "embedding",
    "transformer",
)
SCRIPT = """from minitransformer_course import lab
import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.figure()
"""


def test_the_running_example_reverses_every_word():
    model, vocabulary = lab.drawkcab()
    assert lab.write(model, vocabulary, "backward") == "drawkcab"
    assert [lab.write(model, vocabulary, word) for word in WORDS] == [word[::-1] for word in WORDS]
    assert exact_match(model, draw_held_out(TASKS["reverse"](), 1000)) == 1


def test_its_weights_are_small():
    assert (FOLDER / "weights.safetensors").stat().st_size <= 250_000


def test_each_call_makes_a_model_of_its_own():
    model, vocabulary = lab.drawkcab()
    for parameter in model.parameters().values():
        parameter.data[...] = 0
    assert (
        lab.write(model, vocabulary, "backward")
        != "drawkcab"
        == lab.write(*lab.drawkcab(), "backward")
    )


@pytest.mark.parametrize("word", ["Backward", "naïve", "r2d2"])
def test_a_word_of_other_characters_is_one_line(word):
    with pytest.raises(InputError, match="unknown symbol"):
        lab.write(*lab.drawkcab(), word)


def test_a_head_looks_at_the_letter_that_it_writes():
    for word in ("softmax", "backward", "attention"):
        cross = lab.attention_of(*lab.drawkcab(), word)
        assert cross.weights.shape == (4, len(word) + 1, len(word) + 1)
        assert (
            cross.predicted == [*word[::-1], "</s>"]
            and cross.keys == [*word, "</s>"]
            and cross.queries == ["<s>", *word[::-1]]
        )
        there = cross.weights[:, range(len(word)), range(len(word) - 1, -1, -1)]  # (H, letters)
        assert there.mean(axis=-1).max() > 0.95
    encoder = lab.attention_of(*lab.drawkcab(), "softmax", "encoder")
    assert encoder.weights.shape == (4, 8, 8) and encoder.predicted is None


def test_a_map_names_its_letters_and_its_axes(axes):
    cross = lab.attention_of(*lab.drawkcab(), "key")
    image = lab.show_map(axes, cross, head=2)
    assert np.array_equal(image.get_array(), cross.weights[2])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["k", "e", "y", "</s>"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["y", "e", "k", "</s>"]
    assert "key" in axes.get_xlabel() and "being written" in axes.get_ylabel()


def drawn(monkeypatch, *parts):
    """(here, own) with which the map is drawn."""
    found = {}
    draw = architecture.draw
    monkeypatch.setattr(
        architecture, "draw", lambda axes, **how: (found.update(how), draw(axes, **how))
    )
    lab.you_are_here(*parts)
    monkeypatch.undo()
    return found["here"], found["own"]


def test_the_map_shows_where_the_reader_is_and_what_is_the_readers_own(tmp_path, monkeypatch):
    progress = Progress(tmp_path)
    progress.update("softmax", state=PASSED)
    progress.update("sinusoids", state=PASSED)
    progress.save()
    monkeypatch.chdir(tmp_path)
    lab.you_are_here("softmax", "masks")
    assert plt.get_fignums() == [1] and drawn(monkeypatch, "softmax", "masks") == (
        ("softmax", "masks"),
        ["positions"],
    )
    progress.update("softmax_backward", state=PASSED)
    progress.save()
    monkeypatch.chdir(tmp_path)
    assert drawn(monkeypatch, "softmax")[1] == ["positions", "softmax"]


def test_the_parts_are_on_the_map_and_their_exercises_exist():
    assert PARTS.keys() <= architecture.PARTS.keys()
    assert {name for names in PARTS.values() for name in names} <= exercises().keys()


@pytest.mark.parametrize("seed", range(3))
def test_post_norm_starves_the_first_layers_of_a_deep_decoder_and_pre_norm_does_not(seed):
    """It does so with Xavier's weights, but not with the library's own, which are smaller."""

    def first_to_last(pre_norm, xavier=True):
        model, cache, dloss = lab.deep(pre_norm, seed, xavier)
        model.loss_backward(dloss, cache)
        first, *_, last = (
            np.linalg.norm(layer.feed_forward.outer.weight.grad) for layer in model.decoder.layers
        )
        return first / last

    assert first_to_last(pre_norm=False) < 1e-3 and first_to_last(pre_norm=True) > 1
    assert first_to_last(pre_norm=False, xavier=False) > 0.1


def test_a_deep_model_has_xaviers_weights():
    for name, parameter in lab.deep(False, 0)[0].parameters().items():
        if name.endswith(
            (
                "query.weight",
                "key.weight",
                "value.weight",
                "output.weight",
                "inner.weight",
                "outer.weight",
            )
        ):
            assert parameter.data.std() == pytest.approx(
                np.sqrt(2 / sum(parameter.data.shape)), rel=0.15
            ), name


def test_the_circle_of_layer_norm_is_where_it_moves_rows():
    x = np.random.default_rng(0).standard_normal((5, 3))
    n, cache = layer_norm_forward(x, np.ones(3), np.zeros(3))
    _, both = plt.subplots(1, 2, subplot_kw={"projection": "3d"})
    lab.show_norm(both, x, n, layer_norm_backward(x, cache)[0])
    for axes in both:
        circle = np.transpose(axes.lines[-1].get_data_3d())
        assert (
            np.abs(circle.mean(axis=1)).max() < 1e-9 and np.abs(circle.var(axis=1) - 1).max() < 1e-9
        )
        assert all(np.linalg.norm(circle - row, axis=1).min() < 0.1 for row in n)


def test_only_post_norm_has_its_norm_on_the_direct_path():
    _, both = plt.subplots(1, 2)
    lab.show_orders(both)
    on_the_path = [
        [text.get_text() for text in axes.texts if text.get_position()[0] == 0 and text.get_text()]
        for axes in both
    ]
    assert on_the_path == [["x", "+", "LayerNorm", "y"], ["x", "+", "y"]]


def test_the_inputs_of_cross_attention_are_those_that_give_its_weights():
    model, vocabulary = lab.drawkcab()
    x, memory = lab.cross_attention_inputs(model, vocabulary, "softmax")
    layer = model.decoder.layers[-1].cross_attention
    _y, cache = layer.forward(x[None], memory[None])
    np.testing.assert_allclose(
        layer.attended(cache)[0], lab.attention_of(model, vocabulary, "softmax").weights, atol=1e-5
    )


def test_the_loss_as_a_function_of_all_weights_has_the_gradient_of_the_library():
    f, w, gradient = lab.loss_of_weights(*lab.drawkcab(), "key")
    v = np.random.default_rng(0).standard_normal(w.size)
    assert f(w + 1e-20j * v).imag / 1e-20 == pytest.approx((gradient * v).sum(), rel=1e-12)
    model, vocabulary = lab.drawkcab()
    for _twice in range(2):
        lab.add_gradients(model, vocabulary, "key")
    np.testing.assert_allclose(model.flat.grad, 2 * gradient, atol=1e-5)


def texts(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def test_a_graph_shows_each_node_with_its_value_and_its_gradient(axes):
    lab.show_graph(
        axes,
        {"p": ["x", "W"], "y": ["p", "b"]},
        {"x": 3, "W": 2, "p": 6, "b": 4, "y": 10},
        dict.fromkeys("xWpby", 0.5),
    )
    assert sorted(texts(axes)) == sorted(
        ["$x$", "$W$", "$p$", "$b$", "$y$", "3", "2", "6", "4", "10", *5 * ["0.5"]]
    )
    places = {
        text.get_text(): text.get_position()
        for text in axes.texts
        if text.get_text().startswith("$")
    }
    assert (
        places["$x$"][0]
        == places["$W$"][0]
        < places["$p$"][0]
        == places["$b$"][0]
        < places["$y$"][0]
    )


def test_a_lookup_has_two_arrows_into_the_row_of_a_repeated_token(axes):
    lab.show_lookup(axes, ["the", "cat", "the"], np.array([0, 1, 0]), ["the", "cat"])
    ends = [one.xy for one in axes.texts if hasattr(one, "xy")]
    assert len(ends) == 3 and ends[0] == ends[2] != ends[1]
    assert texts(axes).count("dy") == 3 and "row of\ncat" in texts(axes)


def test_scores_and_losses_name_their_axes(axes):
    image = lab.show_scores(axes, np.array([[1.0, -3.0]]), "a", "bc")
    assert (
        image.get_clim() == (-3, 3) and "query" in axes.get_ylabel() and "key" in axes.get_xlabel()
    )
    axes = plt.figure().subplots()
    lab.show_losses(axes, {"right": [3, 2], "wrong": [3, 3]}, level=(1, "floor"))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "right",
        "wrong",
        "floor",
    ]
    assert axes.get_xlabel() == "training step" and axes.lines[0].get_xdata()[0] == 1


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)},
    )


def test_a_script_saves_its_figures_and_names_the_files(tmp_path):
    (tmp_path / "04_softmax.py").write_text(SCRIPT)
    done = run(tmp_path, "04_softmax.py")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "figure 1: 04_softmax-1.png\nfigure 2: 04_softmax-2.png\n",
        "",
    )
    assert (tmp_path / "04_softmax-1.png").read_bytes().startswith(b"\x89PNG") and (
        tmp_path / "04_softmax-2.png"
    ).exists()


def test_a_script_that_stops_shows_the_figures_that_it_had(tmp_path):
    (tmp_path / "stops.py").write_text(SCRIPT + "1 / 0\n")
    done = run(tmp_path, "stops.py")
    assert (
        done.returncode == 1 and "stops-2.png" in done.stdout and "ZeroDivisionError" in done.stderr
    )


def test_outside_a_script_nothing_is_saved(tmp_path):
    assert run(tmp_path, "-c", SCRIPT).stdout == "" and not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "full.py").write_text(SCRIPT)
    (tmp_path / "full-1.png").mkdir()
    done = run(tmp_path, "full.py")
    assert (
        done.returncode == 0
        and done.stderr == "full-1.png: Is a directory\n"
        and "full-2.png" in done.stdout
    )


def test_where_matplotlib_has_windows_a_script_opens_them(tmp_path, monkeypatch):
    shown = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.get_fignums()))
    figure = plt.figure()
    monkeypatch.setattr(figure.canvas, "required_interactive_framework", "tk", raising=False)
    lab.script.show_figures("script")
    assert shown == [[figure.number]] and not list(tmp_path.iterdir())


@pytest.mark.campaign
def test_the_script_of_the_weights_writes_weights_that_fit(tmp_path):
    text = (FOLDER / "train.py").read_text(encoding="utf-8")
    steps = f"STEPS = {runpy.run_path(str(FOLDER / 'train.py'), run_name='read')['STEPS']}"
    copy = tmp_path / "train.py"
    copy.write_text(text.replace(steps, "STEPS = 2"), encoding="utf-8")
    done = run(tmp_path, copy)
    assert done.returncode == 0 and "exact match" in done.stdout
    load_weights(lab.drawkcab()[0], tmp_path / "weights.safetensors")


def test_a_tree_shows_every_hypothesis_and_what_became_of_it(axes):
    tried = [
        (("<s>", "so"), np.log(0.5)),
        (("<s>", "</s>"), np.log(0.1)),
        (("<s>", "so", "</s>"), np.log(0.2)),
    ]
    lab.show_tree(axes, tried, [("<s>", "so", "</s>")], "width 1")
    boxes = {text.get_text(): text.get_bbox_patch() for text in axes.texts}
    assert list(boxes) == ["<s> 1.00", "so 0.50", "</s> 0.10", "</s> 0.20"]
    assert [box.get_linewidth() > 1 for box in boxes.values()] == [True, True, False, True]
    assert len({box.get_facecolor() for box in boxes.values()}) == 2 and len(axes.lines) == len(
        tried
    )


def test_the_steps_of_a_word_are_those_of_the_loop():
    model, vocabulary = lab.drawkcab()
    steps = lab.steps_of(model, vocabulary, "key")
    assert vocabulary.decode(steps.argmax(axis=-1)) == "yek" and len(steps) == 4


def test_a_cache_that_is_never_reordered_spoils_beams_but_not_short_words():
    assert lab.with_a_broken_cache(12).startswith("12 letters: 100% of the words are right")
    differ = int(lab.with_a_broken_cache(13).split()[-5].rstrip("%"))
    assert differ > 20


@pytest.mark.parametrize("pre_norm", [False, True])
def test_the_parts_of_the_memorys_gradient_add_up_to_what_the_decoder_returns(pre_norm):
    model, cache, dloss = lab.deep(pre_norm, seed=1)
    _dx, dmemory = model.decoder.backward(
        model.loss.backward(dloss, model.output, cache.loss), cache.hidden.decode.decoder
    )
    page = cells.parse(find_chapter("9").text)
    names = {"np": np, "lab": lab}
    exec(next(cell.source for cell in page if "def memory_parts" in cell.source), names)
    parts = names["memory_parts"](pre_norm, seed=1)
    assert len(parts) == 24
    np.testing.assert_allclose(parts.sum(axis=0), dmemory.ravel(), rtol=1e-4, atol=1e-7)


def test_the_shared_matrix_gets_the_sum_of_its_three_uses():
    model, vocabulary = lab.drawkcab()
    model = model.astype("float64")
    _dh, dE = exercises()["shared_backward"].reference(
        *lab.gradients_of_uses(model, vocabulary, "key")
    )
    lab.add_gradients(model, vocabulary, "key")
    np.testing.assert_allclose(dE, model.target_embedding.weight.grad, rtol=1e-10, atol=1e-14)


def test_the_closing_line_of_a_chapter_says_what_is_new_and_what_the_model_can_do_with_it(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    source = "import numpy as np\nimport math\n" + "".join(
        f"\n\n{SECTION.format(name=name, chapter='12_writing')}\n\n{exercises()[name].source}"
        for name in ("nucleus", "ranked")
    )
    (tmp_path / "my_transformer.py").write_text(source, encoding="utf-8")
    lab.run_yours("12")
    out = capsys.readouterr().out
    assert (
        f"\n2 of {len(exercises())} functions are yours; new in this chapter: nucleus, ranked\n"
        in out
    )
    assert (
        "\nNow your model samples from the likely tokens only; it chooses between a short answer and a long one.\n"
        in out
    )
    lab.run_yours("1")
    assert (
        capsys.readouterr().out
        == f"backward -> drawkcab\n2 of {len(exercises())} functions are yours\n"
    )


@pytest.mark.parametrize(
    "chapter",
    [one for one in chapters() if one.exercises and one.number not in ("15", "16", "17")],
    ids=lambda chapter: chapter.name,
)
def test_every_chapter_gives_the_readers_model_something_and_names_itself_in_its_closing_line(
    chapter,
):
    assert f'lab.run_yours("{chapter.number}")' in chapter.text
    assert (
        any(one.name in GAINS for one in chapter.exercises) and GAINS.keys() <= exercises().keys()
    )


def test_every_function_with_a_place_in_a_model_gives_it_something():
    assert {*GAINS} >= {
        "decoder_layer",
        "memory_backward",
        "shared_backward",
        "nucleus",
        "beam_step",
        "cached_step",
    }
    assert {*GAINS} >= {name for name, one in exercises().items() if one.plug} - {*in_the_paper()}
