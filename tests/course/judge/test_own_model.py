"""The reader's functions at work: in the page, in the trained model, in a model of their own."""

import runpy

import pytest

from minitransformer_course import lab, yours
from minitransformer_course.judge.course import exercises, find_exercise
from minitransformer_course.judge.judgement import check_function
from minitransformer_course.judge.plug import train
from tests.helpers.learner import solve

pytestmark = pytest.mark.slow


def test_a_seed_draws_other_weights_and_letters():
    first, again, other = (train(steps=1, seed=seed).losses for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.campaign
def test_what_passes_grows_into_a_transformer_of_the_readers_own(
    learn, tmp_path, monkeypatch, capsys
):
    code, _, error = learn("plug")
    assert code == 2 and "nothing that passes so far" in error and "softmax_backward" in error
    learn("start", "4")
    learn("start", "5")
    own = "from my_transformer import softmax\n\n\ndef rows(x):\n    return x.sum(axis=-1, keepdims=True)\n\n\n"
    solve(tmp_path / "04_softmax.py", "softmax")
    solve(
        tmp_path / "04_softmax.py",
        "softmax_backward",
        own.partition("\n")[2] + "def softmax_backward(dp, p):\n"
        "    # your code: two blanks\n    along = rows(dp * p)\n    # end of your code\n    return p * (dp - along)\n",
    )
    assert learn("check", "4")[0] == 1
    made = runpy.run_path("my_transformer.py")
    for name in ("softmax", "softmax_backward"):
        assert check_function(find_exercise(name), made[name], watched=False).passed
    text = (tmp_path / "my_transformer.py").read_text()
    assert "rows" in made and not any(
        word in text for word in ("yours", "raise", "your code", "minitransformer import")
    )
    learn("check", "4")
    assert (tmp_path / "my_transformer.py").read_text() == text
    solve(
        tmp_path / "05_attention.py",
        "attention",
        own + "def attention(Q, K, V, mask):\n    return Q, softmax(Q @ K.swapaxes(-1, -2))\n",
    )
    learn("check", "attention")
    assert (tmp_path / "my_transformer.py").read_text() == text  # it does not pass
    monkeypatch.setattr("minitransformer_course.judge.capstone.STEPS", 2)
    code, out, error = learn("plug")
    assert (
        code == 1
        and "the same as tutorials/one_file.py" in out
        and "my_transformer.py: 2 of " in out
    ), out + error
    assert "the library's: linear_backward" in out and (tmp_path / "my_transformer.html").exists()
    lab.run_yours("4")
    out = capsys.readouterr().out
    assert (
        f"drawkcab\n2 of {len(exercises())} functions are yours; new in this chapter: softmax, softmax_backward\n"
        in out
    )
    assert (
        "\nNow your model turns scores into weights and learns through them.\n2 of your functions ran in this model"
        in out
    )
    assert float(out.split()[-1]) < 1e-9
    (tmp_path / "my_transformer.py").write_text(
        text.replace("return p * (", "return 1.001 * p * (")
    )
    lab.run_yours("5")
    out = capsys.readouterr().out
    assert "2 of " in out and "new in" not in out and "Now your model" not in out
    assert float(out.split()[-1]) > 1e-5


@pytest.mark.campaign
def test_parts_of_my_transformer_that_cannot_stand_together_are_told(learn, tmp_path):
    learn("start", "4")
    solve(tmp_path / "04_softmax.py", "softmax")
    learn("check", "softmax")
    before = (tmp_path / "my_transformer.py").read_text()
    path = tmp_path / "mine.py"
    right = find_exercise("softmax_backward").source.replace("dp * p)", "times(dp, p))")
    path.write_text("import numpy as np\ndef times(a, b):\n    return a * b\n" + right)
    assert learn("check", path)[0] == 0
    right = find_exercise("log_softmax_backward").source.replace(
        "dy, y):", "dy, y):\n    times(dy, y)"
    )
    path.write_text("import numpy as np\ndef times(a, b):\n    return b * a\n" + right)
    code, _, error = learn("check", path)
    assert code == 0 and error.count("\n") == 1 and "helper 'times', and the two differ" in error
    (tmp_path / "my_transformer.py").write_text("def f(:")
    code, _, error = learn("check", "softmax")
    assert code == 0 and "my_transformer.py cannot be read (SyntaxError)" in error
    assert (tmp_path / "my_transformer.py").read_text() == "def f(:" and before


def test_a_page_goes_on_over_a_blank(capsys):
    def softmax(x):
        raise NotImplementedError

    used = yours(softmax)
    assert (
        used is find_exercise("softmax").reference
        and "softmax: the reference, until yours passes" in capsys.readouterr().out
    )
    right = find_exercise("softmax").styles[0]
    right.__name__ = "softmax"
    assert yours(right) is right and capsys.readouterr().out == "softmax: yours\n"


def test_a_part_is_imported_by_its_name(learn, tmp_path):
    """Under another name it would not be found in my_transformer.py, in which it is already."""
    for line, told in (
        ("import my_transformer as mine", True),
        ("from my_transformer import softmax as s", True),
        ("from my_transformer import softmax", False),
    ):
        used = line.split()[-1]
        right = find_exercise("softmax_backward").source.replace("dp, p):", f"dp, p):\n    {used}")
        (tmp_path / "mine.py").write_text(f"import numpy as np\n{line}\n{right}")
        (tmp_path / "my_transformer.py").write_text(
            "import numpy as np\n\n# ---- softmax (04_softmax) ----\n\n"
            + find_exercise("softmax").source
        )
        code, out, error = learn("check", tmp_path / "mine.py")
        assert code == 0 and ("import a part of my_transformer.py by its name" in error) == told, (
            out + error
        )
        assert ("def softmax_backward(" in (tmp_path / "my_transformer.py").read_text()) != told
