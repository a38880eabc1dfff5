"""Pages that train a model and take it apart: what their sentences say of the output is measured
again, as a learner gets the page, with every blank empty.
"""

import re
import runpy

import matplotlib.pyplot as plt
import numpy as np
import pytest

from minitransformer_course import lab
from minitransformer_course.judge.course import find_chapter
from minitransformer_course.judge.learner_file import percent_page

pytestmark = pytest.mark.campaign


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """run(chapter) -> (the page's names, what it printed), from an empty folder."""

    def run(chapter):
        page = tmp_path / f"{find_chapter(chapter).name}.py"
        page.write_text(percent_page(find_chapter(chapter)), encoding="utf-8")
        names = runpy.run_path(str(page))
        return names, capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    yield run
    plt.close("all")


def test_what_a_head_has_learned(run):
    page, printed = run("13b")
    for _model, losses, scores in page["runs"][2]:
        assert np.mean(losses[:50]) > 3 and np.mean(losses[-20:]) < 0.2
        falling = [np.mean(losses[i : i + 10]) for i in range(0, 500, 10)]
        assert max(a - b for a, b in zip(falling, falling[6:])) > 1.2  # in sixty steps
        assert scores[480][1] > 0.85 and scores[480][0] < 0.2
    for _model, losses, _scores in page["runs"][1]:
        assert np.log(8) - 0.1 < np.mean(losses[-20:]) < np.log(8) + 0.2
    d, o = page["word"].rindex("d"), page["word"].index("o")
    assert page["weights"][1][0, 0, d].argmax() == o
    assert page["weights"][0][0, 0, o].argmax() == o - 1
    off = [line for line in printed.splitlines() if line.startswith("off:")]
    losses = [float(line.partition("loss ")[2].partition(",")[0]) for line in off]
    scores = [float(line.rpartition("[")[2].split()[0].rstrip("]")) for line in off]
    assert losses[0] < 0.2 and min(losses[1:3]) > np.log(26)
    assert scores[1] < 0.2 and scores[2] > 0.85
    assert losses[3] < 0.2 and max(losses[4:]) < 0.5
    for effects in (page["measured"], page["estimated"]):
        assert {*np.flatnonzero(effects.ravel() > 0.2 * effects.max())} == {1, 9 + 8}
        assert effects[0, 0] < 0
    told = [line for line in printed.splitlines() if line.startswith("zwirbelkopfz")]
    assert [line == 2 * "zwirbelkopf" for line in told] == [True, False, False]


def test_what_distance_costs(run):
    page, printed = run("15")
    (faded,) = re.findall(
        r"^RNN: (.*); GRU: (.*); .* 0: (.*); .* 1: (.*); .* 3: (.*)$", printed, re.MULTILINE
    )
    rnn, gru, *lstm = map(float, faded)
    assert max(rnn, gru, lstm[0]) < 1e-7 and 1e-4 < lstm[1] < 1e-2 and lstm[2] > 1
    fresh, *trained = (curve[-3:].mean() / curve[:3].mean() for curve in page["curves"].values())
    assert fresh < 0.5 and min(trained) > 1
    without, attending = (
        np.array([page["recurrent"].copied(model) for model in models])
        for models in page["models"].values()
    )
    assert min(without[:, 0].min(), attending[:, 0].min()) > 0.95
    assert (attending.min(axis=0) > without.max(axis=0))[1:].all()
    assert "letters right: [1.0, 0.97," in printed


def test_what_the_pronoun_depends_on(run):
    page, _printed = run("17")
    for sentence, pronoun, needed in zip(
        page["sentences"], ("es", "sie"), ({"animal"}, {"street", "wide"}), strict=True
    ):
        for cross in (False, True):
            lost = {
                word
                for word in ("animal", "street", sentence.split()[-1])
                if not page["without"](word, sentence, cross).startswith(pronoun)
            }
            assert lost == (needed if cross else set())


def test_something_new(run):
    page, _printed = run("13c")
    (_model, here), *_others = page["taught"]["detours, answers"]
    (_model, saved), *_others = lab.teaching.three_seeds("detours, answers", 0, None)
    assert here.keys() == saved.keys()
    assert np.allclose([*here.values()], [*saved.values()], atol=0.03)
    ends = {
        name: np.array([[*measured.values()][-1] for _model, measured in runs])
        for name, runs in page["taught"].items()
    }
    (right, bits), (right_of_all, _), (full, bits_full) = (one.T for one in ends.values())
    assert min(right) > 0.5 and max(right_of_all) < 0.35 and min(full) > 0.98
    assert max(bits) < 2.6 and min(bits_full) > max(bits) + 0.3
    for name, found in page["runs"].items():
        (saved, _texts), *_others = lab.teaching.three_seeds(name, 0, None)
        assert np.allclose(np.array(found[0][0])[:, :3], np.array(saved)[:, :3], atol=0.1)
    alone, held_back = page["runs"].values()
    for (rewards, costs), _texts in alone:
        assert np.mean(rewards[-5:]) > 0.95 and np.mean(costs[-5:]) > 6
    for (rewards, costs), _texts in held_back:
        assert np.mean(rewards[-5:]) > np.mean(rewards[:5]) + 0.2 and np.mean(costs[-5:]) < 3.5


def test_a_parrot_copies_and_the_first_model_does_not(run):
    page, _printed = run("12b")
    saved = lab.text.saved(page["model"], "shakespeare")
    for step in range(0, 201, 50):
        assert page["bits"][step] == pytest.approx(saved[step], abs=0.05)
    unseen = page["unseen"]
    bits = page["bits_per_character"](page["model"].forward(unseen)[0], unseen)
    assert bits == pytest.approx(page["bits"][2000][1], abs=0.005)
    shakespeare, model, parrot = (ten for _five, ten in page["shares"].values())
    assert parrot > shakespeare + 0.1 and model <= shakespeare < 0.3
    (start, *_), (seen, unseen) = page["few"].values(), page["few"][800]
    assert seen < 1 and unseen > start[1] - 2 and unseen > 6
    assert min(page["few"].values(), key=lambda both: both[1]) in (
        page["few"][50],
        page["few"][100],
    )
    assert page["bits"][2000][1] < 2.6 < page["levels"]["pairs"]
