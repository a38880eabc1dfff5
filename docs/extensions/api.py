"""`public MODULE` on a line of its own becomes an entry for each public name of the module."""

import inspect
import re
from importlib import import_module


def entries(match):
    module = import_module(match[1])
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    lines = []
    for name in names:
        thing = getattr(module, name)
        if inspect.isclass(thing):
            lines += [f".. autoclass:: {match[1]}.{name}", "   :members:", ""]
        elif inspect.isfunction(thing):
            lines += [f".. autofunction:: {match[1]}.{name}", ""]
    return "\n".join(["```{eval-rst}", *lines, "```"])


def list_names(app, docname, content):
    if docname == "docs/api":
        content[0] = re.sub(r"^public ([\w.]+)$", entries, content[0], flags=re.MULTILINE)


def setup(app):
    app.connect("source-read", list_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
