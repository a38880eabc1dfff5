"""A Korean Windows console, cp949: a character that it lacks never stops a command, a program behind
a pipe gets what the console shows, and every file is UTF-8.
"""

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

TEXT = "the café dog ▁ \u2028 Ωmega 한국어 漢 naïve 😀 is here .\n"
COMMANDS = [  # each is run in the folder of the text
    (
        "train language --train text --valid text --steps 2 --config toy --d-model 8 --num-heads 2 --window 16 --batch 2 --run 한é😀",
        0,
    ),
    ("evaluate 한é😀", 0),
    ("attention 한é😀 naïve😀 --output é😀.png", 0),
    ("generate 한é😀 naïve😀 --max-length 40", 0),
    ("generate 한é😀 ÿ😂", 2),
    ("train numbers --language korean --steps 2 --batch 2 --config toy --run 숫é", 0),
    ("translate 숫é twenty", 0),
    ("translate 숫é ÿ😂", 2),
    ("export 숫é --output ü.safetensors", 0),
    ("train é😀", 2),
]
SCRIPT = """
import sys, warnings
warnings.filterwarnings("error", category=EncodingWarning, module="minitransformer")
from minitransformer.cli import main
from minitransformer.tasks import toy
toy.VALID = toy.TEST = 20
for words, expected in {commands!r}:
    try:
        code = main(words.split())
    except SystemExit as stop:
        code = stop.code
    assert code == expected, (words, code)
print("all done")
"""


def in_cp949(folder, commands, **streams):
    (folder / "text").write_text(TEXT * 20, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONIOENCODING": "cp949:strict",
        "LC_ALL": "C.UTF-8",
        "MINITRANSFORMER_FAST": "0",
    }
    return subprocess.Popen(
        [sys.executable, "-X", "warn_default_encoding", "-c", SCRIPT.format(commands=commands)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        **streams,
    )


@pytest.mark.campaign
def test_in_a_terminal_what_cp949_lacks_is_an_escape(tmp_path):
    pty = pytest.importorskip("pty")
    terminal, end = pty.openpty()
    process = in_cp949(tmp_path, COMMANDS, stdout=end, stderr=end)
    os.close(end)
    shown = b""
    try:
        while more := os.read(terminal, 10_000):
            shown += more
    except OSError:  # the process has ended
        pass
    os.close(terminal)
    text = shown.decode("cp949")  # all of it is
    assert process.wait() == 0 and "all done" in text and "Traceback" not in text, text
    assert (
        r"saved in 한\xe9\U0001f600" in text
        and r"drawn: \xe9\U0001f600.png" in text
        and r"na\xefve\U0001f600" in text
    )
    assert (
        r"unknown symbol '\xff\U0001f602'" in text and r"invalid choice: '\xe9\U0001f600'" in text
    )


def test_a_program_behind_a_pipe_gets_what_the_console_shows(tmp_path):
    process = in_cp949(tmp_path, COMMANDS[:1], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, error = process.communicate()
    assert process.returncode == 0, error.decode("cp949")
    assert r"saved in 한\xe9\U0001f600" in out.decode("cp949")
    assert "Traceback" not in error.decode("cp949")
    page = (tmp_path / "한é😀" / "report.html").read_text(encoding="utf-8")
    assert "café dog ▁ \u2028 Ωmega 한국어 漢 naïve 😀" in page
    assert "한é😀&quot;\n" in page and "\\ud55c" not in page  # the folder's name


CONSOLE = """
import io, sys
sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="cp949")
sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="cp949")
from minitransformer.cli import main
sys.exit(main({arguments!r}))
"""


def on_a_console(arguments, environment=(), **streams):
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    code = CONSOLE.format(arguments=[str(one) for one in arguments])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**usual, "MINITRANSFORMER_FAST": "0", **dict(environment)},
        stderr=subprocess.PIPE,
        **streams,
    )


@pytest.mark.parametrize(
    "environment, encoding", [({}, "utf-8"), ({"PYTHONIOENCODING": "cp949"}, "cp949")]
)
def test_a_file_is_utf_8_unless_it_is_asked_otherwise(
    tmp_path, language_run, environment, encoding
):
    """Like the files that the commands read."""
    run = tmp_path / "한국어"
    shutil.copytree(language_run, run)
    with (tmp_path / "out").open("wb") as file:
        words = ["attention", run, "the dog", "--output", tmp_path / "한.png"]
        assert on_a_console(words, environment, stdout=file).returncode == 0
    assert "한.png" in (tmp_path / "out").read_bytes().decode(encoding)


def test_typed_text_is_in_the_encoding_of_the_console(numbers_run):
    """Or UTF-8, as in a file that is sent in."""
    found = [
        on_a_console(["translate", numbers_run], input=text, stdout=subprocess.PIPE)
        for text in ("한국어\n".encode("cp949"), "한국어\n".encode(), b"\xff\xff\n")
    ]
    assert [done.returncode for done in found] == [2, 2, 2]
    first, second, broken = (done.stderr.decode() for done in found)
    assert first == second and "'한국어'" in first
    assert "standard input, line 1: not UTF-8 text" in broken
