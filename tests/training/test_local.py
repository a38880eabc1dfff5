"""Local processes as workers: the bits of as many threads, and nothing is lost or left if one of them ends."""

import errno
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from minitransformer import Adam, InputError, Transformer, TransformerConfig, make_batch, plugged, training_step
from minitransformer.functional import softmax_forward
from minitransformer.replaceable import textbook_of
from minitransformer.workers import local
from minitransformer.workers.helper import _Reader
from minitransformer.workers.local import LocalProcesses, local_workers
from minitransformer.workers.processes import Job
from minitransformer.workers.threads import Threads
from tests.models.makers import KINDS, make_model

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has only the threads")
RNG = np.random.default_rng(0)
PAIRS = [(RNG.integers(3, 12, m).tolist(), RNG.integers(3, 12, n).tolist()) for m, n in [(2, 3), (5, 1), (4, 4), (7, 6), (1, 2)]]
BATCHES = [make_batch(PAIRS), make_batch(PAIRS[1:3])]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(local, "available_cores", lambda: 3)


class Loop:
    """A model, its workers, and its steps with dropout."""

    def __init__(self, kind, count=2, dtype=np.float32, model=None):
        config = TransformerConfig.named("toy", 12, d_model=16, d_ff=24, dropout=0.1)
        self.model = (model or Transformer)(config, seed=1).astype(dtype)
        self.workers = kind(self.model, count)
        self.adam, self.steps = Adam(self.model), 0

    def step(self, count=1):
        for _ in range(count):
            self.steps += 1
            self.sums = training_step(self.model, self.adam, BATCHES, 0.01, (7, self.steps), 0.1, 0.5, self.workers)

    def until_helped(self):
        until = time.monotonic() + 60
        while not (self.helpers and all(helper.replies > 1 for helper in self.helpers)):
            assert time.monotonic() < until and self.helpers
            self.step()
            time.sleep(0.01)
        return self

    @property
    def helpers(self):
        return self.workers._helpers

    def assert_as_with_threads(self):
        """To the bit, after as many steps with as many threads."""
        other = Loop(Threads, len(self.workers.models), self.adam.data.dtype)
        with other.workers:
            other.step(self.steps)
        assert self.sums == other.sums
        assert (self.adam.data == other.adam.data).all()
        assert not self.adam.grad.any()


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


def test_helpers_do_the_work():
    """That is, the other shares: a stopped helper keeps us waiting, and goes on where it was."""
    loop = Loop(LocalProcesses)
    with loop.workers:
        (helper,) = loop.until_helped().helpers
        os.kill(pid(helper), signal.SIGSTOP)
        threading.Timer(0.3, os.kill, (pid(helper), signal.SIGCONT)).start()
        since = time.monotonic()
        loop.step()
        assert time.monotonic() - since > 0.25
    loop.assert_as_with_threads()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_can_be_described(kind):
    """A helper makes the same layers, with the same parameters in the same order, and shared ones shared."""
    model = make_model(kind)
    described = BytesIO(local._described(model))
    _, dtype = pickle.load(described)
    made = _Reader(described, dtype).load()
    assert {name: parameter.shape for name, parameter in made.parameters().items()} == {
        name: parameter.shape for name, parameter in model.parameters().items()}
    assert len(local._described(model)) < 20_000


@pytest.mark.parametrize("when", ["between two steps", "in a step"])
def test_a_killed_helper_is_replaced_by_threads(when, capsys):
    loop = Loop(LocalProcesses, 3)
    with loop.workers:
        helpers = [pid(helper) for helper in loop.until_helped().helpers]
        if when == "in a step":    # it waits for the helper
            os.kill(helpers[0], signal.SIGSTOP)
            threading.Timer(0.2, os.kill, (helpers[0], signal.SIGKILL)).start()
        else:
            os.kill(helpers[0], signal.SIGKILL)
        loop.step(3)
        assert not any(map(exists, helpers))
    loop.assert_as_with_threads()
    assert capsys.readouterr().err == "threads do the work from here on: a helper was ended by SIGKILL\n"


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
        assert workers.run(fails_in_a_helper, shares) == [0, 1]
        assert (workers.sum_gradients() == 14 ** 2 * loop.adam.grad.size) and (loop.adam.grad == 14).all()
        assert capsys.readouterr().err == "threads do the work from here on: a helper failed with ValueError: share 1\n"
        loop.adam.grad[...] = 0
        loop.step()
    loop.assert_as_with_threads()


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


def test_own_functions_run_in_threads(capsys):
    loop = Loop(LocalProcesses)
    calls = []

    def own(*arguments, **options):
        calls.append(threading.get_ident())
        return textbook_of(softmax_forward)(*arguments, **options)

    with loop.workers:
        loop.until_helped()
        loop.step()
        assert not calls
        with plugged(softmax_forward, own):
            loop.step(2)
        assert len(set(calls)) == 2
        assert capsys.readouterr().err == "threads do the work while something is plugged in\n"
        calls.clear()
        (helper,), before = loop.helpers, loop.helpers[0].replies
        loop.step()
        assert (helper.replies, calls) == (before + 1, [])


class Unknown(Transformer):
    """Of a module that a helper does not find."""


@pytest.mark.parametrize(("obstacle", "said"), [
    ("no memory", "No space left on device"), ("little memory", "shared memory are not available"),
    ("another system", "no memory without a name"), ("no program", "No such file or directory"),
    ("one core", "this process may use 1 cores, too few for 2 processes"), ("own layer", "ModuleNotFoundError"),
    ("lambda", "cannot be sent to another process"), ("too slow", "has not started within 0 seconds"),
    ("no module", "a helper has ended with code 1")])
def test_where_helpers_cannot_run(obstacle, said, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    kind = Unknown if obstacle == "own layer" else Transformer
    open_files = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patch:
        match obstacle:
            case "no memory": patch.setattr(os, "posix_fallocate", full)
            case "little memory": patch.setattr(local, "available_memory", lambda: 10)
            case "another system": patch.delattr(os, "memfd_create")
            case "no program": patch.setattr(sys, "executable", "/nowhere/python")
            case "one core": patch.setattr(local, "available_cores", lambda: 1)
            case "own layer": patch.setattr(Unknown, "__module__", "nowhere")
            case "lambda": patch.setattr(Transformer, "extra", None, raising=False)
            case "too slow": patch.setattr(local, "PATIENCE", 0)
            case "no module": patch.setenv("PYTHONHOME", "/nowhere")
        if obstacle == "own layer":
            patch.setitem(sys.modules, "nowhere", sys.modules[__name__])
        loop = Loop(lambda model, count: LocalProcesses(vars(model).update(extra=(lambda: 0) if obstacle == "lambda" else 0)
                                                        or model, count), model=kind)
        with loop.workers:
            until = time.monotonic() + 60
            while loop.helpers and time.monotonic() < until:
                loop.step()
                time.sleep(0.01)
            loop.step()
            assert not loop.helpers
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("threads do the work from here on: ") and said in line
    loop.assert_as_with_threads()
    del loop
    assert len(os.listdir("/proc/self/fd")) == open_files


def test_the_rule():
    made = [local_workers(Transformer(TransformerConfig.named("toy", 12, num_layers=1, d_model=width)), count)
            for width, count in [(128, 2), (132, 2), (128, 1), (128, 4)]]
    assert [type(workers) for workers in made] == [LocalProcesses, Threads, Threads, Threads]    # of three cores
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
from tests.training.test_local import Loop, LocalProcesses, pid
loop = Loop(LocalProcesses)
print(pid(loop.until_helped().helpers[0]), flush=True)
{}
"""


@pytest.mark.parametrize(("end", "code"), [("while True: loop.step()", -signal.SIGKILL), ("raise SystemExit(3)", 3)])
def test_nothing_is_left_after_the_end(end, code):
    with subprocess.Popen([sys.executable, "-c", PROGRAM.format(end)], stdout=subprocess.PIPE, text=True,
                          cwd=Path(__file__).parents[2]) as program:
        helper = int(program.stdout.readline())
        if code < 0:
            program.kill()
        assert program.wait() == code
    until = time.monotonic() + 10
    while exists(helper) and time.monotonic() < until:
        time.sleep(0.01)
    assert not exists(helper)
