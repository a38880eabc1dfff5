"""The core is a list that docs/read_the_source.md shows: what the Transformer and its training step
import, and no more.
"""

import ast
import json
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module


import minitransformer
from minitransformer.dispatch import TABLE
from tests import ROOT

PACKAGE = ROOT / "minitransformer"
PAGE = ROOT / "docs" / "read_the_source.md"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)
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
NODES = 10_200  # at most, in the files of the core
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


def nodes(text):
    """The expressions and statements of a file, without docstrings: no layout changes their number."""
    found = list(ast.walk(ast.parse(text)))
    docstrings = sum(
        isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in found
    )
    return sum(isinstance(one, (ast.expr, ast.stmt)) for one in found) - 2 * docstrings


def file_of(module):
    """The file of a module, None for one of another package."""
    path = ROOT.joinpath(*module.split("."))
    return next(
        (file for file in (path / "__init__.py", path.with_suffix(".py")) if file in FILES), None
    )


@cache
def imported(file, inside_functions=True):
    """[(module, name)] of each import in a file; the name is None if the module itself is imported."""
    found, todo = [], [ast.parse(file.read_text(encoding="utf-8"))]
    for node in todo:
        if inside_functions or not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.module, alias.name) for alias in node.names]
    return found


def defining(module, name):
    """The file that defines a name of a module: a package's __init__ says where its own names come
    from.
    """
    if name and (submodule := file_of(f"{module}.{name}")):
        return submodule
    file = file_of(module)
    if file and file.name == "__init__.py":
        return next((defining(*one) for one in imported(file) if one[1] == name), file)
    return file


def needed(file):
    return {found for one in imported(file) if (found := defining(*one))} - {file}


def the_core():
    core = todo = {PACKAGE / "models" / "transformer.py", PACKAGE / "training" / "step.py"}
    while todo := set().union(*map(needed, todo)) - core:
        core = core | todo
    return core


def first_table():
    """{file: the kinds of its kernels} of the page's table of the core."""
    rows = re.findall(
        r"^\|[^|]*\| `([\w/]+\.py)` \|[^|]+\|([^|]*)\|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert len(rows) == len(dict(rows))
    return {PACKAGE / name: kernels.strip() for name, kernels in rows}


def test_the_core_is_the_first_table_of_the_page():
    assert the_core() == set(first_table())


def test_the_table_says_which_files_have_kernels():
    kernels = {file: [] for file in first_table()}
    for kind in ("NumPy", "compiled"):
        for file in FILES:
            if file.parent == PACKAGE / "speed" / kind.lower():
                replaced = re.findall(
                    r"^@replaces\((\w+)", file.read_text(encoding="utf-8"), re.MULTILINE
                )
                for textbook_file in {
                    defining(*one) for one in imported(file) if one[1] in replaced
                } & set(kernels):
                    kernels[textbook_file].append(kind)
    assert {file: ", ".join(kinds) for file, kinds in kernels.items()} == first_table()


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
        for module, name in imported(file, inside_functions=False):
            if found := defining(module, name):
                yield found
                yield from (
                    package / "__init__.py"
                    for package in found.parents
                    if PACKAGE in package.parents and package not in file.parents
                )

    order = TopologicalSorter({file: set(loaded(file)) - {file} for file in FILES}).static_order()
    assert set(order) == set(FILES)


def loaded_by(code, folder=ROOT):
    """The modules that a fresh process has loaded after `code`."""
    code += "\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder
    )
    return json.loads(done.stdout.splitlines()[-1])


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
    code = "import numpy as np, pdb, minitransformer.functional as F\nx = np.ones(3)\npdb.set_trace()\nF.softmax_forward(x)"
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
