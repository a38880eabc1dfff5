"""What the doctor says about the 120 mistakes of diagnosis/, and the judge about the answers of answers/:

    python -m research.blind.score layers small > layers.jsonl      # or large; right: the 60 right layers
    python -m research.blind.score answers > answers.jsonl

A line of JSON for each case: what was wrong, what was said. Whether a sentence is right is for a reader to say.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER / "diagnosis"), str(FOLDER / "answers")]

import answers    # noqa: E402
import check      # noqa: E402

from minitransformer import gradcheck    # noqa: E402
from minitransformer_course.judge.course import exercises    # noqa: E402
from minitransformer_course.judge.judge_file import check_file    # noqa: E402


def layers(size="small"):
    for name, layer, inputs, truth in check.wrong_layers(size):
        yield {"name": name, "truth": truth}, lambda layer=layer, inputs=inputs: _checked(layer, inputs)


def right(size="small"):
    for name, layer, inputs, _ in check.right_layers(size):
        yield {"name": name}, lambda layer=layer, inputs=inputs: _checked(layer, inputs)


def _checked(layer, inputs):
    report = gradcheck(layer, inputs)
    found = list(report.findings.values())
    return {"passed": report.passed, "kind": found[0].kind if found else "", "says": "; ".join(map(str, found))}


def of_learners():
    for name, source, truth, _accept in answers.WRONG:
        yield {"exercise": name, "truth": truth}, lambda name=name, source=source: _judged(name, source)
    for name, source in answers.RIGHT:
        yield {"exercise": name, "truth": "right"}, lambda name=name, source=source: _judged(name, source)


def _judged(name, source):
    if name not in exercises():
        return {"says": "this exercise has left the book"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "answer.py")
        path.write_text(source, encoding="utf-8")
        (answer,) = check_file(path, [name]).answers
    return {"passed": answer.passed, "diagnosis": answer.diagnosis, "says": str(answer)}


if __name__ == "__main__":
    what, *size = sys.argv[1:]
    for case, ask in {"layers": layers, "right": right, "answers": of_learners}[what](*size):
        start = time.process_time()
        said = ask()
        seconds = round(time.process_time() - start, 2)
        print(json.dumps({**case, **said, "seconds": seconds}, ensure_ascii=False), flush=True)
