"""Download a corpus, or the pretrained model smollm2, from its publisher and check each file against its sha256. Intact files are
kept, so an interrupted download resumes.
"""

import sys
from pathlib import Path

from minitransformer.data.download import download
from minitransformer.data.registry import CORPORA
from minitransformer.errors import quote
from minitransformer.tasks import TASKS
from minitransformer.zoo.pretrained.smollm2 import fetch_smollm2


MODEL = "smollm2"    # no corpus, but a model to import


def add_arguments(parser) -> None:
    parser.add_argument("corpus", choices=(*CORPORA, MODEL), metavar="CORPUS", help=", ".join((*CORPORA, MODEL)))
    parser.add_argument("--folder", metavar="DIR", help="where to put the files (default: data/CORPUS)")


def execute(args) -> None:
    folder = Path("data", args.corpus) if args.folder is None else Path(args.folder)
    if args.corpus == MODEL:
        path = fetch_smollm2(folder, report)
        print(f"{path}: intact, licence Apache-2.0\nmake a run of it: minitransformer import {quote(str(path))} --run runs/{MODEL}")
        return
    download(args.corpus, folder, report)
    corpus = CORPORA[args.corpus]
    train, valid = (" ".join(quote(str(folder / name)) for name in names) for names in (corpus.train, corpus.valid))
    preset = f" --preset {args.corpus}" if args.corpus in TASKS[corpus.task].presets else ""
    print(f"{args.corpus}: {len(corpus.files)} files in {folder}, all intact\n{corpus.terms}\n"
          f"train on it: minitransformer train {corpus.task}{preset} --train {train} --valid {valid} --run runs/{args.corpus}")


def report(line) -> None:
    print(line, file=sys.stderr)
