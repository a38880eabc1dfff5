"""Which function runs: a kernel, or the textbook."""

import re
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

from minitransformer import InputError, Transformer
from minitransformer import functional as F
from minitransformer.layers import MultiHeadAttention
from minitransformer.dispatch import TABLE, plugged, replaces, running
from minitransformer.speed.kernels import KERNELS
from minitransformer_course.diagnosis.operations import OPERATIONS
from minitransformer_course.judge.course import exercises
from tests import ROOT, campaign_but
from tests.helpers.kernels import (
    LOSS,
    counting,
    kernel_runs,
    loss_cache,
    needs_numba,
    output_layer,
)


HEADS = MultiHeadAttention(6, 2, np.random.default_rng(0))


@pytest.fixture
def registering():
    """Whatever a test registers is unregistered after it."""
    before = {entry: entry.kernels for entry in TABLE.values()}
    yield
    for entry, kernels in before.items():
        entry.kernels = kernels


def test_what_decides_between_kernel_and_textbook():
    """float32 and float64 of NumPy, by position or by keyword; a NumPy scalar does not turn float32
    into float64.
    """
    output, x, targets = output_layer(), np.ones((2, 3), "float32"), np.array([1, 2])
    loss, cache = LOSS.forward(x=x, output=output, targets=targets, padding=None)
    dx = LOSS.backward(dloss=np.float64(0.5), output=output, cache=cache)
    assert kernel_runs(cache) and dx.dtype == output.weight.grad.dtype == np.float32
    np.testing.assert_allclose(LOSS.backward(cache=cache, output=output, dloss=1.0), 2 * dx)
    for dtype in ("float64", "complex128"):
        assert not kernel_runs(loss_cache(dtype))


def test_running_names_what_runs():
    assert running()["attention_forward"].__module__.startswith("minitransformer.speed.")
    for other in (dict(module="cupy"), dict(dtype="complex128")):
        assert running(**other)["attention_forward"] is TABLE["attention_forward"].textbook
    with plugged(F.relu_forward, mine := lambda x: x):
        assert running()["relu_forward"] is mine


def test_kernels_run_in_every_thread_and_only_within_the_block():
    """Not after it, even after an error, and in the tests of other folders not before it."""
    code = """
import threading
from contextlib import suppress
from minitransformer.speed.kernels import kernels_run
from tests.helpers.kernels import kernel_runs, loss_cache
found = [kernel_runs(loss_cache())]
with suppress(ZeroDivisionError), kernels_run():
    thread = threading.Thread(target=lambda: found.append(kernel_runs(loss_cache())))
    thread.start()
    thread.join()
    with kernels_run():
        found.append(kernel_runs(loss_cache()))
    found.append(kernel_runs(loss_cache()))
    1 / 0
print(found, kernel_runs(loss_cache()))
"""
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    assert out == "[False, True, True, True] False\n"


@pytest.mark.parametrize(
    "value, runs", [("0", False), pytest.param("1", True, marks=pytest.mark.campaign)]
)
def test_the_environment_turns_kernels_off(value, runs):
    code = (
        "import numpy as np; from minitransformer import fast, functional as F\n"
        "from research.benchmarks.info import collect\n"
        "from minitransformer.layers import LinearCrossEntropy, OutputProjection\n"
        "output, x = OutputProjection(4, 3, np.random.default_rng(0)), np.ones((2, 3), 'float32')\n"
        "with fast(): y, cache = LinearCrossEntropy().forward(x, output, np.array([1, 2]), padding=None)\n"
        "print(hasattr(cache, 'dx'), 'adam_update' in collect()['kernels'])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={"MINITRANSFORMER_FAST": value, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert out.split() == [str(runs)] * 2


@pytest.mark.parametrize(
    "function, words",
    [
        (Transformer.encode, "^Transformer.encode cannot be replaced; choose from"),
        (np.tanh, "^tanh cannot be replaced"),
        (3, "^3 cannot be replaced"),
        (F.layer_norm, "cannot be replaced"),  # a module, and not one of its functions
    ],
)
def test_what_cannot_be_replaced_is_named(function, words):
    with pytest.raises(InputError, match=words), plugged(function, print):
        pass
    with pytest.raises(InputError, match=words):
        replaces(function, "numpy", "float32")


def test_a_typo_is_recognised():
    def softmax_backwards(dp, cache):
        return dp

    softmax_backwards.__qualname__ = "softmax_backwards"
    with pytest.raises(
        InputError, match="softmax_backwards cannot be replaced; did you mean softmax_backward"
    ):
        replaces(softmax_backwards, "numpy", "float32")


def test_a_second_implementation_runs_for_the_arrays_it_is_for(registering):
    """Registered last, it comes first, ahead of the existing kernel."""
    mine = counting(F.layer_norm_forward)
    assert replaces(F.layer_norm_forward, "numpy", "float32")(mine) is mine
    for dtype, calls in (("float32", 1), ("float64", 1), ("complex128", 1)):
        F.layer_norm_forward(*(np.ones(3, dtype) for _ in range(3)))
        assert mine.calls == calls
    F.layer_norm_forward(
        beta=np.ones(3, "float32"), gamma=np.ones(3, "float32"), x=np.ones((2, 3), "float32")
    )
    assert mine.calls == 2
    with plugged(F.layer_norm_backward, counting(F.layer_norm_backward)):
        F.layer_norm_forward(*(np.ones(3, "float32") for _ in range(3)))
    assert mine.calls == 2


def test_the_kernel_registered_last_runs_even_if_the_library_has_not_loaded_its_own():
    program = (
        "from minitransformer.functional import layer_norm_forward\n"
        "from minitransformer.dispatch import replaces, running\n"
        "from minitransformer.speed.kernels import kernels_run\n"
        "@replaces(layer_norm_forward, 'numpy', 'float32')\n"
        "def own(x, gamma, beta): pass\n"
        "with kernels_run():\n"
        "    assert running()['layer_norm_forward'] is own\n"
        "    assert running()['layer_norm_backward'].__module__.startswith('minitransformer.speed')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_kernel_may_be_registered_for_any_replaceable_function(registering):
    """Even for functions without one, for methods, and for functions without array arguments, which
    keep the textbook.
    """
    for function, arguments, expected in [
        (F.gelu_forward, (np.ones(3),), 1),
        (F.sinusoids, (4, 6, np, "float64"), 0),
        (MultiHeadAttention.split, (HEADS, np.ones((1, 2, 6))), 1),
    ]:
        mine = counting(function)
        replaces(function, "numpy", "float64")(mine)
        function(*arguments)
        assert mine.calls == expected


@needs_numba
@pytest.mark.parametrize(
    "package",
    campaign_but(
        (
            "functional speed.compiled layers models zoo.attention zoo.convolutional "
            "zoo.modern zoo.recurrent"
        ).split(),
        "layers",
    ),
)
def test_any_module_can_be_imported_first(package):
    """No import cycle, and a kernel is found from each of them."""
    code = f"""
import pkgutil, sys
from importlib import import_module
package = import_module("minitransformer.{package}")
names = ["minitransformer.{package}", *(m.name for m in pkgutil.iter_modules(package.__path__, "minitransformer.{package}."))]
for name in names:
    for loaded in [loaded for loaded in sys.modules if loaded.partition(".")[0] == "minitransformer"]:
        del sys.modules[loaded]
    import_module(name)
    import_module("minitransformer.functional")
    with import_module("minitransformer.speed.kernels").kernels_run():
        assert import_module("minitransformer.dispatch").running()["adam_update"].__name__ == "adam_update_compiled", name
print(len(names))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1


SWITCHED = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from minitransformer import dispatch, fast, functional as F
from minitransformer.speed import kernels
x, gamma, beta = (np.random.default_rng(0).standard_normal(shape, np.float32) for shape in ((50, 7), 7, 7))
found, another = set(), ThreadPoolExecutor(1)
def switch(frame, event, argument):
    if frame.f_code.co_filename in (dispatch.__file__, kernels.__file__):
        y, _ = another.submit(F.layer_norm_forward, x, gamma, beta).result()
        found.add(y.tobytes())
        return switch
with fast():
    F.layer_norm_forward(x, gamma, beta)
    sys.settrace(switch)
    kernels.load_all()
    dispatch.replaces(F.layer_norm_forward, "numpy", "float64")(lambda *arguments: None)
    with fast(): pass
    sys.settrace(None)
print(len(found))
"""


@needs_numba
def test_a_kernel_runs_in_other_threads_while_more_are_loaded():
    """Another thread gets a turn after every line that loads or registers one: the same arrays, the
    same bits.
    """
    done = subprocess.run([sys.executable, "-c", SWITCHED], capture_output=True, text=True)
    assert done.stdout == "1\n", done


def test_what_is_marked_has_a_kernel_or_an_exercise():
    """Or a chapter plugs something in for it; the others are recorded by the doctor."""
    import_module("minitransformer.zoo.checked_blocks")  # imports what the zoo marks
    used = {exercise.plug.replaced.name for exercise in exercises().values() if exercise.plug}
    for chapter in (ROOT / "tutorials").glob("*/chapter.py"):
        text = chapter.read_text(encoding="utf-8")
        used.update(re.findall(r"\bplugged\((?:functional\.|layers\.)?([\w.]+)", text))
    marked = {
        name
        for name, entry in TABLE.items()
        if entry.textbook.__module__.startswith("minitransformer.")
    }
    pairs = [operation for operation in OPERATIONS.values() if operation.is_pair]
    recorded = {"MultiHeadAttention.forward", "MultiHeadAttention.backward"}
    for operation in pairs:
        recorded |= {f"{operation.name}_forward", f"{operation.name}_backward"}
    assert not marked - used - {*KERNELS} - recorded
