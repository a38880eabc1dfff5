"""Write cupy_names.txt: every public name of the installed CuPy, with its parameters.

    python tests/library/gpu/list_cupy_names.py

CuPy can be imported without a GPU, so any machine will do. One line per name; a parameter's default
is written only if it is a plain value.
"""

import inspect
import re
from pathlib import Path

FILE = Path(__file__).with_name("cupy_names.txt")


def names(cupy):
    """{name: its parameters as text, or None for a constant, a type or an attribute}."""
    found = {
        name: _parameters(value) for name, value in _public(cupy) if not inspect.ismodule(value)
    }
    for name, value in _public(cupy):
        if isinstance(value, cupy.ufunc):
            found[name] = _ufunc_parameters(value)
            found |= {
                f"{name}.{method}": _parameters(getattr(cupy.ufunc, method))
                for method in ("accumulate", "at", "reduce", "reduceat")
                if _works(value, method)
            }
    found |= {f"ndarray.{name}": _parameters(value) for name, value in _public(cupy.ndarray)}
    found |= {f"linalg.{name}": _parameters(value) for name, value in _public(cupy.linalg)}
    found["random.default_rng"] = _parameters(cupy.random.default_rng)
    found |= {
        f"random.Generator.{name}": _parameters(value)
        for name, value in _public(cupy.random.Generator)
    }
    return found


def _public(owner):
    return [
        (name, getattr(owner, name))
        for name in dir(owner)
        if not name.startswith("_") and name != "annotations"
    ]


def _works(ufunc, method):
    """Whether the method does more than raise NotImplementedError, as most do."""
    try:
        getattr(ufunc, method)(*[None] * (3 if method == "at" else 2))
    except NotImplementedError:
        return False
    except Exception:
        return True
    return True


def _ufunc_parameters(ufunc):
    inputs = "x" if ufunc.nin == 1 else ", ".join(f"x{i + 1}" for i in range(ufunc.nin))
    return f"{inputs}, /, out=None, *, casting='same_kind', dtype=None"


def _parameters(value):
    """From the signature, or from the docstring's first line if the function is compiled."""
    if isinstance(value, type) or not callable(value):
        return None
    try:
        parameters = [
            parameter.replace(annotation=inspect.Parameter.empty)
            for parameter in inspect.signature(value).parameters.values()
        ]
        written = str(inspect.Signature(parameters))[1:-1]
    except ValueError:
        written = re.search(r"\((.*?)\)( ->|$)", value.__doc__.splitlines()[0])[1]
    written = re.sub(r"\b\w+ (?=\w)", "", written)  # C types: `int axis` is axis
    written = re.sub(r"=(<[^>]*>|[a-z][\w.]*)", "=...", written)  # a default that is an object
    return re.sub(r"^self(, |$)", "", written)


if __name__ == "__main__":
    import cupy

    found = names(cupy)
    lines = [f"# CuPy {cupy.__version__}, written by list_cupy_names.py"]
    lines += [name if found[name] is None else f"{name}({found[name]})" for name in sorted(found)]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{FILE}: {len(found)} names of CuPy {cupy.__version__}")
