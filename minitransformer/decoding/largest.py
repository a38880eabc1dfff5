"""The largest few of many numbers."""

from minitransformer.backend import module_of

GROUP = 64


def largest(x, count):
    """(values, places) of the `count` largest in each row of x (R, V), in no order.

    One pass finds the maximum of each group of 64 places; the largest numbers are all in the
    `count` groups with the largest maxima, and only these are looked at again. (To select among all
    V takes NumPy five times as long.)
    """
    xp = module_of(x)
    rows, size = x.shape
    groups = size // GROUP
    if groups <= 2 * count:
        places = _select(x, count)
        return xp.take_along_axis(x, places, axis=1), places
    whole = groups * GROUP
    maxima = x[:, :whole].reshape(rows, GROUP, groups).max(axis=1)    # group g: the places g, g + groups, ...
    places = (_select(maxima, count)[:, :, None] + groups * xp.arange(GROUP)).reshape(rows, -1)
    rest = xp.broadcast_to(xp.arange(whole, size), (rows, size - whole))
    places = xp.concatenate([places, rest], axis=1)
    values = xp.take_along_axis(x, places, axis=1)
    best = _select(values, count)
    return xp.take_along_axis(values, best, axis=1), xp.take_along_axis(places, best, axis=1)


def _select(x, count):
    size = x.shape[1]
    return module_of(x).argpartition(x, size - min(count, size), axis=1)[:, size - min(count, size):]
