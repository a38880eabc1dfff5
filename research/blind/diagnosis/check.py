"""An independent numeric check of own_layers.py and own_mistakes.py; `python check.py` prints the
counts.

    for name, layer, inputs, truth in wrong_layers("small"): ...      # right_layers: truth is None

Every layer that is yielded has float64 parameters, and its class lives in a real file:
inspect.getsource works.
"""

import atexit
import collections
import importlib.util
import pathlib
import pickle
import re
import shutil
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import own_layers                       # noqa: E402
from own_mistakes import MISTAKES       # noqa: E402

EVERY_NUMBER = 120       # arrays up to this size: every number; larger ones: random directions
DIRECTIONS = 4
STEP = 1e-30             # of the complex step

_folder = None


def sections():
    """(head, {name: text}) of own_layers.py."""
    parts = re.split(r"^# ==== (\w+)\n", (HERE / "own_layers.py").read_text(), flags=re.M)
    return parts[0], dict(zip(parts[1::2], parts[2::2]))


def load(name, text):
    """Import `text` as a module from a temporary file of its own."""
    global _folder
    if _folder is None:
        _folder = pathlib.Path(tempfile.mkdtemp(prefix="blind_"))
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    path = _folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def right_layers(size="small"):
    """(name, layer, inputs, None) of all right layers."""
    for name in own_layers.CASES:
        layer, inputs = own_layers.make(name, size)
        yield name, layer.astype("float64"), inputs, None


def wrong_source(mistake):
    head, texts = sections()
    text = texts[mistake.layer]
    if text.count(mistake.old) != 1:
        raise SystemExit(f"{mistake.name}: old text occurs {text.count(mistake.old)} times")
    return head + text.replace(mistake.old, mistake.new)


def wrong_layers(size="small"):
    """(name, layer, inputs, truth) of all wrong layers, each from a file of its own."""
    for number, mistake in enumerate(MISTAKES):
        module = load(f"user_{number:03}", wrong_source(mistake))    # a name that tells nothing
        layer, inputs = module.make(mistake.layer, size)
        yield mistake.name, layer.astype("float64"), inputs, mistake.truth


def is_float(a):
    return isinstance(a, np.ndarray) and a.dtype.kind in "fc"


def inner(outputs, upstream):
    """sum of output * upstream over one output or a tuple of them."""
    if isinstance(outputs, tuple):
        return sum((y * g).sum() for y, g in zip(outputs, upstream))
    return (outputs * upstream).sum()


def backward_of(layer, inputs, upstream, rng):
    """{name: gradient} by the layer's own backward, of grads that do not start at zero."""
    before = {}
    for name, p in layer.parameters().items():
        p.grad = rng.standard_normal(p.shape)
        before[name] = p.grad.copy()
    y, cache = layer.forward(*[a.copy() for a in inputs])
    dx = layer.backward(upstream, cache)
    dx = dx if isinstance(dx, tuple) else (dx,)
    places = [i for i, a in enumerate(inputs) if is_float(a)]
    assert len(dx) == len(places), "number of input gradients"
    grads = {f"input {i}": d for i, d in zip(places, dx)}
    grads |= {name: p.grad - before[name] for name, p in layer.parameters().items()}
    return grads


def complex_slope(layer, inputs, upstream, name, direction):
    """d <y, upstream> along `direction` of one array, by the complex step."""
    moved = [a.astype(complex) if is_float(a) else a for a in inputs]
    if name.startswith("input "):
        i = int(name.split()[1])
        moved[i] = moved[i] + 1j * STEP * direction
        return inner(layer.forward(*moved)[0], upstream).imag / STEP
    p = layer.parameters()[name]
    keep, p.data = p.data, p.data + 1j * STEP * direction
    slope = inner(layer.forward(*moved)[0], upstream).imag / STEP
    p.data = keep
    return slope


def central_slope(layer, inputs, upstream, name, direction, h=1e-5):
    """The same by central differences of the fourth order."""
    def at(e):
        moved = list(inputs)
        if name.startswith("input "):
            i = int(name.split()[1])
            moved[i] = moved[i] + e * direction
            return inner(layer.forward(*moved)[0], upstream)
        p = layer.parameters()[name]
        keep, p.data = p.data, p.data + e * direction
        value = inner(layer.forward(*moved)[0], upstream)
        p.data = keep
        return value
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def errors(layer, inputs, seed=1, second_opinion=False):
    """{array: largest difference between backward and the numeric slope, relative to the
    larger}."""
    rng = np.random.default_rng(seed)
    y, _ = layer.forward(*inputs)

    def draw(a):
        return rng.standard_normal(a.shape) if np.ndim(a) else np.float64(rng.uniform(1, 2))

    upstream = tuple(draw(a) for a in y) if isinstance(y, tuple) else draw(y)
    grads = backward_of(layer, inputs, upstream, rng)
    shadow = layer.astype("complex128")
    found = {}
    for name, grad in grads.items():
        shape = inputs[int(name.split()[1])].shape if name.startswith("input ") else grad.shape
        if grad.shape != shape:
            found[name] = np.inf
            continue
        if grad.size <= EVERY_NUMBER:
            directions = np.eye(grad.size).reshape((-1,) + grad.shape)
        else:
            directions = rng.standard_normal((DIRECTIONS,) + grad.shape)
        if second_opinion:
            directions = rng.standard_normal((2,) + grad.shape)
        numeric = np.array([central_slope(layer, inputs, upstream, name, d) if second_opinion else
                            complex_slope(shadow, inputs, upstream, name, d) for d in directions])
        claimed = np.array([(grad * d).sum() for d in directions])
        scale = max(np.abs(numeric).max(), np.abs(claimed).max(), 1e-3)
        found[name] = np.abs(numeric - claimed).max() / scale
    return found


def keeps_float32(name, size):
    layer, inputs = own_layers.make(name, size)
    layer = layer.astype("float32")
    inputs = [a.astype("float32") if is_float(a) else a for a in inputs]
    y, cache = layer.forward(*inputs)
    dy = tuple(np.ones_like(a) for a in y) if isinstance(y, tuple) else np.ones_like(y)
    dx = layer.backward(dy, cache)
    arrays = [*(y if isinstance(y, tuple) else (y,)), *(dx if isinstance(dx, tuple) else (dx,)),
              *(p.grad for p in layer.parameters().values())]
    return all(a.dtype == np.float32 for a in arrays)


def keeps_contract(layer, inputs):
    """Neither method changes inputs, upstream or cache; a second backward gives the same."""
    frozen = [a.copy() for a in inputs]
    y, cache = layer.forward(*inputs)
    dy = tuple(np.ones_like(a) for a in y) if isinstance(y, tuple) else np.ones_like(y)
    before = pickle.dumps((frozen, dy, cache))
    answers = []
    for _ in range(2):
        layer.zero_grad()
        dx = layer.backward(dy, cache)
        dx = dx if isinstance(dx, tuple) else (dx,)
        answers.append([a.copy() for a in [*dx, *(p.grad for p in layer.parameters().values())]])
    same = all(np.array_equal(a, b) for a, b in zip(*answers))
    now = pickle.loads(pickle.dumps((inputs, dy, cache)))
    return same and equal(now, pickle.loads(before))


def equal(a, b):
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return np.array_equal(a, b)


def main():
    problems = 0
    for size in own_layers.SIZES:
        worst = {}
        for name, layer, inputs, _ in right_layers(size):
            complex_error = max(errors(layer, inputs).values())
            central_error = max(errors(layer, inputs, second_opinion=True).values())
            worst[name] = complex_error
            if not (complex_error < 1e-8 and central_error < 1e-6 and keeps_float32(name, size)
                    and keeps_contract(layer, inputs)):
                problems += 1
                print("RIGHT?", size, name, errors(layer, inputs), central_error,
                      "float32" if keeps_float32(name, size) else "dtype changes")
        print(f"{size}: {len(worst)} right layers, largest error {max(worst.values()):.1e}")
        least = {}
        for name, layer, inputs, _ in wrong_layers(size):
            try:
                found = errors(layer, inputs)
            except Exception as error:
                problems += 1
                print("CRASH", size, name, type(error).__name__, error)
                continue
            least[name] = max(found.values())
            if not least[name] > 1e-5:
                problems += 1
                print("NOT WRONG", size, name, found)
        lowest = min(least, key=least.get)
        print(f"{size}: {len(least)} wrong layers, smallest error {least[lowest]:.1e} ({lowest})")
    kinds = collections.Counter(m.kind for m in MISTAKES)
    per_layer = collections.Counter(m.layer for m in MISTAKES)
    print(f"{len(MISTAKES)} mistakes in {len(per_layer)} layers:", dict(kinds.most_common()))
    if len({m.name for m in MISTAKES}) != len(MISTAKES):
        problems += 1
        print("a name twice")
    print("problems:", problems)
    return problems


if __name__ == "__main__":
    sys.exit(main() > 0)
