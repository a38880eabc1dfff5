"""Libraries that come with an extra of setup.cfg, not with the core package."""

import importlib
from types import ModuleType

from minitransformer.errors import InputError


EXTRAS = {"translation": ("tokenizers", "sacrebleu", "pooch", "requests"), "fast": ("numba",), "distributed": ("mpi4py",),
          "gguf": ("gguf", "jinja2"),
          "bench": ("torch", "jax", "transformers", "ctranslate2")}


def how_to_install(name) -> str:
    """The command that installs the module called `name`: in the clone, with everything else that its extra has."""
    extra = next((extra for extra in EXTRAS if name in EXTRAS[extra]), None)
    return f'pip install ".[{extra}]" in the folder of the clone, or pip install {name}' if extra else f"pip install {name}"


def require(name) -> ModuleType:
    """The module called `name`. Raises InputError if it cannot be imported; if it is missing, with the command to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise InputError(f"this needs {name}: {how_to_install(name)}") from None
    except ImportError as error:
        raise InputError(f'{name} is installed but cannot be imported ({error})') from None
