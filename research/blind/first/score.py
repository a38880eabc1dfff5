"""What the doctor and the judge say to cases written by people who had read neither, nor a list of mistakes:

    python -m research.blind.first.score layers > layers.jsonl
    python -m research.blind.first.score answers > answers.jsonl

own_layers_*.py: 100 layers, each with a change that makes its backward wrong, 30 also in a large size; 40 right layers.
answers.jsonl: 234 answers to exercises with one mistake, 72 with two, 93 right ones. A line of JSON for each case: what was wrong,
what was said, and whether a keyword of the writer's occurs in that. Whether a sentence is right is for a reader to say.
"""

import inspect
import json
import linecache
import runpy
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np

from minitransformer import InputError, gradcheck
from minitransformer_course.judge.course import exercises
from minitransformer_course.judge.judge_file import check_file

FOLDER = Path(__file__).parent


def layers():
    for path in sorted(FOLDER.glob("own_layers_*.py")):
        for case in cases(path):
            for size in ("sizes", "large"):
                if case.get(size):
                    yield {**case, "size": size}, lambda case=case, size=size: _gradcheck(case, case[size])


def cases(path):
    """A case for each wrong change of a layer, or for the layer itself."""
    return [{**layer, **wrong} for layer in runpy.run_path(str(path))["CASES"] for wrong in layer.get("wrong", [{}])]


def _gradcheck(case, sizes):
    rng = np.random.default_rng(7)
    layer = case["right"](rng, sizes).astype(np.float64)
    if "change" in case:
        layer.__class__ = changed(type(layer), *case["change"])
    report = gradcheck(layer, list(case["inputs"](rng, sizes)))
    return report.passed, str(report)


def changed(layer, old, new):
    """A class like `layer` with other code in its backward; Python finds its source, which the doctor reads."""
    text = textwrap.dedent(inspect.getsource(layer.backward))
    assert text.count(old) == 1, (layer, old)
    text, file, names = text.replace(old, new), f"<{layer.__name__} with {new!r}>", {}
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), layer.backward.__globals__, names)
    return type(layer.__name__ + "1", (layer,), names)


def answers():
    with (FOLDER / "answers.jsonl").open(encoding="utf-8") as lines:    # str.splitlines would also end one at U+2028
        for case in map(json.loads, lines):
            if case["exercise"] in exercises():    # others have left the book
                yield case, lambda case=case: _judged(case)


def _judged(case):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "answer.py")
        path.write_text("import numpy as np\n\n\n" + case["code"], encoding="utf-8")
        try:
            (answer,) = check_file(path, [case["exercise"]]).answers
        except InputError as error:
            return False, f"refused: {error}"
    return answer.passed, str(answer)


def main(cases):
    for case, ask in cases():
        start = time.process_time()
        passed, says = ask()
        words = [word for one in case.get("keywords", []) for word in ([one] if isinstance(one, str) else one)]    # lists if two
        known = {key: case[key] for key in ("exercise", "name", "kind", "size", "truth") if key in case}
        found = {"passed": passed, "says": says, "keyword": any(word.lower() in says.lower() for word in words),
                 "seconds": round(time.process_time() - start, 2)}
        print(json.dumps({**known, **found}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main({"layers": layers, "answers": answers}[sys.argv[1]])
