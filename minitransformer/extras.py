"""Libraries that come with an extra, not with the core package."""

import importlib
import re
import sys
from pathlib import Path
from traceback import walk_tb
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


def broken_library(error: Exception) -> str | None:
    """What to say of an error if it arose while a library of others was imported: not by us."""
    names = [error.name or ""] if isinstance(error, ImportError) else []
    names += [Path(error.filename or "").stem] if isinstance(error, SyntaxError) else []
    names += [
        frame.f_globals.get("__name__", "")
        for frame, _ in walk_tb(error.__traceback__)
        if frame.f_code.co_name == "<module>"
    ]
    for name in names:
        root = name.partition(".")[0]
        if root not in (
            "",
            "__main__",
            "minitransformer",
            "minitransformer_course",
            *sys.stdlib_module_names,
        ):
            return (
                f"{root} cannot be imported ({type(error).__name__}: {error}); check its settings, or install it "
                f"again: pip install --force-reinstall {root}"
            )
    return None
