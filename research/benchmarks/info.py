"""Print the facts that a speed depends on; include them when you report one, or a problem."""

import json
import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from minitransformer import __version__, dispatch
from minitransformer.speed import kernels
from minitransformer.backend import get_module
from minitransformer.cores import available_cores


def add_arguments(parser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def execute(args) -> None:
    facts = collect()
    if args.json:
        print(json.dumps(facts))
    else:
        running = facts.pop("kernels")
        width = max(map(len, [*facts, *running]))
        print(
            "\n".join(
                f"{name.replace('_', ' '):{width}}  {'none' if value is None else value}"
                for name, value in facts.items()
            )
        )
        print(
            "kernels, in place of the textbook where speed was asked for:"
            if running
            else "kernels: none, the textbook runs"
        )
        print(
            "\n".join(f"{name:{width}}  {kernel}" for name, kernel in running.items()),
            end="\n" if running else "",
        )


def collect() -> dict[str, Any]:
    """{fact: value}; None if something is not installed or not known."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    kernels.load_all()  # only then is it known whether they can be compiled
    with kernels.kernels_run():
        running = {
            # {textbook: its kernel}
            name: f"{function.__module__.removeprefix('minitransformer.')}.{function.__name__}"
            for dtype in ("float32", "uint64")
            for name, function in dispatch.running(dtype=dtype).items()
            if function is not dispatch.TABLE[name].textbook
        }
    return {
        "minitransformer": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cupy": _version("cupy-cuda12x") or _version("cupy-cuda13x") or _version("cupy"),
        **{
            name: _version(name)
            for name in ("numba", "torch", "jax", "transformers", "ctranslate2")
        },
        "backend_auto": get_module("auto").__name__,
        "processor": _processor(),
        "cores": os.cpu_count(),
        "cores_available": available_cores(),
        "blas": f"{blas['name']} {blas['version']}",
        "blas_kernels": pools[0].get("architecture") if pools else None,
        "blas_threads": pools[0]["num_threads"] if pools else None,
        "compiled_kernels": f"no: {kernels.state.problem}" if kernels.state.problem else "yes",
        "kernels": running,
    }


def _processor() -> str:
    """The processor's name, family and model according to Linux, or else its name according to
    Python.

    The name alone does not tell one generation from the next: an "AMD EPYC" of family 25 is a Zen 3
    or 4, of family 26 a Zen 5.
    """
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    name, family, model = (
        re.search(rf"^{fact}\s*: (.+)$", text, re.MULTILINE)
        for fact in ("model name", "cpu family", "model")
    )
    if not name:
        return platform.processor() or platform.machine()
    return f"{name[1]}, family {family[1]}, model {model[1]}" if family and model else name[1]


def _version(package) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
