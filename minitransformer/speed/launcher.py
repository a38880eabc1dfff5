"""Several processes of one command: what their launcher, such as mpiexec, says about them, and
MPI's communicator of them.
"""

import math
import os
import time
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from minitransformer.errors import InputError
from minitransformer.extras import how_to_install

# Each launcher's variables for the fields of Place, in their order.
VARIABLES = (
    # MPICH, Intel MPI, Microsoft MPI
    ("PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"),
    # Open MPI
    (
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
    ),
    # srun; it does not say how many are here
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "", "SLURM_LOCALID"),
)


class Place(NamedTuple):
    """One process among several."""

    processes: int  # how many the launcher has started, on all machines
    rank: int  # which one this is: 0, 1, ...
    here: int  # how many of them are on this machine
    rank_here: int  # which of those this is


def launched(environment: Mapping[str, str] = os.environ) -> Place:
    """This process's Place according to the launcher's variables; without a launcher, it is the
    only process.
    """
    for names in VARIABLES:
        values = [environment.get(name, "") for name in names]
        if all(value.isdigit() for value in values[:2]):
            defaults = (1, 0, 1, int(values[1]))
            return Place(
                *(
                    int(value) if value.isdigit() else default
                    for value, default in zip(values, defaults)
                )
            )
    return Place(1, 0, 1, 0)


@lru_cache(maxsize=1)
def world() -> Any:
    """MPI's communicator of all processes, an mpi4py object; starts MPI.

    Raises InputError if MPI is missing, or sees fewer processes than the launcher has started: each
    would train alone.
    """
    started = launched().processes
    try:
        import mpi4py
    except ModuleNotFoundError:
        raise InputError(
            f"several processes need mpi4py: {how_to_install('mpi4py')} mpich"
        ) from None
    try:
        mpi4py.rc.thread_level = "serialized"  # never two threads at a time
        with warnings.catch_warnings():
            # about processes that do not see each other: they are refused below
            warnings.simplefilter("ignore")
            from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # the latter if no MPI library is found
        raise InputError(
            f"mpi4py finds no MPI ({error}); pip install mpich, or load the module of your cluster's MPI"
        ) from None
    if MPI.COMM_WORLD.size != started:
        library = " ".join(MPI.Get_library_version().splitlines()[0].partition(",")[0].split())
        raise InputError(
            f"the launcher has started {started} processes, but MPI sees {MPI.COMM_WORLD.size}: mpiexec does not "
            f"belong to the MPI of mpi4py; use the one of {library}"
        )
    return MPI.COMM_WORLD


def completes(request: Any, seconds: float = math.inf) -> bool:
    """Whether an operation of MPI completes within `seconds`. Other processes may use the core
    meanwhile: MPI would keep it busy.

    With three processes on two busy cores, we measured 13 times as many steps of the copy task this
    way.
    """
    since = time.monotonic()
    while not request.Test():
        if time.monotonic() - since > seconds:
            return False
        os.sched_yield() if hasattr(os, "sched_yield") else time.sleep(0)  # Windows
    return True
