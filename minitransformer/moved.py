"""What has moved: importing an old name reports the new one."""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.abc import MetaPathFinder
from typing import Any

MODULES = {"attention_map": "pictures.attention_map", "evaluation": "training.evaluation", "figure": "pictures.figure",
           "host": "workers.host", "launcher": "workers.launcher", "optim": "training.optim", "parallel": "workers.threads",
           "parameter": "layers.parameter", "plots": "pictures.plots", "processes": "workers.processes",
           "special": "functional.special", "weights": "interchange.weights", "layers.watch": "layers.hooks",
           "models.cached": "decoding.cached", "models.recomputed": "decoding.state", "models.recurrent": "rivals",
           "models.convolutional": "rivals", **dict.fromkeys(("tasks.copy", "tasks.reverse", "tasks.sort"), "tasks.toy"),
           "decoding.recomputed": "decoding.state", "parsing.drawing": "parsing.tree", "benchmarks.operations": "benchmarks.matmul",
           "benchmarks.layers.kinds": "benchmarks.layers.measure"}

# {a name that is gone: what does the same now}
GONE = {"dot_product_attention": "attention_forward and attention_backward of sqrt(d_k) times the query", "tanh": "np.tanh",
        "rnn": "through_time_forward with rnn_step_forward, or the layer RNN",
        "gru": "through_time_forward with gru_step_forward, or the layer GRU"}


class _OldModules(MetaPathFinder):
    def find_spec(self, name, path=None, target=None) -> None:
        new = MODULES.get(name.removeprefix("minitransformer."))
        if new and name.startswith("minitransformer."):
            raise ModuleNotFoundError(f"{name} has moved to minitransformer.{new}", name=name)


def say_new_modules() -> None:
    """Make the import of a module by its old name report the new one; called once."""
    sys.meta_path.append(_OldModules())    # the last one is asked only if there is no such module


def say_new_names(module, *homes) -> Callable[[str], Any]:
    """The `__getattr__` of a package some of whose names are in the modules `homes` now."""
    def get(name) -> Any:
        for home in homes if not name.startswith("_") else ():
            if hasattr(import_module(f"minitransformer.{home}"), name):
                raise ImportError(f"{name} has moved: from minitransformer.{home} import {name}")
        operation = name.removesuffix("_forward").removesuffix("_backward")
        if module == "minitransformer.functional" and operation in GONE:
            raise ImportError(f"{name} is gone; use {GONE[operation]}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return get
