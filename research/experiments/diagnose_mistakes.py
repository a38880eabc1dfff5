"""Ask the gradient doctor about every mistake of the corpus: alone on its smallest block, and
inside a whole Transformer.

    python research/experiments/diagnose_mistakes.py                     # the half that the doctor was developed on
    python research/experiments/diagnose_mistakes.py FOLDER [FOLDER ...]  # other folders of mistakes

Prints a row for each mistake that was not named correctly, and the table of
research/experiments/diagnosis.md. Exits with 1 if one was not caught or was named incorrectly.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(
    0, str(Path(__file__).resolve().parent.parent)
)  # for tests/, which is not installed

from tests.course.doctor.corpus import (
    MISSED,
    ONLY_EVIDENCE,
    RIGHTLY,
    SEEN,
    WRONGLY,
    ask,
    mistakes_in,
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Ask the gradient doctor about every mistake of the corpus."
    )
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        default=[SEEN],
        help="folders of mistakes (default: the seen half)",
    )
    parser.add_argument("--only", default="", help="only mistakes whose name contains this")
    parser.add_argument("--alone", action="store_true", help="skip the whole Transformers")
    parser.add_argument("--all", action="store_true", help="also print the ones named correctly")
    arguments = parser.parse_args()
    mistakes = [
        one
        for folder in arguments.folders
        for one in mistakes_in(folder)
        if arguments.only in one.name
    ]
    places = {"alone": lambda mistake: mistake.block}
    if not arguments.alone:
        places["in a model"] = lambda mistake: mistake.in_model
    tables, slowest = {}, {}
    for place, block_of in places.items():
        tables[place], slowest[place] = Counter(), 0.0
        for mistake in filter(block_of, mistakes):
            answer = ask(mistake, block_of(mistake))
            tables[place][answer.verdict] += 1
            slowest[place] = max(slowest[place], answer.seconds)
            if answer.verdict != RIGHTLY or arguments.all:
                print(
                    f"{answer.verdict:14} {place}, {mistake.name} ({answer.seconds:.1f} s)\n    {answer.says}",
                    flush=True,
                )
    print(
        f"\n| {len(mistakes)} mistakes | caught | named rightly | evidence only | named wrongly | slowest answer |\n"
        "|---|--:|--:|--:|--:|--:|"
    )
    for place, counts in tables.items():
        caught = counts.total() - counts[MISSED]
        print(
            f"| {place} | {caught} of {counts.total()} | {counts[RIGHTLY]} | {counts[ONLY_EVIDENCE]} | {counts[WRONGLY]} "
            f"| {slowest[place]:.1f} s |"
        )
    return int(any(counts[MISSED] + counts[WRONGLY] for counts in tables.values()))


if __name__ == "__main__":
    sys.exit(main())
