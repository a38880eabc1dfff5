"""Libraries that come with an extra, not with the core package."""

import importlib
import re
from types import ModuleType

from minitransformer.errors import InputError


def how_to_install(name: str) -> str:
    """The command that installs the module called `name`: in the clone, with everything else that
    its extra has.
    """
    from importlib.metadata import PackageNotFoundError, requires  # slow

    try:
        needed = re.findall(
            r"^([\w-]+).*extra == [\"'](\w+)",
            "\n".join(requires("minitransformer") or []),
            re.MULTILINE,
        )
    except PackageNotFoundError:  # the source alone, on the path
        needed = []
    extras = {extra: [one for one, of in needed if of == extra] for _, extra in needed}
    with_it = [extra for extra, names in extras.items() if name in names]
    if not with_it:
        return f"pip install {name}"
    extra = min(with_it, key=lambda extra: len(extras[extra]))  # some contain several others
    return f'pip install ".[{extra}]" in the folder of the clone, or pip install {name}'


def require(name: str) -> ModuleType:
    """The module called `name`. Raises InputError if it cannot be imported; if it is missing, with
    the command to install it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise InputError(f"this needs {name}: {how_to_install(name)}") from None
    except ImportError as error:
        raise InputError(f"{name} is installed but cannot be imported ({error})") from None
