"""Libraries that come with an extra, not with the core package."""

import importlib
from types import ModuleType

from minitransformer.errors import InputError


EXTRAS = {"numba": "fast", "mpi4py": "distributed", "gguf": "gguf", "jinja2": "gguf", "tokenizers": "translation",
          "sacrebleu": "translation", "pooch": "translation", "requests": "translation"}


def how_to_install(name) -> str:
    """The command that installs the module called `name`: in the clone, with everything else that its extra has."""
    alone = f"pip install {name}"
    return f'pip install ".[{EXTRAS[name]}]" in the folder of the clone, or {alone}' if name in EXTRAS else alone


def require(name) -> ModuleType:
    """The module called `name`. Raises InputError if it cannot be imported; if it is missing, with the command to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise InputError(f"this needs {name}: {how_to_install(name)}") from None
    except ImportError as error:
        raise InputError(f'{name} is installed but cannot be imported ({error})') from None
