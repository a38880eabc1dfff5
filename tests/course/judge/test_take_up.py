"""learn start --from FILE: what was written on the pages of the site goes on in a folder."""

import json
from pathlib import Path

import pytest

from minitransformer_course.judge import my_transformer
from minitransformer_course.judge.course import find_exercise
from minitransformer_course.judge.learner_progress import FILE

pytestmark = pytest.mark.slow

RIGHT = find_exercise("softmax").source.rstrip()
WRONG = "def softmax_backward(dp, p):\n    return dp"
DRAFT = "def softmax(x):\n    return 1"
EMBEDDING = find_exercise("embedding").source.rstrip()  # it needs math


def work(*parts):
    """A file as docs/live/keep.js writes it."""
    text = '"""What I wrote."""\n\nimport math\n\nimport numpy as np\n'
    for name, source in parts:
        text += f"\n\n# ---- {name} ----\n\n{source}\n"
    Path("my_work.py").write_text(text, encoding="utf-8")


def states():
    kept = json.loads(Path(FILE).read_text(encoding="utf-8"))["exercises"]
    return {name: one["state"] for name, one in kept.items()}


def test_chapters_have_what_was_written_and_what_passed_is_proven_again(learn, tmp_path):
    work(
        ("embedding (02_embedding), passed", EMBEDDING),
        ("softmax (04_softmax), passed", RIGHT),
        ("softmax (04_softmax)", DRAFT),
        ("softmax_backward (04_softmax), passed", WRONG),
        ("left", "x"),
    )
    code, out, error = learn("start", "--from", "my_work.py")
    assert (code, error) == (0, "")
    assert "04_softmax.py: 2 of its 5 exercises" in out and "no such exercise: left\n" in out
    assert "softmax: passed" in out and "softmax_backward: not yet" in out
    page = Path("04_softmax.py").read_text(encoding="utf-8")
    assert f"{DRAFT}\n\n\nsoftmax = yours(softmax)" in page and f"\n{WRONG}\n" in page
    assert "def masked_softmax" in page and RIGHT not in page
    assert my_transformer.names_in(".") == ["embedding", "softmax"]
    assert "e = np.exp(" in Path(my_transformer.FILE).read_text(encoding="utf-8")
    passed, not_yet = "passed", "not yet"
    assert states() == {"embedding": passed, "softmax": passed, "softmax_backward": not_yet}
    assert learn("check", "embedding")[0] == 0 and learn("check", "softmax")[0] == 1


def test_what_is_there_stays_and_that_is_said(learn, tmp_path):
    work(("softmax (04_softmax), passed", RIGHT), ("embedding (02_embedding), passed", EMBEDDING))
    learn("start", "4")
    page = Path("04_softmax.py").read_bytes()
    mine = '"""Mine."""\n\n# ---- embedding (02_embedding) ----\n\ndef embedding():\n    pass\n'
    Path(my_transformer.FILE).write_text(mine, encoding="utf-8")
    code, out, _ = learn("start", "--from", "my_work.py")
    assert code == 0 and "04_softmax.py is there already and stays as it is" in out
    assert "embedding is in my_transformer.py already and stays as it is there" in out
    assert Path("04_softmax.py").read_bytes() == page
    assert Path(my_transformer.FILE).read_text(encoding="utf-8") == mine
    code, _, error = learn("start", "--from", "my_work.py")
    assert code == 2 and error.count("\n") == 1
    assert "02_embedding.py, 04_softmax.py: already there, so nothing was changed" in error


def test_as_a_notebook(learn, tmp_path):
    work(("softmax (04_softmax), passed", RIGHT))
    assert learn("start", "--from", "my_work.py", "--notebook")[0] == 0
    assert learn("check", "softmax")[0] == 0 and Path("04_softmax.ipynb").exists()


def test_what_passed_and_is_no_python_is_one_line_and_the_other_chapters_are_taken_up(learn):
    work(("embedding, passed", "def embedding("), ("softmax, passed", RIGHT))
    code, out, error = learn("start", "--from", "my_work.py")
    assert code == 0 and "02_embedding.py, line" in error and error.count("\n") == 1
    assert "softmax: passed" in out


@pytest.mark.parametrize(
    "words, said",
    [
        (["--from", "missing.py"], "missing.py: No such file"),
        (["--from", "."], ".: Is a directory"),
        (["--from", "/dev/zero"], "expected the file that a page wrote"),
        (["--from", "bytes.py"], "bytes.py is not text in UTF-8"),
        (["--from", "other.py"], 'other.py holds no exercises; expected a file that "Take it with'),
        (["--from", "other.py", "4"], "expected a chapter, or --from FILE"),
        ([], "expected a chapter, or --from FILE"),
    ],
)
def test_a_bad_file_is_one_line(learn, tmp_path, words, said):
    Path("bytes.py").write_bytes(b"\xff\xfe\x00")
    Path("other.py").write_text("# ---- soft (04_softmax) ----\n", encoding="utf-8")
    code, out, error = learn("start", *words)
    assert code == 2 and said in error and error.count("\n") == 1 and not out
    assert {one.name for one in tmp_path.iterdir()} == {"bytes.py", "other.py"}
