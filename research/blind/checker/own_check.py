"""An independent check of the gradients in right.py and wrong.py, by complex step.

    python own_check.py          # checks all of both files and prints counts
    python own_check.py NAME     # the errors of one entry, array by array

It uses nothing of minitransformer but Layer and Parameter.
"""

import copy
import sys
import warnings

import numpy as np

from minitransformer.layers import Layer


def entries(inputs):
    """[(name, value)], for a list or a dict of inputs."""
    return list(inputs.items()) if isinstance(inputs, dict) else list(enumerate(inputs))


def is_float(value):
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


def cast(layer, inputs, dtype):
    """Copies of the layer and of its inputs, with all float arrays as `dtype`."""
    if isinstance(layer, Layer):
        layer = layer.astype(dtype)
    items = [(k, v.astype(dtype) if is_float(v) else copy.deepcopy(v)) for k, v in entries(inputs)]
    return layer, dict(items) if isinstance(inputs, dict) else [v for _, v in items]


def forward(layer, inputs):
    inputs = copy.deepcopy(inputs)    # a fresh generator each time
    call = layer.forward if isinstance(layer, Layer) else layer[0]
    return call(**inputs) if isinstance(inputs, dict) else call(*inputs)


def backward(layer, dy, cache):
    call = layer.backward if isinstance(layer, Layer) else layer[1]
    dx = call(dy, cache)
    return [d for d in (dx if isinstance(dx, tuple) else (dx,)) if d is not None]


def arrays(layer, inputs):
    """{name: array} of all that has a gradient: inputs, then parameters."""
    found = {f"input {k}": v for k, v in entries(inputs) if is_float(v)}
    if isinstance(layer, Layer):
        found |= {name: p.data for name, p in layer.parameters().items()}
    return found


def redraw(layer, inputs, seed):
    """Other values of the same shapes: each number times 0.5 ... 1.5, which keeps its sign and its
    size; and zeros become normal numbers, as large as the array's others (0.3 if all are zero)."""
    rng = np.random.default_rng(seed)
    layer, inputs = cast(copy.deepcopy(layer), inputs, np.float64)
    for array in arrays(layer, inputs).values():
        largest = np.abs(array).max(initial=0) or 0.3
        new = array * rng.uniform(0.5, 1.5, array.shape)
        array[...] = np.where(array == 0, largest * rng.standard_normal(array.shape), new)
    return layer, inputs


def weighted(y, dy):
    """The loss: the sum of dy * y; y may be a tuple."""
    if isinstance(y, tuple):
        return sum((a * b).sum() for a, b in zip(y, dy))
    return (y * dy).sum()


def errors(layer, inputs, seed=0):
    """{name: relative error} of every array at exactly these values. Raises an error if the layer
    does, or if a gradient has the wrong shape."""
    layer, inputs = cast(layer, inputs, np.float64)
    rng = np.random.default_rng(seed)
    y, cache = forward(layer, inputs)
    draw = lambda a: np.asarray(rng.standard_normal(np.shape(a)))
    dy = tuple(map(draw, y)) if isinstance(y, tuple) else draw(y)
    size = float(weighted(*(tuple(map(np.abs, v)) if isinstance(v, tuple) else np.abs(v)
                            for v in (y, dy))))
    parameters = layer.parameters() if isinstance(layer, Layer) else {}
    once = backward(layer, dy, cache)
    first = {name: p.grad.copy() for name, p in parameters.items()}
    dx = backward(layer, dy, cache)    # again: must add to grad
    if any(not np.array_equal(a, b) for a, b in zip(once, dx)):
        raise ValueError("a second backward gives another dx")
    names = [f"input {k}" for k, v in entries(inputs) if is_float(v)]
    if len(dx) != len(names):
        raise ValueError(f"{len(dx)} gradients for {len(names)} inputs")
    ours = {name: [d] for name, d in zip(names, dx)}
    ours |= {name: [first[name], p.grad / 2] for name, p in parameters.items()}
    found = {}
    for name, array in arrays(layer, inputs).items():
        true = complex_step(layer, inputs, name, dy)
        # Rounding errors of a gradient that is truly zero do not count.
        floor = 1e-6 * size / (np.abs(array).max(initial=0) or 1)
        largest = max(np.abs(true).max(initial=0), floor)
        worst = 0.0
        for mine in ours[name]:
            if mine.shape != true.shape:
                raise ValueError(f"{name}: shape {mine.shape}, expected {true.shape}")
            worst = max(worst, float(np.abs(mine - true).max(initial=0) / largest))
        found[name] = worst
    return found


def complex_step(layer, inputs, name, dy):
    """The gradient of the loss with respect to the array `name`, number by number."""
    layer, inputs = cast(layer, inputs, np.complex128)
    array = arrays(layer, inputs)[name]
    h = 1e-20 * (np.abs(array).max(initial=0) or 1)
    true = np.zeros(array.shape)
    for i in np.ndindex(array.shape):
        before = array[i]
        array[i] = before + 1j * h
        true[i] = np.imag(weighted(forward(layer, inputs)[0], dy)) / h
        array[i] = before
    return true


def difference_errors(layer, inputs, seed=0):
    """{name: relative error} of the complex step against central differences in a random direction:
    this finds a forward that loses the imaginary part."""
    layer, inputs = cast(layer, inputs, np.float64)
    rng = np.random.default_rng(seed)
    y, _ = forward(layer, inputs)
    draw = lambda a: np.asarray(rng.standard_normal(np.shape(a)))
    dy = tuple(map(draw, y)) if isinstance(y, tuple) else draw(y)
    size = float(weighted(*(tuple(map(np.abs, v)) if isinstance(v, tuple) else np.abs(v)
                            for v in (y, dy))))
    found = {}
    for name, array in arrays(layer, inputs).items():
        true = complex_step(layer, inputs, name, dy)
        scale = np.abs(array).max(initial=0) or 1
        direction = rng.standard_normal(array.shape)
        before, h, losses = array.copy(), 1e-6 * scale, []
        for step in (h, -h):
            array[...] = before + step * direction
            losses.append(weighted(forward(layer, inputs)[0], dy))
        array[...] = before
        slope = (losses[0] - losses[1]) / (2 * h)
        expected = (true * direction).sum()
        found[name] = float(abs(slope - expected) / max(abs(expected), 1e-2 * size / scale))
    return found


def worst(found):
    return max(found.values(), default=0.0)


def judge(layer, inputs):
    """(error at the given values, error at redrawn values): the largest over all arrays."""
    given = worst(errors(layer, inputs))
    return given, worst(errors(*redraw(layer, inputs, 1)))


def main():
    from right import RIGHT
    from wrong import WRONG

    warnings.simplefilter("error", RuntimeWarning)    # overflow, division by zero
    if len(sys.argv) > 1:
        for name, make, *_ in RIGHT + WRONG:
            if name == sys.argv[1]:
                layer, inputs = make()
                print("at the given values", errors(layer, inputs))
                print("redrawn", errors(*redraw(layer, inputs, 1)))
        return
    bad = []
    for name, make in RIGHT:
        layer, inputs = make()
        error = max(judge(layer, inputs))
        step = worst(difference_errors(layer, inputs))
        if not (error < 1e-8 and step < 1e-5):
            bad.append((name, error, step))
    good = len(RIGHT) - len(bad)
    print(f"right: {len(RIGHT)}, of which correct (error < 1e-8): {good}", *bad, sep="\n")
    warnings.simplefilter("ignore", RuntimeWarning)
    seen = hidden = 0
    for name, make, what in WRONG:
        given, redrawn = judge(*make())
        if redrawn > 1e-5 and given > 1e-5:
            seen += 1
        elif redrawn > 1e-5 and given < 1e-9:
            hidden += 1
        else:
            print("not clearly wrong:", name, given, redrawn)
    print(f"wrong: {len(WRONG)}, of which wrong at the given values (error > 1e-5): {seen}, "
          f"only at redrawn values: {hidden}")


if __name__ == "__main__":
    main()
