"""The pages of docs/api: `names` is a table of a module's public names, and `public NAMES (section
X, chapter Y)`, with the example after it, what the docstrings say of them.
"""

import inspect
import re
from dataclasses import fields, is_dataclass
from html import escape
from functools import reduce
from importlib import import_module

from plain_docstrings import html

import minitransformer
from minitransformer_course.judge.course import chapters

PAGES = {
    "functional": "minitransformer.functional",
    "layers": "minitransformer.layers",
    "minitransformer": "minitransformer",
}
ENTRY = re.compile(
    r"^public ([\w. ]+?)(?: \(([^)\n]+)\))?\n\n```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def public(module) -> dict:
    """{name: what it names}"""
    own = [
        name
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", "").startswith(f"{module.__name__}.")
    ]
    return {name: getattr(module, name) for name in getattr(module, "__all__", own)}


# {a public thing: (the page that describes it, its name there)}: the first of the modules that have
# it
HOMES: dict = {}
for stem, path in PAGES.items():
    for name, thing in public(import_module(path)).items():
        HOMES.setdefault(thing, (stem, f"{path}.{name}"))


def comment(source, name) -> str:
    """What stands behind an assignment."""
    found = re.search(rf"^ *{name}\b.*?# (.+)$", inspect.getsource(source), re.MULTILINE)
    return found[1] if found else ""


def sentence(text) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def described(name, thing) -> str:
    """One line."""
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return (inspect.getdoc(thing) or "").split("\n")[0].rstrip(":")
    return sentence(comment(import_module(minitransformer._HOME[name]), name))


def link(thing, text) -> str:
    page, anchor = HOMES[thing]
    return f'<a href="{page}.html#{anchor}"><code>{text}</code></a>'


def table(rows) -> str:
    cells = "".join(f"<tr><td>{name}</td><td>{text}</td></tr>" for name, text in rows)
    return f'<div class="table-wrapper docutils container"><table class="docutils names"><tbody>{cells}</tbody></table></div>'


def names(module, order) -> str:
    """A row for each public name: in the order of __all__, or else in the page's order, those that
    another page describes last.
    """
    things = public(module)
    order = getattr(module, "__all__", [name for name in order if name in things])
    ordered = [*order, *(name for name in things if name not in order)]
    return table(
        (link(things[name], name), html(described(name, things[name]))) for name in ordered
    )


def place(text) -> str:
    """`section 3.2.1, chapter 4`, with a link to the chapter."""
    found = {str(chapter.number): chapter.name for chapter in chapters()}
    paper = [part for part in text.split(", ") if not part.startswith("chapter")]
    shown = [f"{' and '.join(paper)} of the paper"] if paper else []
    shown += [
        f"chapter :doc:`/tutorials/{found[number]}/chapter`"
        for number in re.findall(r"chapter (\w+)", text)
    ]
    return sentence(", ".join(shown))


def entry(path, listed, where, example) -> str:
    """The first name gets the place in paper and book. The example is in front of a class's
    members, or below all functions.
    """
    things = {name: reduce(getattr, name.split("."), import_module(path)) for name in listed}
    shown_at = listed[0] if inspect.isclass(things[listed[0]]) else listed[-1]
    lines = []
    for name, thing in things.items():
        if inspect.isclass(thing):
            lines += [f".. autoclass:: {path}.{name}", "   :members:", "   :undoc-members:", ""]
        elif inspect.isroutine(thing):
            lines += [f".. autofunction:: {path}.{name}", ""]
        else:
            lines += [
                f".. py:data:: {path}.{name}",
                f"   :value: {thing!r}",
                "",
                f"   {described(name, thing)}",
                "",
            ]
        if where and name == listed[0]:
            lines += [f"   {place(where)}", ""]
        if name == shown_at:
            lines += [
                "   .. code-block:: pycon",
                "",
                *(f"      {line}" for line in example.splitlines()),
                "",
            ]
    return "\n".join(["```{eval-rst}", *lines, "```"])


def fill(app, docname, content) -> None:
    if docname.startswith("docs/api/"):
        path = PAGES[docname.removeprefix("docs/api/")]
        order = [name for found in ENTRY.findall(content[0]) for name in found[0].split()]
        text = ENTRY.sub(
            lambda found: entry(path, found[1].split(), found[2], found[3]), content[0]
        )
        content[0] = text.replace("\nnames\n", f"\n{names(import_module(path), order)}\n")


def has_fields(thing) -> bool:
    return is_dataclass(thing) or hasattr(thing, "_fields")


def show_fields(app, what, name, thing, options, lines) -> None:
    """Below the docstring of a class with fields: what each means, unless the entry of a base class
    says so.
    """
    if what != "class" or not has_fields(thing):
        return
    meant = (
        {one.name: one.metadata.get("meaning") for one in fields(thing)}
        if is_dataclass(thing)
        else {}
    )
    rows, elsewhere = [], {}
    for field, parameter in inspect.signature(thing).parameters.items():
        owner = next(
            base for base in thing.__mro__ if field in vars(base).get("__annotations__", {})
        )
        if owner is not thing and owner in HOMES:
            elsewhere[owner] = ("", "and those of " + link(owner, owner.__name__))
        else:
            written = str(parameter).replace(": Any", "").replace("<factory>", "...")
            rows.append(
                (
                    f"<code>{escape(written)}</code>",
                    escape(meant.get(field) or comment(owner, field)),
                )
            )
    lines += [".. raw:: html", "", f"    {table([*rows, *elsewhere.values()])}", ""]


def without_fields(app, what, name, thing, options, signature, returned) -> tuple | None:
    """The fields of a class are a table."""
    return ("", None) if what == "class" and has_fields(thing) else None


def skip(app, what, name, thing, skipped, options) -> bool | None:
    """All members but methods and documented properties: fields are in the table."""
    if (
        what == "class"
        and not inspect.isroutine(thing)
        and not (isinstance(thing, property) and thing.__doc__)
    ):
        return True
    return None


def setup(app) -> dict:
    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", show_fields, priority=600)  # after plain_docstrings
    app.connect("autodoc-process-signature", without_fields)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
