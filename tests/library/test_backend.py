"""The choice of the array module, and what happens without a GPU."""

import sys
import types

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer import backend
from minitransformer.layers import Linear


def fake_cupy(available):
    module = types.ModuleType("cupy")
    module.is_available = lambda: available
    return module


def test_submodules_are_attributes():
    import minitransformer

    assert minitransformer.layers.Linear is Linear and "Transformer" in dir(minitransformer)
    assert not hasattr(minitransformer, "transformr")


def test_cupy_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(
        InputError, match=r"not installed; install it with pip install cupy-cuda12x"
    ):
        backend.get_module("cupy")
    assert backend.get_module("auto") is np


def test_cupy_whose_own_libraries_are_missing(monkeypatch, tmp_path):
    """Installed, but its import fails: installing it again would change nothing."""
    (tmp_path / "cupy.py").write_text(
        "raise ImportError('libcuda.so.1: cannot open shared object file')"
    )
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        InputError, match=r"CuPy cannot be used \(libcuda.so.1: cannot open shared object file\)"
    ):
        backend.get_module("cupy")


def test_cupy_without_a_gpu(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(available=False))
    with pytest.raises(InputError, match="finds no GPU. Use --backend numpy"):
        Linear(2, 3, np.random.default_rng(0)).to("cupy")
    assert backend.get_module("auto") is np


def test_cupy_with_a_gpu(monkeypatch):
    module = fake_cupy(available=True)
    monkeypatch.setitem(sys.modules, "cupy", module)
    assert backend.get_module("cupy") is backend.get_module("auto") is module


def test_host_and_device_moves_keep_numpy_arrays():
    array = np.ones(2)
    assert backend.module_of(array) is backend.get_module("numpy") is np
    assert backend.to_host(array) is array
    assert backend.to_device(array, np) is array
