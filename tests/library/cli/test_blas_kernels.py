"""AVX-512 kernels are requested if they help, only by the command, and never against the user's setting."""

import json
import os
import subprocess
import sys

import pytest

from minitransformer.workers.host import AVX512, choose_blas_kernels


@pytest.mark.parametrize("vendor, flags, environment, expected", [
    ("AuthenticAMD", AVX512, {}, "SkylakeX"),
    ("AuthenticAMD", AVX512 - {"avx512bw"}, {}, None),
    ("GenuineIntel", AVX512, {}, None),
    ("AuthenticAMD", AVX512, {"OPENBLAS_CORETYPE": "Haswell"}, "Haswell"),
    ("AuthenticAMD", AVX512, {"OPENBLAS_CORETYPE": ""}, ""),
])
def test_kernels(tmp_path, monkeypatch, vendor, flags, environment, expected):
    monkeypatch.delitem(sys.modules, "numpy")
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: fpu {' '.join(flags)}\n\n")
    choose_blas_kernels(environment, tmp_path / "cpuinfo")
    assert environment.get("OPENBLAS_CORETYPE") == expected
    choose_blas_kernels(other := {}, tmp_path / "missing")
    assert other == {}


def test_numpy_that_is_loaded_is_left_alone(tmp_path):
    (tmp_path / "cpuinfo").write_text(f"vendor_id\t: AuthenticAMD\nflags\t\t: {' '.join(AVX512)}\n")
    choose_blas_kernels(environment := {}, tmp_path / "cpuinfo")
    assert environment == {}


def test_the_library_asks_for_nothing_and_the_users_word_counts():
    code = "import os, numpy, minitransformer.training.trainer; print('OPENBLAS_CORETYPE' in os.environ)"
    clean = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    assert subprocess.check_output([sys.executable, "-c", code], env=clean, text=True) == "False\n"
    info = subprocess.check_output([sys.executable, "-m", "minitransformer", "info", "--json"],
                                   env={**clean, "OPENBLAS_CORETYPE": "Haswell"}, text=True)
    assert json.loads(info)["blas_kernels_asked_for"] == "Haswell"
