"""Compare the answers with the references, without the judge: python verify.py

A wrong answer has to differ by more than 1e-6 on some legal input, a right one by less than 1e-10
on all. (Both relative where numbers are larger than 1.) It writes where_they_differ.txt, which says
for each wrong answer on which inputs it differs.
"""

import glob
import importlib.util
import os
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

sys.dont_write_bytecode = True    # nothing is written beside the exercises

import answers    # noqa: E402
from cases import CASES, VERSIONS    # noqa: E402

TUTORIALS = Path(__file__).parents[3] / "tutorials"
SEEDS = (0, 1, 2)
warnings.filterwarnings("ignore")


def references():
    """name -> (chapter, reference). Only the function of each file is taken."""
    found = {}
    for path in sorted(glob.glob(f"{TUTORIALS}/*/[0-9]*_*.py")):
        name = os.path.basename(path)[:-3].split("_", 1)[1]
        spec = importlib.util.spec_from_file_location("exercise_" + name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found[name] = os.path.basename(os.path.dirname(path)), getattr(module, name)
        if name == "find_fault":
            VERSIONS[name][0] = ("broken step", module.broken_step, False)
    return found


def function(name, source):
    namespace = {}
    exec(compile(source, name, "exec"), namespace)
    return namespace[name]


def copied(arguments):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def parts(answer):
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


def distance(own, wanted):
    """The largest difference, inf if a shape differs or NaN takes the place of a number."""
    own, wanted = parts(own), parts(wanted)
    if len(own) != len(wanted):
        return np.inf
    largest = 0.0
    for a, b in zip(own, wanted):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype == object:
            return np.inf
        a, b = a.astype(float), b.astype(float)
        if (np.isnan(a) != np.isnan(b)).any():
            return np.inf
        gap = np.where(np.isnan(b) | (a == b), 0, np.abs(a - b) / np.maximum(1, np.abs(b)))
        largest = max(largest, gap.max(initial=0))
    return largest


def tries(name, own, reference):
    """(label, how far off, note) for each legal input; a test is tried on each version."""
    if name in VERSIONS:
        for label, version, right in VERSIONS[name]:
            wanted = reference(version)
            verdict = parts(wanted)[0]
            assert bool(verdict) == right, (name, label, "the reference disagrees with my label")
            try:
                yield label, distance(own(version), wanted), ""
            except Exception as error:
                yield label, np.inf, f"{type(error).__name__}: {error}"
        return
    for label, maker in CASES[name]:
        for seed in SEEDS:
            arguments = maker(np.random.default_rng(seed))
            wanted = reference(*copied(arguments))
            given = copied(arguments)
            try:
                gap, note = distance(own(*given), wanted), ""
            except Exception as error:
                gap, note = np.inf, f"{type(error).__name__}: {error}"
            if any(isinstance(a, np.ndarray) and a.tobytes() != b.tobytes()
                   for a, b in zip(arguments, given)):
                gap, note = max(gap, 1.0), "changes its arguments"
            yield f"{label}, seed {seed}", gap, note


def keeps_float32(name, own, reference):
    """Whether float32 arguments give the dtypes that the reference gives (for information only)."""
    if name in VERSIONS:
        return True
    for _label, maker in CASES[name][:1]:
        arguments = [a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype == float else a
                     for a in maker(np.random.default_rng(0))]
        wanted = parts(reference(*copied(arguments)))
        got = parts(own(*copied(arguments)))
        for a, b in zip(got, wanted):
            if getattr(b, "dtype", None) == np.float32 and np.asarray(a).dtype != np.float32:
                return False
    return True


def main():
    found = references()
    missing = set(found) - set(CASES) - set(VERSIONS)
    assert not missing, missing
    problems, lines = [], []
    wrong, right = Counter(), Counter()
    for name, source, truth, _accept in answers.WRONG:
        chapter, reference = found[name]
        own = function(name, source)
        results = list(tries(name, own, reference))
        off = [(label, gap, note) for label, gap, note in results if gap > 1e-6]
        lines.append(f"{chapter} {name}: {truth}\n")
        lines += [f"    {label}: off by {gap:.3g} {note}\n" for label, gap, note in off]
        lines.append(f"    ({len(off)} of {len(results)} inputs)\n")
        if off:
            wrong[chapter] += 1
        else:
            problems.append(f"WRONG {name} does not differ: {truth}")
        if all(note and "changes" not in note for _label, _gap, note in off):
            problems.append(f"(note) WRONG {name} only fails by raising: {truth}")
    wide = []
    for name, source in answers.RIGHT:
        chapter, reference = found[name]
        own = function(name, source)
        bad = [result for result in tries(name, own, reference) if result[1] > 1e-10]
        if bad:
            problems.append(f"RIGHT {name} is off: {bad[0]}")
        else:
            right[chapter] += 1
        if not bad and not keeps_float32(name, own, reference):
            wide.append(name)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "where_they_differ.txt"), "w") as file:
        file.writelines(lines)
    for chapter in sorted(set(chapter for chapter, _ in found.values())):
        print(f"{chapter:26} wrong {wrong[chapter]:3}  right {right[chapter]:3}")
    print(f"wrong: {sum(wrong.values())} of {len(answers.WRONG)} differ, "
          f"over {len({a[0] for a in answers.WRONG})} exercises of {len(found)}")
    print(f"right: {sum(right.values())} of {len(answers.RIGHT)} agree, "
          f"over {len({a[0] for a in answers.RIGHT})} exercises")
    print("right, but float64 where the reference gives float32:", ", ".join(wide) or "none")
    for problem in problems:
        print(problem)


if __name__ == "__main__":
    main()
