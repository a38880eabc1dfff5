"""Libraries that an extra of setup.cfg installs, not the core package."""

import importlib
from types import ModuleType

from minitransformer.errors import InputError


def require(name) -> ModuleType:
    """The module called `name`. Raises InputError if it cannot be imported; if it is missing, with the command to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise InputError(f'this needs {name}: pip install {name}') from None
    except ImportError as error:
        raise InputError(f'{name} is installed but cannot be imported ({error})') from None
