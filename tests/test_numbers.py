"""Numbers on the pages come from the recorded outputs that the pages name."""

import json
import re
from statistics import median
from tests import ROOT

OUTPUTS = ROOT / "research" / "benchmarks" / "outputs"


def text(name):
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def rows(page, first):
    """{first cell: the other cells} of the table whose head begins with the cell `first`."""
    table = (ROOT / page).read_text(encoding="utf-8").split(f"\n| {first} |")[1].split("\n\n")[0]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    return {name: values for name, *values in cells}


def test_training_steps():
    lines = (OUTPUTS / "zen4_2_cores_compiled.txt").read_text(encoding="utf-8").splitlines()
    for name, (speed, *ratios, memory, matmul) in rows("docs/speed.md", "config").items():
        start = next(i for i, line in enumerate(lines) if line.startswith(f"{name.split(':')[0]} "))
        ours, *peers = (line.split() for line in lines[start : start + 4])
        assert (
            speed == ours[2]
            and memory.startswith(" ".join(ours[3:5]) + ",")
            and matmul.replace(" ", "") == ours[5]
        )
        assert ratios == [peer[2] for peer in peers]


def test_what_kernels_contribute():
    found = {}
    for line in (OUTPUTS / "zen4_2_cores_textbook.jsonl").read_text(encoding="utf-8").splitlines():
        measured = json.loads(line)
        for result in measured["results"]:
            found.setdefault((measured["fast"], result["config"]), []).append(
                result["peers"]["torch"]["ratio"]
            )
    kinds = {"compiled kernels": "1", "the textbook": "0"}
    table = rows("docs/speed.md", "what runs")
    assert len(table) == 2
    for name, ratios in table.items():
        kind = next(kinds[start] for start in kinds if name.startswith(start))
        assert ratios == [
            f"{median(found[kind, config]):.2f}" for config in ("copy", "tiny", "small", "base")
        ], name


def test_gpu():
    page, speed, ratios = text("docs/train.md"), {}, {}
    for line in (OUTPUTS / "h100.txt").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"(.*\S) +([\w.]+):(?:cupy|cuda) +([\d,]+) *([\d.]*)$", line):
            case, program, tokens, ratio = found.groups()
            if ratio:
                ratios.setdefault(program, []).append(float(ratio))
            else:
                speed[case] = int(tokens.replace(",", ""))
    small, middle, large = (
        1000 * tokens / speed[f"tiny, {tokens:,}"] for tokens in (4080, 16320, 65280)
    )  # ms a step
    assert (
        f"took about {round(small, -1):.0f} ms with 4,080 tokens and still only {middle:.0f} ms with 16,320"
        in page
    )
    assert (
        f"With 65,280 tokens, the step took {large:.0f} ms: {round(speed['tiny, 65,280'], -3):,} tokens per second"
        in page
    )
    assert f"a step took {780 * 32 / speed['paper']:.2f} s" in page
    assert (
        "PyTorch is about three times as fast as ours on small batches, and five times if it compiles the model"
        in page
    )
    assert {program: round(1 / median(found)) for program, found in ratios.items()} == {
        "torch": 3,
        "torch.compile": 5,
    }


def test_a_bag_of_words():
    last = (
        (ROOT / "research" / "experiments" / "bag_of_words.txt")
        .read_text(encoding="utf-8")
        .splitlines()[-1]
    )
    dev, test = (f"{float(percent):.1f} %" for percent in re.findall(r"([\d.]+)%", last))
    assert f"gets {test} of the test file and {dev} of `dev.tsv` right" in text(
        "docs/classification.md"
    )


def test_the_budget_of_nanogpt():
    losses = {
        key.partition(" / ")[0]: f"{result['nats_per_token']:.3f}"
        for key, result in json.loads(
            (ROOT / "research" / "experiments" / "shakespeare.json").read_text(encoding="utf-8")
        ).items()
    }
    page, best = text("docs/language_model.md"), min(losses, key=losses.get)
    assert len(losses) == 4 and all(f"{rate} gave {loss}" in page for rate, loss in losses.items())
    assert (
        f"| validation loss | 1.558 | {losses[best]} | 1.88 |" in page
        and f"--dropout 0 --peak-rate {best} ```" in page
    )
