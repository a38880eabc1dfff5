"""The choice of OpenBLAS's matrix-product kernels."""

import os
import sys
from pathlib import Path

AVX512 = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}    # what the SkylakeX kernels use


def choose_blas_kernels(environment=os.environ, cpuinfo=Path("/proc/cpuinfo")) -> None:
    """Request the AVX-512 kernels on AMD processors that have the instructions, before NumPy is loaded.

    Some versions of OpenBLAS choose the AVX2 kernels there: 220 instead of 430 GFLOP/s were measured, although
    a Zen 4, which does AVX-512 in two halves, gains nothing. A value that the user set, even an empty one, is
    left alone.
    """
    if "numpy" in sys.modules or "OPENBLAS_CORETYPE" in environment or not cpuinfo.is_file():
        return
    lines = (line.partition(":") for line in cpuinfo.read_text(encoding="utf-8").splitlines())
    facts = {name.strip(): value for name, _, value in lines}
    if "AuthenticAMD" in facts.get("vendor_id", "") and set(facts.get("flags", "").split()) >= AVX512:
        environment["OPENBLAS_CORETYPE"] = "SkylakeX"
