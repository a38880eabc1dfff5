"""The core is a list that docs/read_the_source.md shows: what the Transformer and its training step
import, and no more.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module


import pytest

import minitransformer
from minitransformer.dispatch import TABLE
from minitransformer.speed.kernels import KERNELS, load_all
from tests import ROOT
from tests.helpers.imports import loaded_by

PACKAGE = ROOT / "minitransformer"
PAGE = ROOT / "docs" / "read_the_source.md"
COURSE = ROOT / "minitransformer_course"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)
NEEDED = "filelock matplotlib safetensors threadpoolctl tqdm".split()
KNOWN = {"numpy", *NEEDED, *sys.stdlib_module_names}  # the others come with an extra
# what functions import, but for extras and what the command imports when it is requested
INSIDE = {
    "minitransformer/dispatch.py": "numpy",  # the command is ready before NumPy is loaded
    "minitransformer/cores.py": "threadpoolctl",
    "minitransformer/errors.py": "difflib",  # and these
    "minitransformer/shell.py": "shlex subprocess",
    "minitransformer/extras.py": "importlib.metadata",  # likewise
    "minitransformer/pictures/architecture.py": "matplotlib minitransformer.pictures.figure",
    "minitransformer/runs/progress_bar.py": "tqdm",
}
LATER = {  # likewise, still to be removed
    "minitransformer_course/judge/__init__.py": "minitransformer_course.judge",
    "minitransformer_course/judge/capstone.py": "minitransformer_course.judge.judgement",
    "minitransformer_course/judge/capstone_report.py": "minitransformer.pictures.architecture",
    "minitransformer_course/judge/learner_process.py": "minitransformer_course.judge",
    "minitransformer_course/locale/catalogue.py": "minitransformer_course minitransformer.cli",
}
ROOMS = {
    "checking",
    "cli",
    "data",
    "decoding",
    "interchange",
    "pictures",
    "tasks",
    "runs",
    "speed",
    "zoo",
}
NODES = 9_980  # at most, in the files of the core, types left out
LOOKUP = PACKAGE / "lookup.py"
STEP = """
from minitransformer import Adam, Transformer, TransformerConfig, make_batch, training_step
model = Transformer(TransformerConfig.named("toy", 20))
training_step(model, Adam(model), make_batch([([5, 6], [6, 5])]), 0.001)
"""
GIVEN = {"data/batches.py", "training/optim.py"}  # what this program itself imports
LISTED = {
    "layers/pooling.py",
    "models/classifier.py",
    "models/language_model.py",
}  # by the __init__.py of the core's folders


class Untyped(ast.NodeTransformer):
    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_FunctionDef(self, node):
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node):
        node.annotation = ast.Constant(None)
        return node


def nodes(text):
    """The expressions and statements of a file, without docstrings and types: no layout changes
    their number.
    """
    found = list(ast.walk(Untyped().visit(ast.parse(text))))
    docstrings = sum(
        isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in found
    )
    return sum(isinstance(one, (ast.expr, ast.stmt)) for one in found) - 2 * docstrings


def file_of(module):
    """The file of a module, None for one of another package."""
    path = ROOT.joinpath(*module.split("."))
    return next(
        (file for file in (path / "__init__.py", path.with_suffix(".py")) if file.exists()), None
    )


@cache
def imported(file):
    """[(module, name, where)] of each import in a file: "top" of the module, inside a "function",
    or for "types" alone. The name is None if the module itself is imported.
    """
    found, todo = [], [(ast.parse(file.read_text(encoding="utf-8")), "top")]
    for node, where in todo:
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            where = "function"
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            where = "types"
        todo += [(child, where) for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.Import):
            found += [(alias.name, None, where) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.module, alias.name, where) for alias in node.names]
    return found


def defining(module, name):
    """The file that defines a name of a module: a package's __init__ says where its own names come
    from.
    """
    if name and (submodule := file_of(f"{module}.{name}")):
        return submodule
    file = file_of(module)
    if file and file.name == "__init__.py":
        return next((defining(*one) for *one, _ in imported(file) if one[1] == name), file)
    return file


def needed(file):
    """What runs when this file is imported, or later."""
    executed = [one for *one, where in imported(file) if where != "types"]
    return {found for one in executed if (found := defining(*one))} - {file}


def the_core():
    core = todo = {PACKAGE / "models" / "transformer.py", PACKAGE / "training" / "step.py"}
    while todo := set().union(*map(needed, todo)) - core:
        core = core | todo
    return core


def first_table():
    """{file: that of its kernels, or ""} of the page's table of the core."""
    rows = re.findall(
        r"^\|[^|]*\| `([\w/]+\.py)` \|[^|]+\|([^|]*)\|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert len(rows) == len(dict(rows))
    return {PACKAGE / name: kernels.strip(" `") for name, kernels in rows}


def test_the_core_is_the_first_table_of_the_page():
    assert the_core() == set(first_table())


def test_the_table_says_where_the_kernels_are():
    load_all()
    found = dict.fromkeys(first_table(), "")
    for textbook, (kernel, _, _) in KERNELS.items():
        path = PACKAGE.parent.joinpath(*TABLE[textbook].textbook.__module__.split("."))
        if (file := path.with_suffix(".py")) in found:
            names = kernel.partition(":")[0].split(".")
            found[file] = "/".join(names) + ".py"
    assert found == first_table()


def test_the_core_is_small():
    size = {file: nodes(file.read_text(encoding="utf-8")) for file in the_core()}
    assert len(size) <= 42
    assert sum(size.values()) <= NODES
    assert not {file: count for file, count in size.items() if count > 800}


def test_a_training_step_loads_the_core_and_nothing_else():
    loaded = {file_of(name) for name in loaded_by(STEP) if name.split(".")[0] == "minitransformer"}
    further = {PACKAGE / name for name in GIVEN | LISTED}
    assert {file for file in loaded if file.name != "__init__.py"} == set(first_table()) | further


WITHOUT = """
from minitransformer.cli import main
from minitransformer.tasks import toy
toy.VALID = toy.TEST = 20
for words in "gradcheck linear; train copy --steps 2 --run run; train --resume run; translate run a".split("; "):
    assert main(words.split()) == 0
"""


def test_the_library_works_without_the_zoo_and_the_course(tmp_path):
    """Of the zoo, only the names of its choices are read."""
    loaded = loaded_by(WITHOUT, tmp_path)
    assert "minitransformer.layers" in loaded
    assert not [
        name
        for name in loaded
        if name.startswith(("minitransformer.zoo.", "minitransformer_course"))
    ]


def test_only_a_lookup_reaches_the_zoo():
    """Not even inside a function."""
    for file in FILES:
        if PACKAGE / "zoo" not in file.parents and file != LOOKUP:
            assert "minitransformer.zoo" not in file.read_text(encoding="utf-8"), file


def test_every_folder_is_in_the_core_or_a_room():
    assert {file.relative_to(PACKAGE).parts[0] for file in FILES if file.parent != PACKAGE} == (
        ROOMS | {"functional", "layers", "models", "training"}
    )
    named = PAGE.read_text(encoding="utf-8").partition("## The rooms around it")[2]
    assert not {room for room in ROOMS if f"`{room}/`" not in named}


def test_the_stops_of_the_tour_exist():
    stops = re.findall(r"`([\w/]+\.py)`: `([\w.]+)`", PAGE.read_text(encoding="utf-8"))
    assert len(stops) > 20
    for name, function in stops:
        assert f"def {function.split('.')[-1]}(" in (PACKAGE / name).read_text(encoding="utf-8"), (
            name,
            function,
        )


def test_the_page_is_short():
    assert (
        sum(bool(re.search(r"\w", word)) for word in PAGE.read_text(encoding="utf-8").split())
        <= 1500
    )


def test_no_imports_run_in_a_circle():
    """At the top of modules. A name of another package also loads the __init__ of that package."""

    def loaded(file):
        for module, name, where in imported(file):
            if where == "top" and (found := defining(module, name)):
                yield found
                yield from (
                    package / "__init__.py"
                    for package in found.parents
                    if PACKAGE in package.parents and package not in file.parents
                )

    order = TopologicalSorter({file: set(loaded(file)) - {file} for file in FILES}).static_order()
    assert set(order) == set(FILES)


@pytest.mark.parametrize("package", [PACKAGE, COURSE], ids=lambda package: package.name)
def test_no_folders_import_each_other_in_a_circle(package):
    """Wherever in a file the import is. The files beside the folders are the ground floor; the
    doors, __init__.py and __main__.py, lead into all of them.
    """

    def folder(file):
        return file.relative_to(package).parts[0] if file.parent != package else "ground floor"

    doors = {package / "__init__.py", package / "__main__.py"}
    rooms = {}
    for file in {*package.rglob("*.py")} - doors:
        executed = [(module, name) for module, name, where in imported(file) if where != "types"]
        found = {defining(*one) for one in executed} - doors
        needs = {folder(one) for one in found if one and package in one.parents}
        rooms.setdefault(folder(file), set()).update(needs - {folder(file)})
    assert len(rooms) > 5
    assert set(TopologicalSorter(rooms).static_order()) == set(rooms)


def test_functions_import_only_what_must_come_late():
    """An extra, or what a command imports once it is requested; all else is in two lists."""
    late = {}
    for package in PACKAGE, COURSE:
        for file in package.rglob("*.py"):
            if file.relative_to(package).parts[0] in ("cli", "commands"):
                continue
            for module, name, where in imported(file):
                root = module.partition(".")[0]
                ours = root in ("minitransformer", "minitransformer_course")
                if where == "function" and (ours or root in KNOWN):
                    path = file.relative_to(ROOT).as_posix()
                    late.setdefault(path, []).append(f"{module}.{name}" if name else module)
    listed = {path: words.split() for path, words in {**INSIDE, **LATER}.items()}
    assert late.keys() == listed.keys()
    for path, modules in late.items():
        for start in listed[path]:
            assert any(one.startswith(start) for one in modules), (path, start)
        assert all(one.startswith(tuple(listed[path])) for one in modules), (path, modules)


BLOCKED = f"""
import sys
sys.modules.update(dict.fromkeys({NEEDED}))
import numpy as np
from minitransformer import gradcheck
from minitransformer.layers import LayerNorm
from minitransformer_course import check

rng = np.random.default_rng(0)
gradcheck(LayerNorm(3), [rng.standard_normal((2, 3))]).raise_if_failed()

def softmax(x, mask=None):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

def sinusoids(positions, d_model):
    return np.zeros((len(positions), d_model))

assert check("softmax", softmax).passed
assert not check("sinusoids", sinusoids).passed
"""


def test_the_paper_and_the_judge_need_numpy_alone():
    """A step, a gradient check and the judge's answers, in a process that lacks the other
    libraries.
    """
    loaded_by(BLOCKED + STEP)


def test_a_first_softmax_loads_mathematics_alone():
    modules = loaded_by(
        "import minitransformer, sys; assert 'numpy' not in sys.modules\n"
        "import numpy as np, minitransformer.functional as F; F.softmax_forward(np.ones((2, 3)))"
    )
    rooms = {name.split(".")[1] for name in modules if name.startswith("minitransformer.")}
    assert not rooms & {"layers", "models", "decoding", "training", "zoo", "tasks", "cli"}
    assert {name for name in modules if name.startswith("minitransformer.data")} <= {
        "minitransformer.data",
        "minitransformer.data.special",
    }


def test_no_function_that_may_be_replaced_is_wrapped():
    """But by functools.lru_cache, which is C: a step of a debugger would lead into the wrapper."""
    for name in minitransformer.__all__:
        getattr(minitransformer, name)
    import_module("minitransformer.zoo.modern")
    assert [name for name, entry in TABLE.items() if hasattr(entry.textbook, "__wrapped__")] == [
        "sinusoids"
    ]


def test_a_debugger_steps_from_the_call_into_the_textbook():
    """In one step: nothing stands in between."""
    code = "import numpy as np, pdb, minitransformer.functional as F\nx = np.ones(3)\npdb.set_trace(); F.softmax_forward(x)"
    shown = subprocess.run(
        [sys.executable, "-c", code],
        input="step\ncontinue\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert shown.returncode == 0 and re.search(
        r"--Call--\n> \S+softmax\.py\(\d+\)softmax_forward", shown.stdout
    ), shown


def test_type_checkers_see_the_public_names_where_they_are():
    """Each once, and the same object."""
    package = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in package.body if isinstance(node, ast.If)]
    names = {alias.name: node.module for node in block.body for alias in node.names}
    assert len(names) == sum(len(node.names) for node in block.body) and set(names) == set(
        minitransformer.__all__
    )
    for name, module in names.items():
        assert getattr(minitransformer, name) is getattr(import_module(module), name)
