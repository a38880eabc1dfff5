"""The kernels run where Numba does; elsewhere the textbook runs, and `info` says why."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from minitransformer.speed import kernels
from tests import ROOT
from tests.helpers.kernels import needs_numba

pytestmark = pytest.mark.slow

SAY = "import sys; from minitransformer.speed import kernels; kernels.state.say = sys.stderr.write; "  # as the command does
INFO = SAY + "from research.benchmarks.__main__ import main; main(['info'])"
HIDDEN = "import sys; sys.modules['numba'] = None; "
BROKEN = "import sys, types; sys.modules['numba'] = types.ModuleType('numba'); "
FAILING = """
import numba
def njit(**options):
    raise OSError('no such processor')
numba.njit = njit
"""
# As Numba finds it where neither the package's folder, nor NUMBA_CACHE_DIR, nor the user's own can
# be written.
NOWHERE = (
    "from numba.core import caching; "
    "(getattr(caching, 'CacheImpl', None) or caching._CacheImpl)._locator_classes = []; "
)


# With a full disk: what was kept before is not found, and nothing can be.
FULL = """from numba.core import caching
def full(*_):
    raise OSError(28, "No space left on device")
caching.Cache.load_overload, caching.Cache.save_overload = lambda *_: None, full
"""


def python(code, **environment):
    """(stdout, stderr) of a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "MINITRANSFORMER_FAST": "1", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def fact(out, name):
    return (
        next(line for line in out.splitlines() if line.startswith(name)).removeprefix(name).strip()
    )


@pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")
@pytest.mark.skipif(
    os.environ.get("MINITRANSFORMER_FAST") == "0",
    reason="MINITRANSFORMER_FAST turns them off",
)
def test_the_compiled_kernels_run_where_numba_is():
    """Otherwise a mistake in one of them would turn off all, and skip their tests."""
    assert kernels.state.problem == ""
    out, _ = python(
        "import os; del os.environ['MINITRANSFORMER_FAST']; " + INFO, NUMBA_DISABLE_JIT="0"
    )
    assert fact(out, "compiled kernels") == "yes"
    assert (
        fact(out, "layer_norm_forward") == "speed.compiled.layer_norm.layer_norm_forward_compiled"
    )


@pytest.mark.parametrize(
    "code, environment, why",
    [
        (HIDDEN, {}, 'no: Numba is not installed: pip install ".[fast]"'),
        pytest.param(
            BROKEN,
            {},
            "no: Numba fails: ImportError: cannot import name",
            marks=[needs_numba, pytest.mark.campaign],
        ),
        pytest.param(
            NOWHERE,
            {},
            "no: Numba finds no folder that it can write its code to; set NUMBA_CACHE_DIR",
            marks=needs_numba,
        ),
        pytest.param(
            FULL,
            {},
            "no: Numba finds no folder that it can write its code to; set NUMBA_CACHE_DIR",
            marks=[needs_numba, pytest.mark.campaign],
        ),
        pytest.param(
            FAILING,
            {},
            "no: Numba fails: OSError: no such processor",
            marks=[needs_numba, pytest.mark.campaign],
        ),
        (
            "import os; del os.environ['MINITRANSFORMER_FAST']; ",
            {"NUMBA_DISABLE_JIT": "1"},
            "no: NUMBA_DISABLE_JIT is set",
        ),
        ("", {"MINITRANSFORMER_FAST": "0"}, "no: MINITRANSFORMER_FAST is 0"),
    ],
)
def test_without_numba_the_textbook_runs(code, environment, why):
    out, err = python(code + INFO, **environment)
    assert fact(out, "compiled kernels").startswith(why)
    assert "kernels: none, the textbook runs" in out and "speed.compiled" not in out
    assert err == (
        f"no compiled kernels: {why.removeprefix('no: ')} to one\n"
        if code in (NOWHERE, FULL)
        else ""
    )  # once


@pytest.mark.parametrize(
    "hidden, environment, said",
    [
        (
            HIDDEN,
            None,
            'fast() runs the textbook; its kernels need Numba: pip install ".[fast]"',
        ),
        (HIDDEN, "1", ""),
        pytest.param("", None, "", marks=needs_numba),
    ],
)
def test_fast_says_once_what_is_missing(hidden, environment, said):
    code = (
        f"import os; os.environ.pop('MINITRANSFORMER_FAST'); {hidden}"
        if environment is None
        else hidden
    )
    _, err = python(
        code + "from minitransformer import fast\nfor _ in range(2):\n    with fast(): pass"
    )
    assert err.startswith(said) and err.count("\n") == bool(said)


@pytest.mark.parametrize(
    "value, says",
    [
        ("0", "kernels: none, the textbook runs (MINITRANSFORMER_FAST is 0)"),
        pytest.param(
            "1",
            "kernels: compiled by Numba, equal to the textbook to 2e-5: docs/speed.md",
            marks=needs_numba,
        ),
    ],
)
def test_a_command_says_which_kernels_run(value, says):
    out, _ = python(
        "from minitransformer.speed import kernels; print(kernels.in_one_line())",
        MINITRANSFORMER_FAST=value,
    )
    assert out == says + "\n"


@pytest.mark.campaign
@needs_numba
def test_the_first_run_says_that_it_compiles_and_the_second_does_not(tmp_path):
    code = (
        "import sys; from minitransformer.speed import kernels; from minitransformer.functional import layer_norm_forward\n"
        "kernels.state.say = lambda text: print(text, end='', file=sys.stderr)    # as the command does\n"
        "kernels.load(layer_norm_forward)"
    )
    _, first = python(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert re.fullmatch(r"compiling the kernels in layer_norm\.py, once: \d+ s\n", first)
    _, second = python(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert second == ""


def test_an_unknown_choice_of_kernels_is_named():
    done = subprocess.run(
        [sys.executable, "-m", "research.benchmarks", "info"],
        env={**os.environ, "MINITRANSFORMER_FAST": "off"},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert (
        done.stderr
        == "research.benchmarks: MINITRANSFORMER_FAST is 'off', expected 0 (no kernels) or 1\n"
    )


@needs_numba
def test_numba_itself_can_be_told_not_to_compile():
    """NUMBA_DISABLE_JIT=1, if the kernels are asked for: a debugger stops inside a kernel's loop."""
    code = (
        "import numpy as np; from minitransformer.functional import layer_norm_forward as f; import sys\n"
        "from minitransformer import fast\n"
        "with fast(): y, _ = f(np.arange(6.0).reshape(2, 3), np.ones(3), np.zeros(3))\n"
        "print(y.sum().round(9), 'numba' in sys.modules)"
    )
    assert python(code, NUMBA_DISABLE_JIT="1")[0].split() == ["0.0", "True"]


@pytest.mark.parametrize(
    "code",
    [
        "import minitransformer",
        "import minitransformer.layers, minitransformer.training.step",
        "from minitransformer.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass",
    ],
)
def test_numba_is_imported_with_the_first_call_of_a_kernel(code):
    out, _ = python(code + "\nimport sys; print('numba' in sys.modules)")
    assert out.splitlines()[-1] == "False"


@needs_numba
def test_a_loop_of_a_readers_own_leaves_the_librarys_kernels_alone():
    """One that does not compile, registered between two of the library's files."""
    code = """
from minitransformer import functional as F
from minitransformer.speed import kernels
from minitransformer.speed.loops import Vector, loop
kernels.load(F.layer_norm_forward)
own = "@loop\\ndef own(x: Vector):\\n    x.nothing()"
exec(compile(own, kernels.__file__, "exec"), {"loop": loop, "Vector": Vector})
kernels.load_all()
kernels.in_one_line()
print(repr(kernels.state.problem))
"""
    assert python(code)[0] == "''\n"


@needs_numba
def test_a_loop_is_compiled_once_for_each_dtype():
    """Whatever arrays a training step and decoding have: another type would stop a run for a
    second, to compile.
    """
    code = """
import numpy as np
from minitransformer import Adam, Transformer, TransformerConfig, beam_search, make_batch, training_step
from minitransformer.speed import loops
from minitransformer.speed.kernels import kernels_run
running = kernels_run()
running.__enter__()
for rate in (0.0, 0.1):
    config = TransformerConfig.named("toy", 20, dropout=rate, attention_dropout=rate, feed_forward_dropout=rate,
                                     activation=("relu", "gelu")[rate > 0])
    model = Transformer(config)
    adam = Adam(model)
    for pairs in ([([5, 6, 7], [7, 6, 5])], [([5], [7, 6, 5]), ([5, 6, 8, 9], [4])]):
        training_step(model, adam, make_batch(pairs), 0.01, (0,), 0.1)
        beam_search(model, make_batch(pairs).source, 2, max_length=5)
running.__exit__(None, None, None)
assert len(loops.LOOPS) > 10
for function, _ in loops.LOOPS:
    assert len(function.signatures) == 1, (function, function.signatures)
"""
    python(code)
