"""`public MODULE` on a line of its own becomes an entry for each public name of the module."""

import inspect
import re
from importlib import import_module

PUBLIC = re.compile(r"^public ([\w.]+)$", re.MULTILINE)


def public(module) -> dict:
    """{name: class or function}"""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    things = {name: getattr(module, name) for name in names}
    return {name: thing for name, thing in things.items() if inspect.isclass(thing) or inspect.isfunction(thing)}


def list_names(app, docname, content) -> None:
    """A thing with two names is described under the last one."""
    if docname != "docs/api":
        return
    modules = {name: public(import_module(name)) for name in PUBLIC.findall(content[0])}
    last = {thing: module for module, things in modules.items() for thing in things.values()}

    def entries(match) -> str:
        lines, elsewhere = [], []
        for name, thing in modules[match[1]].items():
            if last[thing] != match[1]:
                elsewhere.append(f"``{name}``")
            elif inspect.isclass(thing):
                lines += [f".. autoclass:: {match[1]}.{name}", "   :members:", ""]
            else:
                lines += [f".. autofunction:: {match[1]}.{name}", ""]
        if elsewhere:
            lines = [f"Described below: {', '.join(elsewhere)}.", "", *lines]
        return "\n".join(["```{eval-rst}", *lines, "```"])

    content[0] = PUBLIC.sub(entries, content[0])


def setup(app) -> dict:
    app.connect("source-read", list_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
