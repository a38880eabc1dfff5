"""README and docs say what the code does: their Python runs, their commands exist, their files are
there, CI uses them.
"""

import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import matplotlib.image
import pytest

from research.benchmarks.__main__ import make_parser
from minitransformer.cli import main
from minitransformer.cli.parser import COMMANDS, module_of
from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.models import MODELS
from minitransformer.dispatch import TABLE, running
from minitransformer.speed.kernels import kernels_run
from minitransformer.tasks import TASKS
from tests import ROOT
from tests.helpers.command import train
from tests.helpers.documents import (
    PAGES,
    CONTRIBUTING,
    OTHER_PROGRAMS,
    blocks,
    prose,
    program,
    commands,
    typed,
    new_files,
)

pytestmark = pytest.mark.slow

MOST_FILES = {
    "add_a_layer": 2,
    "add_a_task": 1,
    "add_a_model": 4,
    "add_a_kernel": 2,
}  # that a contribution may need


WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]
WITH_COMMANDS = [page for page in PAGES if typed(page)]
CONTRIBUTIONS = [ROOT / "docs" / f"{name}.md" for name in MOST_FILES]


def by_stem(page):
    return page.stem


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A folder of runs, with the one that README's first command makes (after a few steps)."""
    folder = tmp_path_factory.mktemp("docs") / "runs"
    train("copy --steps 10 --run", folder / "copy")
    return folder


@pytest.fixture
def a_copy_run(runs, tmp_path, monkeypatch):
    """A current folder in which README's first command has run."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(runs, "runs")


@pytest.fixture
def registering():
    """Whatever a page registers is unregistered after it."""
    tables = [(table, dict(table)) for table in (MODELS, TASKS, VOCABULARIES)]
    with kernels_run():
        running()  # loads the kernels
    kernels = {name: entry.kernels for name, entry in TABLE.items()}
    yield
    for table, before in tables:
        table.loaded = before
    for name, before in kernels.items():
        TABLE[name].kernels = before
    assert not any(entry.own for entry in TABLE.values())


@pytest.mark.parametrize("page", WITH_PYTHON, ids=by_stem)
def test_python_blocks_run(page, a_copy_run, registering):
    exec(compile(program(page), str(page), "exec"), {"__name__": "__main__"})


def test_several_machines_shows_what_its_model_prints():
    page, printed = ROOT / "docs" / "several_machines.md", io.StringIO()
    with redirect_stdout(printed):
        exec(compile(program(page), str(page), "exec"), {"__name__": "__main__"})
    assert blocks(page, "text") == [printed.getvalue()]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name == "docs"], ids=by_stem
)
def test_a_page_is_as_short_as_a_chapter(page):
    """And there are few of them. A word contains a letter or a digit; code is not counted."""
    words = len(re.findall(r"\S*\w\S*", prose(page)))
    assert words < 1500 or page.stem == "glossary"  # which is looked up, not read
    assert len([*page.parent.glob("*.md")]) <= 21


def test_readme_is_a_front_door():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.parametrize(
    "code", blocks(ROOT / "README.md", "python"), ids=lambda code: code.split("\n")[0]
)
def test_each_block_of_the_readme_runs_alone_and_twice(code, tmp_path):
    """In an empty folder and a fresh interpreter; what it writes the first time does not disturb
    the second.
    """
    once, again = (
        subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        for _ in range(2)
    )
    assert once.returncode == 0 and not once.stderr, once.stderr
    assert (again.returncode, again.stdout, again.stderr) == (
        once.returncode,
        once.stdout,
        once.stderr,
    )


@pytest.mark.parametrize(
    "page, says", [("README.md", "It can:"), ("docs/what_is_proven.md", "It prints")]
)
def test_the_page_quotes_the_doctor(page, says):
    """The sentence after a gradient check is one that a check on this page prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        for code in blocks(ROOT / page, "python"):
            if "gradcheck(" in code:
                exec(code, {"__name__": "__main__"})
    quoted = re.search(
        f'^{says} "([^"]+)"', (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE
    )[1]
    assert " ".join(quoted.split()) in printed.getvalue()


def test_the_picture_of_the_readme_can_be_drawn(tmp_path):
    """By the command that its script gives; it is as large as the committed one, and small enough
    for a page.
    """
    script = ROOT / "docs" / "pictures" / "architecture.py"
    (command,) = re.findall(
        "^ *python (docs/.+)$", script.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert command == "docs/pictures/architecture.py docs/pictures/architecture.png"
    runpy.run_path(str(script))["draw"](tmp_path / "picture.png")
    drawn, committed = tmp_path / "picture.png", ROOT / command.split()[1]
    sizes = [matplotlib.image.imread(picture).shape for picture in (drawn, committed)]
    assert (
        all(abs(one - other) <= 8 for one, other in zip(*sizes))
        and committed.stat().st_size <= 150_000
    )


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=by_stem)
def test_commands_are_accepted(page, registering, monkeypatch, capfd):
    """Each `minitransformer ...` of a page parses; only its work is skipped."""
    for code in new_files(page).values():
        exec(compile(code, str(page), "exec"), {"__name__": "__main__"})
    parsed = []
    for name in COMMANDS:
        monkeypatch.setattr(
            f"{module_of(name).__name__}.execute", lambda args: parsed.append(args) or 0
        )
    for arguments in typed(page):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code
        assert code == 0, (arguments, capfd.readouterr().err)
    assert len(parsed) == sum("--help" not in arguments for arguments in typed(page))


@pytest.mark.parametrize("page", PAGES, ids=by_stem)
def test_benchmarks_are_accepted(page):
    text = [
        words for words in commands(page) if words[:3] == ["python", "-m", "research.benchmarks"]
    ]
    text += [
        ["python", "-m", *shlex.split(found)]
        for found in re.findall(r"`python -m (benchmarks [^`]+)`", prose(page))
    ]
    for _, _, _, *arguments in text:
        make_parser(arguments).parse_args(arguments)


def test_no_command_is_overlooked():
    """What follows "minitransformer " in a bash block was parsed; everything else there is known
    and exists.
    """
    assert {page for page in PAGES if "minitransformer " in "".join(blocks(page, "bash"))} <= set(
        WITH_COMMANDS
    )
    assert ROOT / "README.md" in WITH_COMMANDS
    for page in (*PAGES, CONTRIBUTING):
        text = "\n".join(
            re.sub(r"(^|\s)#.*", "", block, flags=re.MULTILINE) for block in blocks(page, "bash")
        )
        found = commands(page)
        assert len(re.findall(r"\bminitransformer ", text)) == sum(
            words[0] == "minitransformer" for words in found
        ), page
        for name, *arguments in found:
            assert name == "minitransformer" or name in OTHER_PROGRAMS, (page, name)
            if name == "python":
                assert arguments[0] == "-m" or (ROOT / arguments[0]).exists(), (page, arguments)


@pytest.mark.parametrize("page", [*PAGES, CONTRIBUTING], ids=by_stem)
def test_files_and_links_exist(page):
    """Every file that a page names, unless the reader is to write it, and every relative link."""
    text = prose(page)
    to_write = {*new_files(page), "tests/library/layers/test_rms_norm.py"}
    for name in re.findall(r"`((?:[\w.]+/)+[\w.]*\w\.(?:py|md|txt))`", text):
        if name not in to_write and not name.startswith(("runs/", "data/multi30k")):
            assert any(
                (folder / name).exists() for folder in (ROOT, ROOT / "minitransformer", page.parent)
            ), (page, name)
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (page.parent / link).exists(), (page, link)


@pytest.mark.parametrize("page", CONTRIBUTIONS, ids=by_stem)
def test_a_contribution_needs_few_files(page):
    """One code block each: and nothing that is already there has to be edited."""
    files = new_files(page)
    assert 1 <= len(files) <= MOST_FILES[page.stem]
    assert not any((ROOT / name).exists() for name in files)


KERNELS = [
    "from minitransformer.dispatch import running",
    "from minitransformer.speed.kernels import kernels_run",
    "with kernels_run(): print(*(f'{f.__module__}.{f.__name__}' for f in running().values()))",
]


@pytest.mark.parametrize(
    "name, arguments, shown",
    [
        ("add_a_task", ["train", "--help"], ["count repeated letters"]),
        (
            "add_a_model",
            "train bigram --train a.txt --valid a.txt --steps 2".split(),
            ["saved in runs/bigram"],
        ),
        (
            "add_a_kernel",
            None,
            [
                "softmax_in_place.softmax_backward_in_place",
                "gelu_compiled.gelu_backward_compiled",
            ],
        ),
    ],
)
def test_the_new_files_are_enough(name, arguments, shown, tmp_path):
    """In a separate process, which imports the page's files."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one two buckle my shoe. " * 20)
    lines = ["import sys", "from importlib import import_module"]
    for path, code in new_files(ROOT / "docs" / f"{name}.md").items():
        file = tmp_path / path
        file.write_text(code, encoding="utf-8")
        lines.append(f"sys.path.insert(0, {str(tmp_path)!r}); import_module({Path(path).stem!r})")
    lines += (
        KERNELS
        if arguments is None
        else ["from minitransformer.cli import main", f"raise SystemExit(main({arguments!r}))"]
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        cwd=work,
        env={
            **os.environ,
            "COLUMNS": "200",
            "MPLBACKEND": "agg",
            **({"MINITRANSFORMER_FAST": "0"} if arguments else {}),
        },
    )
    assert done.returncode == 0 and all(words in done.stdout for words in shown), done.stderr
    assert "report.html was not written" not in done.stderr


def test_the_kernels_of_the_page_run_and_none_does_beside_a_plug(registering):
    """Each fits the arrays of a call, also those in the cache; and what the page says of a plug
    holds for what is called.
    """
    page, names = ROOT / "docs" / "add_a_kernel.md", {}
    exec(compile(program(page), str(page), "exec"), names)
    F, plugged = names["F"], names["plugged"]
    for name in "gelu", "softmax":
        backward = getattr(F, f"{name}_backward")
        own = [function for name, function in names.items() if name.startswith(backward.name + "_")]
        with kernels_run():
            assert own and running()[backward.name] in own
            with plugged(F.relu_backward, F.relu_backward.textbook):
                assert backward.__call__ is backward.textbook


def pytest_commands():
    """The arguments of every pytest command in a document, and in what the tests and the package
    say of themselves.
    """
    files = [*ROOT.glob("*.md")]
    for folder in "docs", "research", "tests", "minitransformer":
        files += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".md", ".py")]
    setting = r"(?:\w+=\S+ )?"  # such as MINITRANSFORMER_FUZZ=2500
    command = re.compile(
        rf"`{setting}python -m pytest\b([^`]*)`|^(?:.*&& |{setting})python -m pytest\b([^#`\n]*)",
        re.MULTILINE,
    )
    found = {
        " ".join("".join(groups).split())
        for path in files
        for groups in command.findall(path.read_text(encoding="utf-8"))
    }
    return sorted(found)


def test_the_commands_of_the_campaigns_are_found():
    found = pytest_commands()
    assert {
        "-n auto",
        "-m gpu",
        "-m campaign tests/library/cli/test_fuzz.py",
        "-m campaign -s tests/library/runs/test_kill.py",
    } <= {*found}


@pytest.mark.campaign
@pytest.mark.parametrize(
    "arguments",
    [command for command in pytest_commands() if "tests/" in command or "gpu" in command],
)
def test_a_pytest_command_runs_tests(arguments):
    """Its marker does not deselect what it names, as pyproject.toml's would. Those that name
    nothing are CI's own, and the fast lane.
    """
    words = shlex.split(arguments.replace("NAME", "softmax_backward"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--collect-only", "-p", "no:cacheprovider"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout  # 5: no tests were collected


def test_no_source_file_that_the_site_shows_has_the_name_of_a_page(monkeypatch):
    """Sphinx would show one of the two."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("MPLBACKEND", "agg")
    shown = runpy.run_path(str(ROOT / "docs" / "conf.py"))["linked"]
    assert shown and not any((ROOT / path).with_suffix(".md").exists() for path in shown)


def test_the_site_keeps_the_results_of_the_present_code_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])  # it puts folders of its own in front,
    monkeypatch.setenv("MPLBACKEND", "agg")  # and chooses how pictures are drawn
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "conf.py", tmp_path / "docs")
    settings = runpy.run_path(str(tmp_path / "docs" / "conf.py"))
    current = Path(settings["nb_execution_cache_path"])
    for folder in (current, current.with_name("of older code")):
        folder.mkdir(parents=True)
        (folder / "result").write_text("1")
    settings["setup"](None)
    assert [*current.parent.iterdir()] == [current] and (current / "result").exists()
