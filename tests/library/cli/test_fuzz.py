"""Whatever the input: at worst one line and exit code 2, and no file of the user is changed.

`MINITRANSFORMER_FUZZ=2500 python -m pytest -m campaign tests/library/cli/test_fuzz.py` is the long
form: this many cases for each of the tests.
"""

import gzip
import io
import json
import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from minitransformer import InputError, Run
from minitransformer.cli import main
from minitransformer.data.parallel import read_pairs
from minitransformer.files import MANIFEST, write_manifest
from minitransformer.tasks import toy
from minitransformer.runs.log import read_metrics

pytestmark = pytest.mark.campaign

CASES = settings(
    max_examples=int(os.environ.get("MINITRANSFORMER_FUZZ", "8")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

SMALL = (
    "--config toy --steps 2 --batch 90 --max-length 80 --validate-every 1 --vocab-size 80".split()
)
LANGUAGE = (
    "--config toy --steps 2 --batch 3 --window 10 --validate-every 1 --positions learned".split()
)
RUNS = "copy translate language subwords classify".split()


@pytest.fixture
def workshop(runs, corpus, monkeypatch):
    """A folder with texts and a run of each kind; the working directory."""
    monkeypatch.chdir(corpus)
    monkeypatch.setattr(toy, "TEST", 5)  # of 20: an untrained model answers at length
    for name, run in runs.items():
        shutil.copytree(run, name)
    shutil.copy(runs["classify"].parent / "train.tsv", "labels")
    Path("en.gz").write_bytes(gzip.compress(Path("en").read_bytes()))
    Path("empty").write_bytes(b"")
    Path("binary").write_bytes(bytes(range(256)) * 9)


def command(arguments, stdin=b"", may_change=None):
    """(exit code, stderr) of a command, after the checks that hold for every command."""
    out, error = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    usual = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(stdin)), out, error
    before = contents()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # weights that were tampered with may overflow
            code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    finally:
        sys.stdin, sys.stdout, sys.stderr = usual
    after, message = contents(), error.getvalue()
    assert code in (0, 2), message
    if code == 2:
        last = message.rpartition("\r")[2].splitlines() or [""]
        assert last[-1].startswith("minitransformer") and "Traceback" not in message
    for path, content in before.items():
        assert path.parts[0] == may_change or after[path] == content, f"{path} was changed"
    for path in after.keys() - before.keys():
        path.unlink()
    for folder in [path for path in Path().rglob("*") if path.is_dir() and not any(path.iterdir())]:
        folder.rmdir()
    return code, message


def contents():
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


WORDS = st.one_of(
    st.sampled_from(
        [
            "en",
            "de",
            "tsv",
            "en.gz",
            "labels",
            "empty",
            "binary",
            "missing",
            *RUNS,
            ".",
            "/",
            "/dev/null",
            "",
            "copy",
            "linear",
            "attention",
            "positions",
            "schedule",
            "a b c",
            "x.png",
            "-",
            "--",
            "a" * 300,
        ]
    ),
    st.text(st.characters(exclude_characters="\0"), max_size=8),
    st.text("-ab\n\udcff=", max_size=6),
)
NUMBERS = st.sampled_from(
    [
        "1",
        "2",
        "5",
        "0",
        "-1",
        "0.5",
        "1.5",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "1e-999",
        "9" * 30,
        "x",
        "",
        " 3 ",
        "0x10",
        "१",
        "1_0",
        "+4",
        "3-",
    ]
)
GOOD = {
    "pooling": "first",
    "vocabulary": "characters",
    "config": "toy",
    "backend": "numpy",
    "language": "korean",
    "tokenize": "char",
    "train": "tsv",
    "valid": "tsv",
    "test": "tsv",
    "schedule": "constant",
    "preset": "multi30k",
    "resume": "translate",
    "output": "x.png",
    "kind": "encoder",
    "layer": "0",
    "run": "new",
    "json": None,
    "pre-norm": None,
    "version": None,
    "help": None,
}  # any other takes a number
TRAINING = (
    "config steps batch warmup schedule rate-factor peak-rate cooldown accumulate dropout embedding-dropout "
    "attention-dropout feed-forward-dropout smoothing clip validate-every patience average snapshot-every seed threads "
    "backend run pre-norm"
)
SAMPLING = "temperature top-k top-p seed backend"
SEARCH = "beam length-penalty min-length max-length backend"
COMMANDS = {
    "train copy --steps 1 --batch 3 --run new": TRAINING,
    "train numbers --steps 1 --batch 3 --run new": f"language {TRAINING}",
    "train translate --train en de --valid en de --steps 1 --batch 90 --max-length 80 --config toy --run new": f"train valid preset vocab-size max-length {TRAINING}",
    "evaluate copy": f"test tokenize json {SEARCH}",
    "evaluate translate": f"test tokenize json {SEARCH}",
    "translate copy": f"n-best {SEARCH}",
    "translate translate": f"n-best {SEARCH}",
    "train --resume copy": "resume",
    "gradcheck linear": "seed json",
    "train language --train en --valid en --steps 1 --batch 3 --window 8 --config toy --run new": f"train valid vocabulary vocab-size window {TRAINING}",
    "train classify --train labels --valid labels --steps 1 --batch 90 --max-length 80 --config toy --run new": f"train valid pooling vocab-size max-length {TRAINING}",
    **{f"evaluate {name}": f"test tokenize json {SEARCH}" for name in RUNS[2:]},
    "generate language the --max-length 9": f"max-length {SAMPLING}",
    "generate subwords the --max-length 9": f"max-length {SAMPLING}",
    "classify classify the": "backend json",
    "classify classify": "backend json",
    "attention language the --output x.png": "output kind layer",
    "attention classify the --output x.png": "output kind layer",
    "train --resume classify": "resume",
    "attention copy a-b --output x.png": "output kind layer",
    "attention translate a --output x.png": "output kind layer",
    "export copy --output x.safetensors": "output",
    "plot architecture": "output",
    "plot architecture classify": "output",
    "sing": "json",
    "": "version help",
    "train": "help",
}


@st.composite
def arguments(draw):
    """A command with some of its options, mostly valid, and stray words."""
    name = draw(st.sampled_from(list(COMMANDS)))
    typed = name.split()
    for option in draw(st.lists(st.sampled_from(COMMANDS[name].split()), max_size=3)):
        typed.append(draw(st.sampled_from(["--"] * 8 + ["-", "--x"])) + option)
        if GOOD.get(option, option):
            typed.append(draw(st.one_of(st.just(GOOD.get(option, "1")), NUMBERS, WORDS)))
    if draw(st.integers(0, 3)) == 0:
        typed.insert(draw(st.integers(0, len(typed))), draw(WORDS))
    if draw(st.integers(0, 5)) == 0 and typed:
        typed.pop(draw(st.integers(0, len(typed) - 1)))
    return typed


@CASES
@given(arguments(), st.binary(max_size=30))
def test_any_arguments(workshop, typed, stdin):
    assume(
        typed[0:1] != ["gradcheck"] or {"linear", "attention"} & set(typed)
    )  # all blocks take seconds
    command(typed, stdin)


@st.composite
def damage(draw):
    """A function that corrupts bytes: it truncates, flips, shuffles or replaces them."""
    kind = draw(st.sampled_from("cut flip insert replace repeat crlf bom latin-1 utf-16".split()))
    place, noise = draw(st.floats(0, 1)), draw(st.binary(min_size=1, max_size=20))

    def change(content):
        at = int(place * len(content))
        return {
            "cut": lambda: content[:at],
            "flip": lambda: (
                content[:at]
                + bytes([byte ^ 1 << noise[0] % 8 for byte in content[at : at + 1]])
                + content[at + 1 :]
            ),
            "insert": lambda: content[:at] + noise + content[at:],
            "replace": lambda: noise,
            "repeat": lambda: content + content[at : at + 9] * 3000,
            "crlf": lambda: content.replace(b"\n", b"\r\n"),
            "bom": lambda: b"\xef\xbb\xbf" + content,
            "latin-1": lambda: content[:at] + "ü".encode("latin-1") + content[at:],
            "utf-16": lambda: content.decode("latin-1").encode("utf-16"),
        }[kind]()

    return change


SUBWORDS = ["--vocabulary", "subwords", "--vocab-size", "60"]
TEXTS = {
    "translate": ("translate", ["en", "de"], SMALL),
    "language": ("language", ["en"], LANGUAGE),
    "subwords": ("language", ["en"], [*LANGUAGE, *SUBWORDS]),
    "classify": ("classify", ["labels"], SMALL),
}


@CASES
@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_any_text(workshop, run, data):
    """Training and evaluation on text that was damaged."""
    task, files, options = TEXTS[run]
    damaged = []
    for file in files:
        content = Path(file).read_bytes()
        for change in data.draw(st.lists(damage(), max_size=2)):
            content = change(content)
        damaged.append(data.draw(st.sampled_from([f"damaged.{file}", f"damaged.{file}.gz"])))
        Path(damaged[-1]).write_bytes(content)
    damaged = data.draw(st.sampled_from([damaged, damaged[:1], [*damaged, "tsv"]]))
    train, valid = data.draw(
        st.sampled_from([(damaged, files), (files, damaged), (damaged, damaged)])
    )
    command(
        data.draw(
            st.sampled_from(
                [
                    ["train", task, "--train", *train, "--valid", *valid, *options, "--run", "new"],
                    ["evaluate", run, "--test", *damaged, "--json"],
                ]
            )
        )
    )


@CASES
@given(
    st.sampled_from(RUNS[2:]),
    st.text(max_size=20) | st.text("the dog is xyz()\n\t", max_size=30),
    st.booleans(),
)
def test_any_prompt_and_any_text(workshop, run, text, fed):
    """Generated from, classified, drawn: as an argument, and as lines of standard input."""
    assume("\0" not in text)
    if run in ("language", "subwords"):
        command(["generate", run, "--max-length", "9", "--", text])
    else:
        command(
            ["classify", run] if fed else ["classify", run, "--", text],
            text.encode("utf-8", "replace"),
        )
    command(["attention", run, "--output", "x.png", "--", text])


@CASES
@given(st.data())
def test_any_run_folder(workshop, data):
    """A run with a damaged file, or with a file from another run."""
    shutil.rmtree("broken", ignore_errors=True)
    shutil.copytree(data.draw(st.sampled_from(RUNS)), "broken")
    victim = data.draw(st.sampled_from(files_of("broken")))
    if data.draw(st.booleans()):
        for change in data.draw(st.lists(damage(), min_size=1, max_size=2)):
            victim.write_bytes(change(victim.read_bytes()))
    elif data.draw(st.booleans()):
        other = data.draw(st.sampled_from([file for run in RUNS for file in files_of(run)]))
        shutil.copy(other, victim)
    else:
        victim.unlink()
        if data.draw(st.booleans()):
            victim.mkdir()
    code, _ = command(
        data.draw(
            st.sampled_from(
                [
                    ["translate", "broken", "a b"],
                    "generate broken the --max-length 9".split(),
                    ["classify", "broken", "the"],
                    ["evaluate", "broken", "--json"],
                    ["plot", "architecture", "broken"],
                    ["attention", "broken", "a b", "--output", "x.png"],
                    ["train", "--resume", "broken"],
                ]
            )
        ),
        may_change="broken",
    )


def files_of(run):
    return sorted(path for path in Path(run).rglob("*") if path.is_file())


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 10**9), st.floats(), st.text(max_size=5)),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children)
    ),
)


@CASES
@given(st.data())
def test_any_settings(workshop, data):
    """A run with altered JSON: the readers raise only InputError."""
    shutil.rmtree("broken", ignore_errors=True)
    shutil.copytree(data.draw(st.sampled_from(RUNS)), "broken")
    path = Path("broken") / data.draw(
        st.sampled_from(["config.json", "vocabulary.json", "metrics.jsonl", "tokenizer.json"])
    )
    if not path.exists():
        return
    content = json.loads(
        path.read_text().splitlines()[0] if path.suffix == ".jsonl" else path.read_text()
    )
    inner = data.draw(
        st.sampled_from(
            [content, *(value for value in content.values() if isinstance(value, dict))]
        )
    )
    inner[data.draw(st.sampled_from(sorted(inner) or ["x"]))] = data.draw(JSON)
    path.write_text(json.dumps(content))
    write_manifest(
        Path("broken"), json.loads(Path("broken", MANIFEST).read_text())["files"]
    )  # it is meant so
    for read in (
        lambda: Run.load("broken").answer(["the"]),
        lambda: read_metrics("broken"),
        lambda: read_pairs([path]),
    ):
        try:
            read()
        except InputError as error:
            assert str(error)
    command(["plot", "architecture", "broken"])
