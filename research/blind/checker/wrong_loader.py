"""Makes a layer with a wrong backward out of a right one: an edit of its source text.

The edited source is written to NAME.py in a temporary folder and imported from there, so that tools
which read a layer's source (inspect.getsource) find it.
"""

import atexit
import importlib.util
import inspect
import shutil
import sys
import tempfile
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in [str(HERE)] if path not in sys.path]
SOURCES = Path(tempfile.mkdtemp(prefix="wrong_sources_"))
atexit.register(shutil.rmtree, SOURCES, ignore_errors=True)

import right  # noqa: E402

MAKE = dict(right.RIGHT)
HEADER = "from right import *\n\n\n"


def base_source(base):
    """The source of the class of a right entry, or that of its pair's backward function."""
    layer, _ = MAKE[base]()
    return inspect.getsource(layer[1] if isinstance(layer, tuple) else type(layer))


def edited(base, old, new):
    source = base_source(base)
    if source.count(old) != 1:
        raise ValueError(f"{base}: {source.count(old)} times in the source: {old!r}")
    return source.replace(old, new)


def make_wrong(name, base, old, new):
    """(layer, inputs) of the right entry `base`, with the edit."""
    path = SOURCES / f"{name}.py"
    path.write_text(HEADER + edited(base, old, new))
    module_name = f"wrong_sources_{name}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module    # inspect.getsource of a class looks here
    spec.loader.exec_module(module)
    return types.FunctionType(MAKE[base].__code__, vars(module))()
