"""my_transformer.py, which grows in the reader's folder: every function that passes, with what it
needs.
"""

import ast
import re
from functools import cache
from pathlib import Path

from minitransformer.errors import InputError
from minitransformer.files import write_durably
from minitransformer_course.judge.cells import lines
from minitransformer_course.judge.course import exercises
from minitransformer_course.messages import _
from minitransformer_course.judge.own_code import Statement, needed, numbers_of, statements

FILE = "my_transformer.py"
MODEL_FILE, FUNCTIONS = (
    "my_model.py",
    ("forward", "backward", "loss", "adam_step", "greedy", "train"),
)  # from a blank file
MODEL, MODEL_MINUTES = Path(MODEL_FILE).stem, 300
HEAD = '"""{said}"""\n'
SECTION = "# ---- {name} ({chapter}) ----"
SECTIONS = re.compile(r"^# ---- (\w+) \(\w+\) ----$", re.MULTILINE)


def add(folder, sources, names) -> None:
    """Put the functions `names` of a learner's file, as submission.read gives it, into the folder's
    my_transformer.py.

    Raises InputError as `put` does.
    """
    put(folder, {name: text_of(sources, needed(sources, [name])) for name in names})


def text_of(sources, kept) -> str:
    """The Statements `kept` of {name: source}, without the rest."""
    return "\n\n\n".join(_text(sources[one.file], one.node) for one in kept)


def put(folder, texts) -> None:
    """Put functions, {name of an exercise: its code and what that needs}, into the folder's
    my_transformer.py.

    Raises InputError if two functions need different helpers of one name, or if the file there is
    not Python.
    """
    path = Path(folder) / FILE
    imports, sections = _parts(path)
    for name, source in texts.items():
        mine = _statements(source)
        imports += [
            text
            for one in mine
            if _is_import(one.node)
            and not _is_of_this_file(one.node)
            and (text := ast.unparse(one.node)) not in imports
        ]
        sections[name] = text_of({"": source}, [one for one in mine if not _is_import(one.node)])
    for name in sections:  # a part that passes by itself appears once
        others = set(sections) - {name}
        kept = [one for one in _statements(sections[name]) if not one.defined & others]
        sections[name] = text_of({"": sections[name]}, kept)
    _check_helpers(sections)
    said = _(
        "The parts of a Transformer that I wrote. `minitransformer learn check` adds each function "
        "that passes."
    )
    text = "\n".join([HEAD.format(said=said), *sorted(imports), ""])
    for name, exercise in exercises().items():
        if name in sections:
            text += f"\n{SECTION.format(name=name, chapter=exercise.chapter.name)}\n\n{sections[name]}\n\n"
    write_durably(path, (text.rstrip() + "\n").encode())


def names_in(folder) -> list[str]:
    """The exercises whose functions the folder's my_transformer.py has, in order."""
    sections = _parts(Path(folder) / FILE)[1]
    return [name for name in exercises() if name in sections]


def _parts(path) -> tuple[list[str], dict[str, str]]:
    """Its imports, and {name of an exercise: source}."""
    if not path.exists():
        return [], {}
    try:
        text = path.read_text(encoding="utf-8")
        imports = [ast.unparse(node) for node in ast.parse(text).body if _is_import(node)]
    except (OSError, ValueError, SyntaxError) as error:
        raise InputError(
            _(
                "{path} cannot be read ({error}): fix it, or move it away and type `minitransformer "
                "learn check --all`"
            ).format(path=path.name, error=type(error).__name__)
        ) from None
    _head, *parts = SECTIONS.split(text)
    return imports, {name: source.strip("\n") for name, source in zip(parts[::2], parts[1::2])}


def _check_helpers(sections) -> None:
    known: dict[str, tuple[str, str]] = {}  # {helper: its code, the exercise that has it}
    for name, source in sections.items():
        for one in _statements(source):
            for helper in one.defined - {name}:
                code, other = known.setdefault(helper, (ast.dump(one.node), name))
                if code != ast.dump(one.node):
                    raise InputError(
                        _(
                            "{name} and {other} each have a helper {helper!r}, and the two differ: rename one, and "
                            "{name} joins {file}"
                        ).format(name=name, other=other, helper=helper, file=FILE)
                    )


@cache
def _statements(source) -> list[Statement]:
    return statements({"": source})


def _is_import(node) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _is_of_this_file(node) -> bool:
    """Whether it imports a part that is here anyway. Raises InputError if it does so under another
    name.
    """
    stem = FILE.removesuffix(".py")
    if stem not in ast.unparse(node):
        return False
    if isinstance(node, ast.Import) or any(alias.asname for alias in node.names):
        raise InputError(
            _(
                "{line}: import a part of {file} by its name, as in `from {stem} import softmax`"
            ).format(line=ast.unparse(node), file=FILE, stem=stem)
        )
    return True


def _text(source, node) -> str:
    kept = [lines(source)[number - 1] for number in numbers_of(node)]
    return "\n".join(
        line for line in kept if not line.strip().startswith(("# your code:", "# end of your code"))
    )
