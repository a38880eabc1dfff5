"""Local processes as workers: the bits of as many threads, and nothing is lost or left if one of
them ends.
"""

import copy
import errno
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from io import BytesIO
from types import MethodType

import numpy as np
import pytest

from minitransformer import (
    Adam,
    InputError,
    Run,
    Transformer,
    TransformerConfig,
    greedy,
    make_batch,
    plugged,
    training_step,
)
from minitransformer.functional import softmax_forward
from minitransformer.layers import LayerNorm
from minitransformer.layers.hooks import hooked
from minitransformer.dispatch import replaces, textbook_of
from minitransformer.speed.kernels import kernels_run
from minitransformer.speed import kernels
from minitransformer.speed import helper_pipe, local, shared_vectors
from minitransformer.speed.helper import _Reader
from minitransformer.speed.local import LocalProcesses, local_workers
from minitransformer.speed.processes import Job
from minitransformer.speed.threads import Threads
from tests import ROOT
from tests.helpers.command import rewrite
from tests.helpers.models import KINDS, make_model

pytestmark = pytest.mark.skipif(
    not hasattr(os, "memfd_create"), reason="this system has only the threads"
)
RNG = np.random.default_rng(0)
PAIRS = [
    (RNG.integers(3, 12, m).tolist(), RNG.integers(3, 12, n).tolist())
    for m, n in [(2, 3), (5, 1), (4, 4), (7, 6), (1, 2)]
]
BATCHES = [make_batch(PAIRS), make_batch(PAIRS[1:3])]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(local, "available_cores", lambda: 3)


class Loop:
    """A model, its workers, and its steps with dropout."""

    def __init__(self, kind, count=2, dtype=np.float32, model=None):
        config = TransformerConfig.named("toy", 12, d_model=16, d_ff=24, dropout=0.1)
        self.kind = model or Transformer
        self.model = self.kind(config, seed=1).astype(dtype)
        self.workers = kind(self.model, count)
        self.adam, self.steps = Adam(self.model), []

    def step(self, count=1, batches=BATCHES):
        for _ in range(count):
            self.steps.append(batches)
            self.sums = training_step(
                self.model, self.adam, batches, 0.01, (7, len(self.steps)), 0.1, 0.5, self.workers
            )

    def until_helped(self):
        assert (
            until(lambda: self.workers.helped or not self.helpers, work=self.step) and self.helpers
        )
        return self

    def until_alone(self):
        assert until(lambda: not self.helpers, work=self.step)

    @property
    def helpers(self):
        return self.workers._helpers

    def assert_as_with_threads(self):
        """To the bit, after as many steps with as many threads."""
        other = Loop(Threads, len(self.workers.models), self.adam.data.dtype, self.kind)
        with other.workers:
            for batches in self.steps:
                other.step(batches=batches)
        assert self.sums == other.sums
        assert (self.adam.data == other.adam.data).all()
        assert (self.adam.grad == other.adam.grad).all()


def until(done, seconds=60, work=lambda: None):
    """Work until done(), at most so long; returns whether it is done."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        work()
        time.sleep(0.01)
    return done()


def pid(helper):
    return helper._process.pid


def exists(process):
    return os.path.exists(f"/proc/{process}")


@pytest.mark.parametrize(("count", "dtype"), [(2, np.float32), (3, np.float64)])
def test_the_bits_of_as_many_threads(count, dtype, capfd):
    loop = Loop(LocalProcesses, count, dtype)
    with loop.workers:
        helpers = [pid(helper) for helper in loop.until_helped().helpers]
        loop.step(5)
        assert len(loop.helpers) == count - 1
        assert all(map(exists, helpers))
    assert not any(map(exists, helpers))
    loop.assert_as_with_threads()
    assert capfd.readouterr() == ("", "")
    with pytest.raises(InputError, match="closed"):
        loop.step()


@pytest.mark.parametrize("count", [3, 4])
def test_a_trial_does_not_enter_a_step(count, monkeypatch):
    """The second step has two sentences: one helper is asked, and the trials of the others are not
    cleared yet.
    """
    monkeypatch.setattr(local, "available_cores", lambda: 4)
    usual, asked = LocalProcesses._ask, []

    def ask(workers, work, shares):
        assert all(helper.replies > 1 or helper._pipe.poll(60) for helper in workers._helpers)
        asked.append(usual(workers, work, shares))
        return asked[-1]

    monkeypatch.setattr(LocalProcesses, "_ask", ask)
    loop = Loop(LocalProcesses, count)
    with loop.workers:
        for batches in 3 * [BATCHES, BATCHES[1:]]:
            loop.step(batches=batches)
    assert list(map(len, asked)) == [
        0,
        1,
        *2 * [count - 1, 1],
    ]  # in the first step they are greeted
    loop.assert_as_with_threads()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_can_be_described(kind):
    """A helper makes the same layers, with the same parameters in the same order, and shared ones
    shared.
    """
    model = make_model(kind)
    described = BytesIO(helper_pipe.described(model))
    dtype = pickle.load(described)
    made = _Reader(described, dtype).load()
    assert {name: parameter.shape for name, parameter in made.parameters().items()} == {
        name: parameter.shape for name, parameter in model.parameters().items()
    }
    assert len(helper_pipe.described(model)) < 20_000


@pytest.mark.parametrize(
    "when", [pytest.param("between two steps", marks=pytest.mark.slow), "in a step"]
)
def test_a_killed_helper_is_replaced_by_threads(when, capsys):
    loop = Loop(LocalProcesses, 3)
    with loop.workers:
        helpers = [pid(helper) for helper in loop.until_helped().helpers]
        if when == "in a step":  # it waits for the helper
            os.kill(helpers[0], signal.SIGSTOP)
            threading.Timer(0.2, os.kill, (helpers[0], signal.SIGKILL)).start()
        else:
            os.kill(helpers[0], signal.SIGKILL)
        loop.step(3)
        assert not any(map(exists, helpers))
    loop.assert_as_with_threads()
    assert (
        capsys.readouterr().err == "threads do the work from here on: a helper has ended (Killed)\n"
    )


def fails_in_a_helper(model, number, parent):
    model.flat.grad[...] += 7
    if os.getpid() != parent:
        raise ValueError(f"share {number}")
    return number


def test_an_exception_in_a_helper(capsys):
    loop = Loop(LocalProcesses)
    with loop.workers as workers:
        loop.until_helped()
        shares = [(model, number, os.getpid()) for number, model in enumerate(workers.models)]
        loop.adam.grad[...] = 0
        assert workers.run(fails_in_a_helper, shares) == [0, 1]
        assert (workers.sum_gradients() == 14**2 * loop.adam.grad.size) and (
            loop.adam.grad == 14
        ).all()
        assert (
            capsys.readouterr().err
            == "threads do the work from here on: a helper failed with ValueError: share 1\n"
        )
        loop.step()
    loop.assert_as_with_threads()


@pytest.mark.slow
def test_an_exception_here_leaves_no_gradient():
    loop = Loop(LocalProcesses)
    with loop.workers as workers:
        loop.until_helped()
        shares = [(model, number, 0) for number, model in enumerate(workers.models)]
        with pytest.raises(ValueError, match="share 0"):
            workers.run(fails_in_a_helper, shares)
        assert not loop.helpers
        loop.step()
    loop.assert_as_with_threads()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_does_not_train_our_weights():
    """It is refused, and trains a copy; the helpers stay ours."""
    loop = Loop(LocalProcesses)
    with loop.workers:
        loop.until_helped()
        if not (process := os.fork()):
            code, _ = 1, signal.alarm(60)  # a step that hangs ends it
            try:
                with pytest.raises(
                    InputError,
                    match=re.escape("train copy.deepcopy(model) with workers of its own"),
                ):
                    loop.step()
                model = copy.deepcopy(loop.model)
                with Threads(model, 2) as workers:
                    training_step(model, Adam(model), BATCHES, 0.01, workers=workers)
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(process, 0) == (process, 0)
        loop.step()
        assert loop.helpers
    loop.assert_as_with_threads()


class FrozenNorm(LayerNorm):
    def backward(self, dy, cache):
        return dy


class Frozen(Transformer):
    """One of its norms has this method, and its class has another one of that name."""

    def __init__(self, *settings, **more):
        super().__init__(*settings, **more)
        norm = self.encoder.layers[0].feed_forward_residual.norm
        norm.backward = MethodType(FrozenNorm.backward, norm)


def test_a_helper_runs_a_method_that_was_assigned_to_a_layer():
    loop = Loop(LocalProcesses, model=Frozen)
    with loop.workers:
        loop.until_helped().step(2)
        assert loop.helpers
    loop.assert_as_with_threads()


def watch(path, direction, method, *arguments, **options):
    return method(*arguments, **options)


def test_what_leaves_the_model_as_it_is_leaves_its_helpers(capfd):
    """They would be lost for ever."""
    loop = Loop(LocalProcesses)
    with loop.workers:
        helpers = list(loop.until_helped().helpers)
        greedy(loop.model, BATCHES[0].source)
        with hooked(loop.model, watch):
            loop.model.loss_forward(BATCHES[0])
        copy.deepcopy(loop.model)
        loop.model.replica().astype(np.float64)
        loop.model.encoder.layers[0].feed_forward_residual.dropout = 0.1
        Adam(loop.model)
        loop.step(2)
        assert loop.helpers == helpers
    assert capfd.readouterr() == ("", "")
    loop.assert_as_with_threads()


def test_once_the_model_has_changed_threads_do_the_work(capsys):
    loops = [Loop(kind) for kind in (LocalProcesses, Threads)]
    with loops[0].workers, loops[1].workers:
        loops[0].until_helped()
        loops[1].step(len(loops[0].steps))
        for loop in loops:
            loop.model.encoder.layers[0].feed_forward.activation = "gelu"
            loop.step(2)
        assert not loops[0].helpers
    assert (
        capsys.readouterr().err
        == "threads do the work from here on: the model has changed since these LocalProcesses were made\n"
    )
    np.testing.assert_array_equal(loops[0].adam.data, loops[1].adam.data)


def test_own_functions_run_here(capsys, monkeypatch):
    """In threads; all other steps wait for the helper, which here is stopped for a moment."""
    loop, calls = Loop(LocalProcesses), []

    def own(*arguments, **options):
        calls.append(threading.get_ident())
        return textbook_of(softmax_forward)(*arguments, **options)

    def resume():
        assert len(calls) == seen
        os.kill(pid(helper), signal.SIGCONT)
        calls.append("resumed")

    with loop.workers:
        (helper,) = loop.until_helped().helpers
        with plugged(softmax_forward, own):
            loop.step(2)
        assert len(set(calls)) == 2
        assert capsys.readouterr().err == "threads do the work while something is plugged in\n"
        before = helper.replies
        monkeypatch.setattr(softmax_forward, "kernels", ())  # what is registered is forgotten
        replaces(softmax_forward, "numpy", "float32")(
            own
        )  # no step calls it: the attention's kernel runs
        loop.step()
        monkeypatch.undo()
        assert helper.replies == before
        seen = len(calls)
        os.kill(pid(helper), signal.SIGSTOP)
        threading.Timer(0.2, resume).start()
        loop.step()
        assert calls[seen:] == ["resumed"]


class Unknown(Transformer):
    """A model of the user's own, with something that cannot be sent, or of a module that a helper
    does not find.
    """

    def own(self):
        return None

    def __init__(self, *settings, **more):
        super().__init__(*settings, **more)
        self.extra = self.own()


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("obstacle", "said"),
    [
        (lambda patch: patch.setattr(os, "posix_fallocate", full), "No space left on device"),
        (
            lambda patch: patch.setattr(shared_vectors, "available_memory", lambda: 10),
            "2 bytes of shared memory are not available",
        ),
        (
            lambda patch: patch.delattr(os, "memfd_create"),
            "this system has no memory without a name, unlike Linux",
        ),
        (
            lambda patch: patch.setattr(sys, "executable", "/nowhere/python"),
            "No such file or directory",
        ),
        (
            lambda patch: patch.setattr(local, "available_cores", lambda: 1),
            "this process may use 1 core, too few for 2 processes",
        ),
        (
            lambda patch: patch.setattr(Unknown, "__module__", "nowhere"),
            "failed with ModuleNotFoundError: No module named 'nowhere'",
        ),
        (
            lambda patch: patch.setattr(Unknown, "own", lambda model: lambda: 0),
            "the model cannot be sent to another process",
        ),
        (
            lambda patch: patch.setattr(local, "PATIENCE", 0),
            "a helper has not started within 0 seconds",
        ),
        (
            lambda patch: patch.setattr(sys, "executable", shutil.which("false")),
            "a helper has ended with exit code 1",
        ),
    ],
)
def test_where_helpers_cannot_run(obstacle, said, monkeypatch, capsys):
    open_files = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "nowhere", sys.modules[__name__])
        obstacle(patch)
        loop = Loop(LocalProcesses, model=Unknown)
        with loop.workers:
            loop.until_alone()
            loop.step()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("threads do the work from here on: ") and said in line
    loop.assert_as_with_threads()
    del loop
    assert len(os.listdir("/proc/self/fd")) == open_files


def test_the_rule():
    made = [
        local_workers(
            Transformer(TransformerConfig.named("toy", 12, num_layers=1, d_model=width)), count
        )
        for width, count in [(128, 2), (132, 2), (128, 1), (128, 4)]
    ]
    assert [type(workers) for workers in made] == [
        LocalProcesses,
        Threads,
        Threads,
        Threads,
    ]  # of three cores
    for workers in made:
        workers.close()
    with Job("threads").workers(made[0].models[0], 2) as workers:
        assert type(workers) is Threads


def test_nothing_is_left_without_close():
    loop = Loop(LocalProcesses)
    (helper,) = map(pid, loop.helpers)
    del loop
    assert not exists(helper)


PROGRAM = """
import sys, time
from tests.library.training.test_local import Loop, LocalProcesses, pid
loop = Loop(LocalProcesses)
print(pid(loop.until_helped().helpers[0]), flush=True)
{}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("while True: loop.step()", -signal.SIGKILL),
        pytest.param("raise SystemExit(3)", 3, marks=pytest.mark.campaign),
    ],
)
def test_nothing_is_left_after_the_end(end, code):
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(end)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as program:
        helper = int(program.stdout.readline())
        if code < 0:
            program.kill()
        assert program.wait() == code
    assert until(lambda: not exists(helper), 10)


@pytest.fixture
def replies(monkeypatch):
    """How many times each helper had answered when it ended; each step waits for a helper that is
    starting.
    """
    counts, usual_ready, usual_end = [], helper_pipe.Helper.is_ready, helper_pipe.Helper.end

    def is_ready(helper, work, share):
        helper._pipe.poll(60 if helper.replies < 2 else 0)
        return usual_ready(helper, work, share)

    def end(helper):
        counts.append(helper.replies)
        usual_end(helper)

    monkeypatch.setattr(helper_pipe.Helper, "is_ready", is_ready)
    monkeypatch.setattr(helper_pipe.Helper, "end", end)
    return counts


SETTINGS = "copy --batch 8 --threads 2 --dropout 0.1 --d-model 16 --cooldown 0 --average 1"


@pytest.mark.slow
def test_a_run_goes_on_with_other_workers(tmp_path, run_cli, replies, monkeypatch):
    """The command uses processes unless told otherwise, and any workers resume a run, with the same
    bits.
    """
    monkeypatch.setattr("minitransformer.cli.train._report", lambda *_: 0)
    run = tmp_path / "three"
    for steps, workers in (10, ""), (20, "--workers threads"), (30, "--workers processes"):
        if steps > 10:
            settings = json.loads((run / "config.json").read_text())
            settings["training"]["steps"] = steps
            rewrite(run, settings)
        start = "--resume" if steps > 10 else f"{SETTINGS} --steps 10 --run"
        code, _, said = run_cli(f"train {start}", run, *workers.split())
        assert code == 0 and "threads" not in said
    assert replies == [11, 11]  # two times a greeting, a trial and the steps after the first one
    assert run_cli(f"train {SETTINGS} --steps 30 --workers threads --run", tmp_path / "one")[0] == 0
    found, expected = (Run.load(tmp_path / name).model.flat.data for name in ("three", "one"))
    assert (found == expected).all() and len(replies) == 2


def test_workers_that_cannot_be(tmp_path, run_cli, monkeypatch):
    monkeypatch.setattr("minitransformer.cli.train._report", lambda *_: 0)
    assert "invalid choice: 'gpu'" in run_cli("train copy --workers gpu")[2]
    code, _, said = run_cli(
        f"train {SETTINGS} --steps 2 --threads 1 --workers processes --run", tmp_path / "run"
    )
    assert (
        code == 0
        and "threads do the work from here on: one worker needs no other process\n" in said
    )


def test_helpers_inherit_the_choice_of_kernels():
    """Turned on and off again: the bits of threads for which they are turned on and off at the same
    steps.
    """
    loops = [Loop(kind) for kind in (LocalProcesses, Threads)]
    with loops[0].workers, loops[1].workers:
        count = len(loops[0].until_helped().steps)
        for loop in loops:
            loop.step(0 if loop is loops[0] else count)
            with kernels_run():
                loop.step(2)
            loop.step(2)
        assert loops[0].workers.helped
        np.testing.assert_array_equal(loops[0].adam.data, loops[1].adam.data)
    usual = Loop(Threads)
    with usual.workers:
        usual.step(count + 4)
    assert not np.array_equal(usual.adam.data, loops[1].adam.data)  # kernels round in another way


@pytest.mark.skipif(
    bool(kernels.state.problem), reason=f"no compiled kernels: {kernels.state.problem}"
)
def test_a_helper_without_the_compiled_kernels_of_this_process_is_lost(capfd, monkeypatch):
    monkeypatch.setenv("MINITRANSFORMER_FAST", "0")  # as a helper finds it that cannot compile them
    loop = Loop(LocalProcesses)
    monkeypatch.delenv("MINITRANSFORMER_FAST")
    with loop.workers, kernels_run():
        loop.until_alone()
    assert (
        "from here on: a helper has no compiled kernels (MINITRANSFORMER_FAST is 0)"
        in capfd.readouterr().err
    )
