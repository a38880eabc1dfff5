"""Libraries that come with an extra of setup.cfg, not with the core."""

import importlib

from minitransformer.errors import InputError


def require(name):
    """The module called `name`; raises InputError with the command that installs it where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f'this needs {name}: pip install {name}') from None
