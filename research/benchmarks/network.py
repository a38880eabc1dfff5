"""Measure the all-reduce of a gradient between two processes that a network of limited bandwidth
connects.

Two network namespaces on this machine are connected by a virtual cable whose rate `tc` limits in
both directions. In each runs one process, and MPI may use nothing but TCP. Prints the time of a
message of one byte and back, and of the all-reduce of the gradients of the models of `step`. Needs
Linux, root, the programs ip and tc, mpi4py and mpich.
"""

import os
import subprocess
import sys
import time
from statistics import median

ENVIRONMENT = {
    "MPIR_CVAR_NOLOCAL": "1",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "FI_TCP_IFACE": "cable",
}
NAMES = ("minitransformer-0", "minitransformer-1")
PARAMETERS = {"copy": 237_568, "tiny": 2_605_056, "small": 7_577_600, "base": 48_234_496}
ROUNDS = 5


def member() -> None:
    """In one of the processes."""
    import numpy as np
    from mpi4py import MPI

    from minitransformer.speed.launcher import completes

    world, byte = MPI.COMM_WORLD, np.zeros(1, np.int8)
    seconds = []
    for _ in range(200):
        world.Barrier()
        since = time.perf_counter()
        for turn in (0, 1):
            world.Send(byte, 1 - turn) if world.rank == turn else world.Recv(byte, turn)
        seconds.append(time.perf_counter() - since)
    if world.rank == 0:
        print(f"  one byte and back: {1e6 * median(seconds):,.0f} us", flush=True)
    for name, size in PARAMETERS.items():
        vector, seconds = np.zeros(size, np.float32), []
        for _ in range(ROUNDS):
            world.Barrier()
            since = time.perf_counter()
            completes(world.Iallreduce(MPI.IN_PLACE, vector))
            seconds.append(time.perf_counter() - since)
        if world.rank == 0:
            print(
                f"  {name:6} {4 * size / 1e6:7.1f} MB {1e3 * median(seconds):9,.1f} ms", flush=True
            )


def connect(gigabits) -> None:
    one, other = NAMES
    commands = [
        f"ip netns add {one}",
        f"ip netns add {other}",
        f"ip link add cable netns {one} type veth peer name cable netns {other}",
    ]
    for number, name in enumerate(NAMES):
        inside = f"ip netns exec {name}"
        commands += [
            f"{inside} ip address add 10.77.0.{number + 1}/24 dev cable",
            f"{inside} ip link set cable up",
            f"{inside} ip link set lo up",
        ]
        if gigabits:
            commands.append(
                f"{inside} tc qdisc add dev cable root tbf rate {gigabits}gbit burst 1mb latency 20ms"
            )
    for command in commands:
        subprocess.run(command.split(), check=True)
    time.sleep(2)  # until the cable carries


def add_arguments(parser) -> None:
    parser.add_argument(
        "rates",
        nargs="*",
        type=float,
        default=[0, 10, 1],
        metavar="GBIT_PER_SECOND",
        help="bandwidths to measure; 0 is no limit (default: 0 10 1)",
    )


def execute(args) -> None:
    for rate in args.rates:
        try:
            connect(rate)
            print(f"{rate:g} Gbit/s" if rate else "no limit", flush=True)
            program = [sys.executable, "-m", "research.benchmarks.network"]
            one, other = (["ip", "netns", "exec", name, *program] for name in NAMES)
            subprocess.run(
                ["mpiexec", "-n", "1", *one, ":", "-n", "1", *other],
                check=True,
                env={**os.environ, **ENVIRONMENT},
            )
        finally:
            for name in NAMES:
                subprocess.run(["ip", "netns", "delete", name], check=False)


if __name__ == "__main__":
    member()
