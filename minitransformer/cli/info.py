"""minitransformer info: what this installation is and runs on."""

import json
import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from minitransformer import layers, replaceable    # noqa: F401 - layers: they define functions that may be replaced
from minitransformer.backend import get_module


def add_arguments(parser) -> None:
    parser.description = "Print what a report of a problem or of a speed should mention."
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def execute(args) -> None:
    facts = collect()
    if args.json:
        print(json.dumps(facts))
    else:
        kernels = facts.pop("kernels")
        width = max(map(len, [*facts, *kernels]))
        print("\n".join(f"{name.replace('_', ' '):{width}}  {'none' if value is None else value}"
                        for name, value in facts.items()))
        print("kernels, instead of the textbook:" if kernels else "kernels: none, the textbook runs")
        print("\n".join(f"{name:{width}}  {kernel}" for name, kernel in kernels.items()), end="\n" if kernels else "")


def collect() -> dict[str, Any]:
    """{what: value}; None for what is not there."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "minitransformer": version("minitransformer"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cupy": _version("cupy-cuda12x") or _version("cupy"),
        "torch": _version("torch"),
        "jax": _version("jax"),
        "transformers": _version("transformers"),
        "ctranslate2": _version("ctranslate2"),
        "backend_auto": get_module("auto").__name__,
        "processor": _processor(),
        "cores": os.cpu_count(),
        "blas": f"{blas['name']} {blas['version']}",
        "blas_kernels": pools[0].get("architecture") if pools else None,
        "blas_kernels_asked_for": os.environ.get("OPENBLAS_CORETYPE"),
        "blas_threads": pools[0]["num_threads"] if pools else None,
        "kernels": _kernels(),
    }


def _kernels() -> dict[str, str]:
    """{function that may be replaced: what runs in its place for NumPy's float32}; {} where no kernel does."""
    return {name: f"{function.__module__.removeprefix('minitransformer.')}.{function.__name__}"
            for name, function in replaceable.running().items() if function is not replaceable.TABLE[name].textbook}


def _processor() -> str:
    """Its name as Linux gives it, else what Python knows."""
    cpuinfo = Path("/proc/cpuinfo")
    name = re.search(r"^model name\s*: (.+)$", cpuinfo.read_text(encoding="utf-8"), re.MULTILINE) if cpuinfo.exists() else None
    return name[1] if name else platform.processor() or platform.machine()


def _version(package) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
