"""mpiexec, for tests."""

import importlib.util
import os
import shutil
import subprocess

import pytest

from tests import ROOT

with_mpi = pytest.mark.skipif(
    not (importlib.util.find_spec("mpi4py") and shutil.which("mpiexec")),
    reason="needs mpi4py and mpiexec: pip install mpi4py mpich",
)
TIMEOUT = 60  # seconds: nothing here takes long, and nothing may wait forever


def environment(**more):
    """Without kernels: to load them takes each process longer than what it does here."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "MINITRANSFORMER_FAST": "0", **more}


def mpiexec(number, *command, **settings):
    """The CompletedProcess of `command` in so many processes."""
    return subprocess.run(
        ["mpiexec", "-n", str(number), *map(str, command)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        **{"env": environment(), **settings},
    )
