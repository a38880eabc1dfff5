"""Libraries that are installed only with an extra."""

import importlib

from minitransformer.errors import InputError

EXTRA = {"tokenizers": "translation", "sacrebleu": "translation"}


def require(name):
    """The module called `name`; raises InputError with the command that installs it where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f'this needs {name}: pip install "minitransformer[{EXTRA[name]}]"') from None
