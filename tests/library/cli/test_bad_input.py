"""Bad input is reported in one line, with exit code 2, and nothing is lost."""

import importlib
import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from minitransformer import InputError, Run, TransformerConfig, extras
from minitransformer import files, memory
from minitransformer.cli import gradcheck as gradcheck_command, output
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.pictures.figure import Figure
from minitransformer.runs.updates import Updates
from minitransformer.shell import as_argument
from minitransformer.tasks.text_to_text import TextToText
from tests import campaign_but
from tests.helpers.command import one_line, rewrite

pytestmark = pytest.mark.slow

SMALL = ("--steps", 12, "--batch", 8, "--validate-every", 6)
RUNS = {
    "copy": "trained",
    "numbers": "numbers_run",
    "translate": "text_run",
    "language": "language_run",
    "classify": "classify_run",
}


class Folders:
    """The run folders by the names of their tasks; a run is trained when it is first asked for."""

    def __init__(self, request):
        self.request = request

    def __getitem__(self, name):
        return self.request.getfixturevalue(RUNS[name])


TRAIN_LANGUAGE = "train language --train {language}/../en --valid {language}/../en"
TRAIN_CLASSIFY = "train classify --train {classify}/../train.tsv --valid {classify}/../valid.tsv"
REFUSED = [  # (what is typed, in an empty folder; words of the line that refuses it)
    (
        "",
        "minitransformer: no COMMAND given; start with: minitransformer train copy (see minitransformer --help)",
    ),
    ("--hlep", "unrecognized arguments: --hlep; did you mean --help?"),
    ("--hlep train", "unrecognized arguments: --hlep; did you mean --help?"),
    ("copy", "copy is a task: minitransformer train copy"),
    ("trian", "invalid choice: 'trian'; did you mean train?"),
    (
        "train",
        "no TASK given; choose from classify, copy, language, numbers, reverse, sort, translate",
    ),
    (
        "train --stpes 5 copy",
        "minitransformer train: unrecognized arguments: --stpes; did you mean --steps?",
    ),
    (
        "train --d-model 5 copy",
        "--d-model belongs after TASK: minitransformer train TASK --d-model ...",
    ),
    ("train cpoy", "invalid choice: 'cpoy'; did you mean copy?"),
    ("train copy --heads 3", "did you mean --num-heads? (see minitransformer train copy --help)"),
    ("train copy ''", "unrecognized arguments: "),
    ("train copy --step x", "invalid int value: 'x'"),
    (
        "train copy --nonsense",
        "unrecognized arguments: --nonsense (see minitransformer train copy --help)",
    ),
    (
        "train copy --rate_factr=3",
        "did you mean --rate-factor? (see minitransformer train copy --help)",
    ),
    ("train copy --backend torch", "invalid choice: 'torch'; choose from numpy, cupy, auto"),
    ("train copy --steps 0", "--steps is 0, expected a whole number from 1 to 1,000,000,000"),
    (f"train copy --steps {'9' * 400}", "expected a whole number from 1 to 1,000,000,000"),
    ("train copy --seed -1", "--seed is -1"),
    (
        "train copy --schedule constant --peak-rate 0.1 --rate-factor 2",
        "with constant use --peak-rate",
    ),
    ("train copy --schedule constant", "--peak-rate is None, but the schedule constant needs one"),
    ("train copy --config huge", "unknown configuration 'huge'"),
    ("train copy --window 8", "unrecognized arguments: --window"),
    ("train copy --preset x", "unrecognized arguments: --preset"),
    ("train copy --run /proc/none", "/proc/none"),
    (f"train copy --run {'a' * 300}", "File name too long"),
    ("train copy --resume no/such/run", "leave copy and its options out"),
    ("train --resume no/such/run copy", "leave copy and its options out"),
    ("train --resume no/such/run", "no run here"),
    (
        "train --resume no/such/run --seed 4",
        "--resume resumes with the run's own task and settings; leave --seed out",
    ),
    ("train copy --model lstmm", "invalid choice: 'lstmm'; did you mean lstm?"),
    (
        "train copy --model lstm --num-heads 2",
        "--num-heads is of no use to the model lstm; leave it out",
    ),
    ("train numbers --model gru --pre-norm", "--pre-norm is of no use to the model gru"),
    (
        "train copy --model rnn --config base",
        "unknown configuration 'base' of a recurrent model; choose from toy, tiny",
    ),
    ("train copy --model lstm --d-model 7", "--d-model is 7, expected an even number"),
    (
        "train copy --model lstm --num-layers 0",
        "--num-layers is 0, expected a whole number from 1 to 10,000",
    ),
    (
        "train copy --model gru --attention additive",
        "--attention is of no use to the model gru; leave it out",
    ),
    ("train copy --model lstm --radius 3", "--radius is of no use to the model lstm; leave it out"),
    ("train copy --attention restrictd", "invalid choice: 'restrictd'; did you mean restricted?"),
    (
        "train copy --attention restricted",
        "--radius is missing: how far away a position of restricted attention may look",
    ),
    ("train copy --radius 3", "--radius is 3, but only restricted attention has one"),
    ("train copy --kv-heads 2", "--kv-heads is 2, but only grouped attention has one"),
    (
        "train copy --positions rotary --kv-heads 3",
        "--kv-heads is 3, expected a divisor of the 4 heads",
    ),
    (
        "train copy --positions rotary --attention scaled",
        "--attention is scaled, but rotary positions need grouped attention",
    ),
    ("train copy --norm rsm", "invalid choice: 'rsm'; choose from layer, rms"),
    ("train translate", "required: --train, --valid"),
    ("train translate --train x --valid x --preset multi30", "did you mean multi30k?"),
    ("train language", "required: --train, --valid"),
    ("train language --train x y --valid x", "unrecognized arguments: y"),
    (f"{TRAIN_LANGUAGE} --window 0", "--window is 0"),
    (f"{TRAIN_LANGUAGE} --vocabulary words", "invalid choice: 'words'"),
    (f"{TRAIN_LANGUAGE} --vocabulary subwords --vocab-size 0", "--vocab-size is 0"),
    (f"{TRAIN_LANGUAGE} --preset nothing", "invalid choice: 'nothing'"),
    (f"{TRAIN_LANGUAGE} --max-length 9", "unrecognized arguments: --max-length"),
    ("train classify --train x", "required: --valid"),
    (f"{TRAIN_CLASSIFY} --pooling last", "invalid choice: 'last'"),
    (f"{TRAIN_CLASSIFY} --max-length 0", "--max-length is 0"),
    (
        f"{TRAIN_CLASSIFY} --batch 20",
        "--batch is 20 tokens, expected at least max_length + 1 = 257",
    ),
    (f"{TRAIN_CLASSIFY} --vocab-size -1", "--vocab-size is -1"),
    (f"{TRAIN_CLASSIFY} --window 9", "unrecognized arguments: --window"),
    ("gradcheck liner", "unknown block 'liner'; did you mean linear?"),
    ("gradcheck --seed -3", "--seed is -3"),
    (
        "gradcheck '\x1b[31mred\r\u2028'",
        r"\x1b[31mred\r\u2028",
    ),  # control characters are not printed
    ("data", "the following arguments are required: CORPUS"),
    ("data multi30", "invalid choice: 'multi30'; did you mean multi30k?"),
    ("data multi30k --folder /proc/none", "/proc/none/raw/train.en.gz: No such file or directory"),
    ("data multi30k --folder /dev/null", "/dev/null/raw/train.en.gz: Not a directory"),
    ("evaluate no/such/run", "no run here"),
    ("evaluate 'no\nrun'", "no\\nrun: no run here"),
    (f"translate {'a' * 300} x", "File name too long"),
    ("translate {copy} 'a X'", "unknown symbol 'X'"),
    ("translate {copy} a\udcff", "line 1: unknown symbol"),
    ("translate {translate} a\udcff", "line 1: the text is not UTF-8"),
    ("translate {copy} --beam 2 a b", "unrecognized arguments: b"),
    ("translate {copy} 'a b' --beam 0", "--beam is 0, expected a whole number from 1 to 1,000"),
    ("translate {copy} 'a b' --beam 2 --n-best 3", "--n-best is 3, expected 1 to the --beam of 2"),
    (
        "translate {copy} 'a b' --min-length 3 --max-length 2",
        "--max-length is 2, expected a whole number from 3",
    ),
    ("generate no/such/run", "required: PROMPT"),
    ("generate {language} ''", "the prompt is empty, expected at least one token to continue"),
    (
        "generate {language} 'the dog is red and blue .'",
        "the prompt has 25 tokens, but the model has 16 positions",
    ),
    ("generate {language} 'the Dog'", "PROMPT, line 1: the character 'D' is not in the vocabulary"),
    (
        "generate {language} 뷁",
        "of the training text; a model with --vocabulary subwords reads it as <unk>",
    ),
    ("generate {language} the\u2028", "PROMPT, line 1: the character"),
    ("generate {language} the\udcff", "PROMPT, line 1: the character"),
    (
        "generate {language} the --max-length 0",
        "--max-length is 0, expected a whole number from 1 to 1,000,000",
    ),
    ("generate {language} the --top-p 2", "--top-p is 2"),
    ("classify", "required: RUN"),
    ("classify {classify} ''", "the text is empty, expected a text to classify"),
    ("attention {numbers} twenty --layer 2", "--layer is 2, expected 0 to 1"),
    ("attention {numbers} ' '", "the text is empty"),
    ("attention {numbers} twenty --kind all", "invalid choice: 'all'"),
    ("attention {numbers} zwanzig", "unknown symbol 'zwanzig'"),
    ("attention {language} ''", "the text is empty"),
    ("attention {language} Dog", "the character 'D' is not"),
    ("attention {language} 'the dog is red and'", "18 positions, at most 16 were learned"),
    (
        "attention {classify} 'a fine film' --kind cross",
        "--kind is cross, but this model's attention is encoder",
    ),
    ("attention {numbers} two --output none/a.png", "there is no folder none"),
    ("attention {numbers} two --output a.xyz", "'xyz' is not supported"),
    ("attention {numbers} two --output .", ".: a folder, expected the name of a picture"),
    ("plot architecture --output none/a.png", "there is no folder none"),
    ("plot architecture --output a.xyz", "'xyz' is not supported"),
    ("plot architecture --output .", ".: a folder, expected the name of a picture"),
    ("plot architecture tinny", "tinny: neither a run nor a model size; did you mean tiny?"),
    ("plot architectur", "invalid choice: 'architectur'; did you mean architecture?"),
    ("plot architecture .", "no run here"),
    ("export {language} --output a", "cannot be exported"),
    ("export {classify} --output a", "cannot be exported"),
    ("export no/such/run --output a", "no run here"),
    ("export {copy}", "required: --output"),
    *(
        (typed, f"argument {name}: an empty name (see")
        for typed, name in (
            ("train copy --run ''", "--run"),
            ("train --resume ''", "--resume"),
            ("train language --train '' --valid x", "--train"),
            ("train translate --train x x --valid x ''", "--valid"),
            ("train language --train x --valid x --from ''", "--from"),
            ("evaluate ''", "RUN"),
            ("evaluate {copy} --test ''", "--test"),
            ("translate '' 'a b'", "RUN"),
            ("generate '' the", "RUN"),
            ("classify '' the", "RUN"),
            ("attention '' the", "RUN"),
            ("attention {copy} 'a b' --output ''", "--output"),
            ("export {copy} --output ''", "--output"),
            ("plot architecture ''", "NAME|RUN"),
            ("import '' --run x", "PATH"),
            ("data multi30k --folder ''", "--folder"),
            ("explore '' 'a b'", "RUN"),
        )
    ),
    *(
        (typed, f"a {name} that begins with - goes behind -- (see")
        for typed, name in (
            ("generate {language} --the", "PROMPT"),
            ("generate {language} -the --top-k 3", "PROMPT"),
            ("translate {copy} --a", "TEXT"),
            ("classify {classify} -a", "TEXT"),
            ("attention {copy} -a", "TEXT"),
            ("explore {copy} -a", "TEXT"),
        )
    ),
    ("translate x --beam 2 -- -a", "x: no run here"),
    ("classify x --json -- a", "x: no run here"),
    ("export {copy} --output=--", "argument --output: -- is no value"),
    ("evaluate {language} --test=--", "argument --test: -- is no value"),
    ("train language --preset=--", "argument --preset: -- is no value"),
    (
        "generate {language} the --temperature 0",
        "from 0.001 to 1000; for the likeliest token, draw from one: --top-k 1",
    ),
    (f"translate {'a' * 300}{'/a' * 4000} x", " ... "),
    (f"{'a' * 4000}", "invalid choice"),
    (f"train copy --run {'a' * 4000}", "File name too long"),
    ("export {copy} --output none/a.safetensors", "there is no folder none"),
    (f"export {{copy}} --output {'a' * 300}", "File name too long"),
]


@pytest.mark.parametrize("typed, words", REFUSED)
def test_what_is_refused(refused, request, monkeypatch, tmp_path, typed, words):
    monkeypatch.chdir(tmp_path)
    error = refused(*shlex.split(typed.format_map(Folders(request))))
    assert words in error and len(error) < 1600
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "lines, words",
    [
        (b"a\n\nb X\n", "line 3: unknown symbol 'X'"),
        (b"a\n\xff", "standard input, line 2: not UTF-8"),
        (None, "standard input is closed"),
    ],
)
def test_lines_that_cannot_be_translated(refused, trained, typed, lines, words):
    typed(lines)
    assert words in refused("translate", trained)


TEXT = b"the dog is red and\n"
LABELS = b"good\tyes\nbad\tno\n"
TRAIN = {"language": "--window 16", "classify": "--vocab-size 30 --steps 2"}


@pytest.mark.parametrize(
    "task, option, content, words",
    [
        (
            "language",
            "--train",
            b"short",
            "has 5 tokens, expected at least 17: one window of 16 and the token after it; give more text, or a smaller --window",
        ),
        ("language", "--valid", TEXT[:16], "has 16 tokens, expected at least 17"),
        (
            "language",
            "--valid",
            b"the dog is red\nthe Dog is red",
            "line 2: the character 'D' is not in the vocabulary",
        ),
        (
            "classify",
            "--train",
            b"good\tyes\nfine\tyes\n",
            "the label column has 1 class, expected 2 to 1,000",
        ),
        (
            "classify",
            "--valid",
            b"good\tyes\nso so\tmaybe\n",
            "the label 'maybe' is not in the training file, which has no, yes",
        ),
        (
            "classify",
            "--train",
            LABELS + b"fine\n",
            "line 3: expected a sentence, a tab and its label",
        ),
        (
            "classify",
            "--valid",
            b"sentence\tlabel\n",
            "no sentences, expected a sentence, a tab and its label on each line",
        ),
        ("classify", "--valid", None, "No such file"),
        ("classify", "--train", b"\xff\tno\n", "line 1: not UTF-8"),
        (
            "classify",
            "--train",
            b"yes\ta fine film\nno\tdull\nyes\tgood\n",
            "more labels than sentences; expected a sentence, a tab and its label",
        ),
        (
            "classify",
            "--train",
            b"".join(b"%d\t%d\n" % (i, i) for i in range(1001)),
            "has 1,001 classes, expected 2 to 1,000",
        ),
    ],
)
def test_files_that_cannot_be_trained_on(refused, tmp_path, task, option, content, words):
    (tmp_path / "good").write_bytes(
        LABELS if task == "classify" else TEXT if content != b"short" else content
    )
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    files = {"--train": tmp_path / "good", "--valid": tmp_path / "good", option: tmp_path / "file"}
    files = [item for pair in files.items() for item in pair]
    error = refused("train", task, *files, *TRAIN[task].split(), "--run", tmp_path / "run")
    assert words in error and str(tmp_path / "file") in error and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "task, content, words",
    [
        ("language", "t", "has 1 token, expected at least 2: one window of 1"),
        ("language", "the Dog is red and blue .", "line 1: the character 'D'"),
        ("language", "", "empty, expected text"),
        (
            "classify",
            "good\tyes\n",
            "the label 'yes' is not in the training file, which has 0, very good",
        ),
        ("classify", "good\n", "line 1: expected a sentence"),
        ("classify", "", "empty, expected text"),
    ],
)
def test_files_that_cannot_be_measured_on(refused, runs, tmp_path, task, content, words):
    file = tmp_path / "file"
    file.write_text(content)
    error = refused("evaluate", runs[task], "--test", file)
    assert (
        str(file) in error and words in error and "--window" not in error
    )  # evaluate has no such option
    one = {"language": "one text", "classify": "one file of labelled sentences"}[task]
    assert f"--test names 2 files, expected {one}" in refused(
        "evaluate", runs[task], "--test", file, file
    )


@pytest.mark.parametrize(
    "missing, command, words",
    [
        (
            "sacrebleu",
            "train translate --train tsv --valid tsv",
            'this needs sacrebleu: pip install ".[translation]"',
        ),
        ("sacrebleu", "evaluate {translate}", 'this needs sacrebleu: pip install ".[translation]"'),
        ("tokenizers", "train translate --train tsv --valid tsv", "pip install tokenizers"),
        ("pooch", "data multi30k", 'this needs pooch: pip install ".[translation]"'),
        *(
            ("cupy", f"{command} --backend cupy", "pip install cupy-cuda12x")
            for command in ("train copy", "evaluate {copy}", "translate {copy} a")
        ),
    ],
)
def test_a_missing_library_is_named_before_the_work(
    refused, request, corpus, monkeypatch, missing, command, words
):
    monkeypatch.chdir(corpus)
    command = command.format_map(Folders(request))
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr(Run, "create", None)
    monkeypatch.setattr(TextToText, "answer", None)
    assert words in refused(*command.split())


def test_a_missing_analyser_of_korean_is_named_before_the_work(refused, text_run, monkeypatch):
    monkeypatch.setattr(
        importlib.import_module("sacrebleu.tokenizers.tokenizer_ko_mecab"), "MeCab", None
    )
    monkeypatch.setattr(TextToText, "answer", None)
    error = refused("evaluate", text_run, "--tokenize", "ko-mecab")
    assert "--tokenize ko-mecab needs" in error and 'pip install "sacrebleu[ko]"' in error


@pytest.mark.parametrize(
    "extra, names",
    {
        "translation": ("tokenizers", "sacrebleu", "pooch"),
        "fast": ("numba",),
        "distributed": ("mpi4py",),
        "gguf": ("gguf", "jinja2"),
        "bench": ("torch", "ctranslate2"),
    }.items(),
)
def test_a_missing_library_is_installed_with_its_extra(extra, names, monkeypatch):
    for name in names:
        assert (
            extras.how_to_install(name)
            == f'pip install ".[{extra}]" in the folder of the clone, or pip install {name}'
        )
    assert extras.how_to_install("numpy") == "pip install numpy"

    def not_installed(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.requires", not_installed)
    assert extras.how_to_install(names[0]) == f"pip install {names[0]}"


def test_a_library_that_is_broken_is_not_called_missing(monkeypatch):
    def broken(name):
        raise ImportError("numpy.core.multiarray failed to import")

    monkeypatch.setattr(extras.importlib, "import_module", broken)
    with pytest.raises(
        InputError,
        match="sacrebleu is installed but cannot be imported .numpy.core.multiarray failed",
    ):
        extras.require("sacrebleu")


def test_letters_need_no_spaces(run_cli, trained, tmp_path):
    """In every command that reads a text."""
    assert run_cli("translate", trained, "cab") == run_cli("translate", trained, "c a b")
    for command, options in ("translate", ()), ("attention", ("--output", tmp_path / "a.png")):
        code, _, error = run_cli(command, trained, "drawkcab", *options)
        assert code == 0 and not error


def test_a_line_that_is_too_long_is_named_and_the_others_are_translated(run_cli, trained, typed):
    typed(b"a b\n" + b"a " * 10_000 + b"\n\nc\n")
    code, out, error = run_cli("translate", trained, "--min-length", 1)
    lines = out.split("\n")
    assert code == 0 and len(lines) == 5 and lines[0] and lines[1] and not lines[2] and lines[3]
    assert (
        error == "line 2 has 10,000 tokens: what follows the first 256 is not read "
        "(max_length in training)\n"
    )


def test_what_a_translation_model_cannot_read_is_named(run_cli, text_run, typed, tmp_path):
    typed("the dog\nthe 漢 字 漢\n".encode())
    code, out, error = run_cli("translate", text_run)
    assert (
        code == 0
        and len(out.splitlines()) == 2
        and error == "line 2: not in the vocabulary, read as <unk>: '漢', '字'\n"
    )
    (tmp_path / "test.tsv").write_text("the 漢\tein\n", encoding="utf-8")
    code, out, error = run_cli("evaluate", text_run, "--test", tmp_path / "test.tsv")
    assert code == 0 and "test.tsv, line 1: not in the vocabulary, read as <unk>: '漢'\n" in error


def test_too_little_memory_is_one_line(refused, monkeypatch):
    def exhaust(_):
        raise MemoryError

    monkeypatch.setattr(gradcheck_command, "execute", exhaust)
    assert "not enough memory" in refused("gradcheck")


@pytest.mark.parametrize("after, kept", [(1, False), (6, False), (9, True)])
def test_a_run_whose_first_steps_do_not_fit_into_memory_leaves_no_folder(
    run_cli, tmp_path, monkeypatch, after, kept
):
    """Once it has saved a checkpoint, it is kept."""
    make = Updates.make

    def exhaust(updates, batches):
        if updates.step == after - 1:
            raise MemoryError
        make(updates, batches)

    monkeypatch.setattr(Updates, "make", exhaust)
    code, _, error = run_cli("train copy", *SMALL, "--run", tmp_path / "run")
    assert code == 2 and "not enough memory; try a smaller --config" in error
    assert (tmp_path / "run").exists() == kept
    if kept:
        assert run_cli("train --resume", tmp_path / "run")[0] == 2
        assert (tmp_path / "run").exists()


FULL = OSError(errno.ENOSPC, "No space left on device")


def full(*_, **__):
    raise OSError(*FULL.args)


@pytest.mark.parametrize(
    "typed, place, words",
    [
        ("plot architecture --output a.png", (Figure, "as_bytes"), "--output a.png: No space left"),
        (
            "attention {copy} 'a b' --output a.png",
            (Figure, "as_bytes"),
            "--output a.png: No space left",
        ),
        (
            "plot architecture --output a.png",
            (output, "write_new"),
            "--output a.png: No space left",
        ),
        ("evaluate {copy}", (SymbolVocabulary, "load"), "the run cannot be read: No space left"),
    ],
)
def test_an_error_of_the_system_is_told_without_its_number(
    refused, request, monkeypatch, tmp_path, typed, place, words
):
    monkeypatch.chdir(tmp_path)
    typed = shlex.split(typed.format_map(Folders(request)))
    monkeypatch.setattr(*place, full)
    assert words in refused(*typed)


def test_an_error_of_the_system_names_its_file():
    for error, said in (
        (FULL, "No space left on device"),
        (
            OSError(errno.ENOSPC, "No space left on device", "a.png"),
            "a.png: No space left on device",
        ),
        (OSError("other"), "other"),
        (OSError(), "OSError"),
        (ValueError("other"), "other"),
    ):
        assert files.reason(error) == said


def test_the_reason_why_a_report_is_missing_has_no_number(run_cli, trained, tmp_path, monkeypatch):
    run = shutil.copytree(trained, tmp_path / "run")
    (run / "report.html").unlink()
    (run / "report.html").mkdir()
    code, _, error = run_cli("train --resume", run)
    assert code == 0 and "report.html was not written" in error and "Errno" not in error


@pytest.mark.parametrize("name, shown", [("-x", "./-x"), ("--help", "./--help"), ("x", "x")])
def test_printed_commands_work_for_a_name_that_begins_with_a_dash(
    run_cli, tmp_path, monkeypatch, name, shown
):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run_cli("train copy --steps 1 --batch 4", f"--run={name}")
    first = out[out.index("next: ") :].splitlines()[0]
    assert code == 0 and first == f"next: minitransformer evaluate {shown}"
    assert run_cli(*first.split()[2:])[0] == 0
    assert Run.open(name).resume_command == f"minitransformer train --resume {shown}"


@pytest.mark.parametrize("text, shown", [("-a", "-- -a"), ("a b", "'a b'"), ("a", "a")])
def test_a_text_that_begins_with_a_dash_stands_behind_two(text, shown):
    assert as_argument(text) == shown


@pytest.mark.parametrize(
    "names", [[1], [None], None, "abc", 5, {"a\0b": ""}, {"../x": ""}, {"": ""}]
)
def test_a_sealed_manifest_that_names_no_files(refused, trained, tmp_path, names):
    run = shutil.copytree(trained, tmp_path / "run")
    manifest = {"sha256": files._seal(files.FORMAT, names), "format": files.FORMAT, "files": names}
    (run / "manifest.json").write_text(json.dumps(manifest))
    for command in ("evaluate", run), ("train", "--resume", run), ("export", run, "--output", "a"):
        error = refused(*command)
        assert f"{run / 'manifest.json'}: damaged, expected the names of files in this f" in error


@pytest.mark.parametrize(
    "part, field, value, words",
    [
        ("model", "newer", 3, "model: the field 'newer' is unknown; if another version of mini"),
        ("task", "newer", 3, "task: the field 'newer' is unknown"),
        ("training", "newer", 3, "training: the field 'newer' is unknown"),
        ("model", "source_vocab", None, "model: the field 'source_vocab' is missing"),
        ("training", "steps", None, "training: the field 'steps' is missing"),
        (None, "backend", "evil", "unknown array module 'evil'; choose numpy, cupy or auto"),
        (None, "backend", 5, "unknown array module 5"),
        (None, "made_in", 5, "made_in is a int, expected the name of a folder"),
        (None, "training", [], "training is a list, expected an object"),
    ],
)
def test_settings_of_another_version(refused, trained, tmp_path, part, field, value, words):
    run = shutil.copytree(trained, tmp_path / "run")
    settings = json.loads((run / "config.json").read_text())
    place = settings[part] if part else settings
    place.pop(field, None)
    if value is not None:
        place[field] = value
    rewrite(run, settings)
    for command in ("evaluate", run), ("train", "--resume", run):
        error = refused(*command)
        assert f"{run}: the run cannot be read: {words}" in error and "TypeError" not in error


def test_a_download_that_fails_leaves_no_empty_folders(tmp_path):
    (tmp_path / "mine").mkdir()
    for name in ("new/raw/a", "mine/raw/a"):
        with pytest.raises(OSError), files.no_empty_folders(tmp_path / name):
            (tmp_path / name).parent.mkdir(parents=True)
            full()
        assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]
    with pytest.raises(OSError), files.no_empty_folders(tmp_path / "new/raw/a"):
        (tmp_path / "new/raw").mkdir(parents=True)
        (tmp_path / "new/kept").write_text("")
        full()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["kept"]


COMMANDS = {
    "translate": ("copy", "translate"),
    "generate": ("language", "subwords"),
    "classify": ("classify",),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_is_used_by_the_command_of_its_task(refused, runs, command):
    for name, run in runs.items():
        right = next(other for other, names in COMMANDS.items() if name in names)
        if command != right:
            assert (
                f"{run} was trained on the task {Run.load(run).task.name}: use minitransformer {right} instead"
                in refused(command, run, "x")
            )


@pytest.mark.parametrize(
    "name, options",
    [
        ("copy", "test tokenize"),
        ("language", "tokenize beam length-penalty min-length max-length"),
        ("classify", "tokenize beam length-penalty min-length max-length"),
    ],
)
def test_options_that_a_task_has_no_use_for(refused, runs, name, options):
    values = {"tokenize": "none", "test": "x"}
    for option in options.split():
        error = refused("evaluate", runs[name], f"--{option}", values.get(option, 1))
        assert (
            f"was trained on the task {name}, which does not use --{option}; leave it out" in error
        )


def test_a_run_folder_of_the_old_format(refused, trained, tmp_path):
    """An older version wrote it, with a valid manifest of its own, and nothing in it is damaged."""
    run = tmp_path / "old"
    shutil.copytree(trained, run)
    (run / "config.json").write_text(
        json.dumps({"task": "copy", "language": None, "vocabulary": "SymbolVocabulary"})
    )
    known = {
        name: files.digest(run / name)
        for name in json.loads((run / "manifest.json").read_text())["files"]
    }
    (run / "manifest.json").write_text(
        json.dumps({"sha256": files._seal(1, known), "format": 1, "files": known})
    )
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for arguments in (
        ("translate", run, "a"),
        ("generate", run, "a"),
        ("classify", run, "a"),
        ("evaluate", run),
        ("attention", run, "a", "--output", tmp_path / "a.png"),
        ("export", run, "--output", tmp_path / "a"),
        ("train", "--resume", run),
    ):
        error = refused(*arguments)
        assert (
            f"{run} has format 1, this version of minitransformer reads format 2; use a version that reads 1"
            in error
        )
    assert before == {
        path: path.read_bytes() for path in run.rglob("*") if path.is_file()
    } and list(tmp_path.iterdir()) == [run]


def test_a_run_is_not_overwritten(refused, trained):
    contents = lambda: {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}
    before = contents()
    error = refused("train copy", *SMALL, "--run", trained)
    assert f"{trained} already exists and holds a run" in error
    assert f"resume it: minitransformer train --resume {trained}, or" in error
    assert before == contents()


def test_a_folder_with_other_files_is_not_a_run_folder(refused, tmp_path):
    (tmp_path / "mine").write_text("mine")
    assert f"{tmp_path} already exists and is not an empty folder; choose another" in refused(
        "train copy", *SMALL, "--run", tmp_path
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"--train": ["en", "short"]}, "en has 45 lines and"),
        ({"--train": ["en", "de", "tsv"]}, "--train: 3 files"),
        ({"--train": ["en"]}, "line 1: one column"),
        ({"--max-length": [5]}, "line 1: a sentence of"),
        ({"--vocab-size": [0]}, "--vocab-size is 0"),
        ({"--vocab-size": [10**30]}, "expected a whole number from 1 to 1,000,000"),
        ({"--max-length": [0]}, "--max-length is 0"),
        ({"--batch": [100]}, "--batch is 100 tokens, expected at least max_length + 1 = 257"),
    ],
)
def test_unusable_text_gives_one_line_and_2(refused, corpus, changes, words):
    (corpus / "short").write_text("a\n")
    options = {
        "--train": ["en", "de"],
        "--valid": ["en", "de"],
        "--run": ["run"],
        "--vocab-size": [60],
        **changes,
    }
    arguments = [
        item
        for option, values in options.items()
        for item in (
            option,
            *(value if isinstance(value, int) else corpus / value for value in values),
        )
    ]
    assert words in refused("train translate", *arguments)
    assert not (corpus / "run").exists()


def test_a_pipe_cannot_be_trained_on(refused, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "pipe: a pipe, expected a file" in refused(
        "train translate --train", tmp_path / "pipe", "--valid", tmp_path / "pipe"
    )


@pytest.mark.parametrize(
    "options, blamed",
    [
        ("--num-layers 10000 --d-ff 20000000", "--d-ff is 20,000,000"),
        ("--num-layers 10000 --d-model 10000 --num-heads 1", "--d-model is 10,000"),
        ("--d-ff 1000000000", "--d-ff is 1,000,000,000"),
        ("--d-model 10000000 --num-heads 1", "--d-model is 10,000,000"),
        ("--d-k 1000000000", "--d-k is 1,000,000,000"),
        ("--num-heads 1000000 --d-k 100000", "--num-heads is 1,000,000"),
        ("--model lstm --d-model 10000000", "--d-model is 10,000,000"),
        ("--batch 1000000 --d-k 10000", "--batch is 1,000,000"),
    ],
)
def test_what_cannot_fit_into_memory_is_refused_and_the_size_to_blame_named(
    refused, tmp_path, options, blamed
):
    error = refused("train copy", *options.split(), "--run", tmp_path / "run")
    assert not list(tmp_path.iterdir())
    needed = r"this needs at least [\d,.]+ GB of memory, and [\d,.]+ GB is available; choose a"
    assert f"minitransformer: {blamed}: " in error and re.search(needed, error)


def test_windows_that_cannot_fit_into_memory_are_refused(refused, corpus):
    files = ("--train", corpus / "en", "--valid", corpus / "en", "--window", 100_000)
    error = refused("train language --batch 1000000", *files)
    assert "--batch is 1,000,000: this needs at least" in error


@pytest.mark.parametrize(
    "sizes, blamed",
    [
        (dict(num_layers=10**4, d_model=4, d_ff=1, num_heads=1), "num_layers"),  # objects alone
        (dict(num_layers=2, d_model=4096, d_ff=1024), "d_model"),
        (dict(vocab_size=10**6), "vocab_size"),
        (dict(d_v=10**6), "d_v"),
        (dict(positions="learned", max_length=10**6), "max_length"),
    ],
)
def test_layers_and_parameters_need_memory(sizes, blamed, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 9 * 10**7)
    memory.check_fits(vars(TransformerConfig.named("tiny", 1000)), memory.TO_TRAIN)
    config = TransformerConfig.named("toy", **{"vocab_size": 20, **sizes})
    with pytest.raises(
        InputError, match=f"{blamed} is .*: this needs at least .* GB of memory, and 0.1 GB is"
    ):
        memory.check_fits(vars(config), memory.TO_TRAIN)


@pytest.mark.skipif(
    memory.available_memory() is None, reason="this system does not say how much memory there is"
)
def test_a_container_has_less_memory(tmp_path, monkeypatch):
    (tmp_path / "own").write_text("0::/pod/one\n")
    (tmp_path / "pod" / "one").mkdir(parents=True)
    (tmp_path / "pod" / "one" / "memory.max").write_text("max\n")
    monkeypatch.setattr(memory, "GROUP", tmp_path / "own")
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    assert memory.available_memory() > 3_000_000
    (tmp_path / "pod" / "memory.max").write_text("3000000\n")
    assert memory.available_memory() == 3_000_000
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("2000000\n")
    assert memory.available_memory() == 2_000_000


def test_a_received_run_that_cannot_fit_into_memory_is_refused(refused, trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    settings = json.loads((run / "config.json").read_text())
    settings["model"]["d_ff"] = 1_000_000_000
    rewrite(run, settings)
    assert "d_ff is 1,000,000,000" in refused("evaluate", run)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
@pytest.mark.parametrize(
    "name",
    campaign_but(
        ["manifest.json", "config.json", "vocabulary.json", "weights.safetensors"], "config.json"
    ),
)
def test_a_fifo_in_a_run_folder_is_named(trained, tmp_path, name):
    run = shutil.copytree(trained, tmp_path / "run")
    (run / name).unlink()
    os.mkfifo(run / name)
    done = subprocess.run(
        [sys.executable, "-m", "minitransformer", "evaluate", run],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and name in done.stderr and one_line(done.stderr)


def test_damaged_weights_are_made_again_by_resume(run_cli, refused, trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    whole = (run / "weights.safetensors").read_bytes()
    (run / "weights.safetensors").write_bytes(b"")
    assert f"again from its checkpoints: minitransformer train --resume {run}\n" in refused(
        "translate", run, "a b"
    )
    assert (
        run_cli("train --resume", run)[0] == 0
        and (run / "weights.safetensors").read_bytes() == whole
    )
    (run / "weights.safetensors").write_bytes(b"")
    shutil.rmtree(run / "checkpoints")
    assert "--resume" not in refused("translate", run, "a b")
