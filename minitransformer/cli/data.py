"""Download a corpus, or the pretrained model smollm2, from its publisher and check each file
against its sha256. Intact files are kept, so an interrupted download resumes.
"""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from minitransformer.shell import quote_path
from minitransformer.data.download import PRETRAINED, download
from minitransformer.data.registry import CORPORA
from minitransformer.tasks import TASKS


def add_arguments(parser: ArgumentParser) -> None:
    known = *CORPORA, *PRETRAINED
    parser.add_argument("corpus", choices=known, metavar="CORPUS", help=", ".join(known))
    parser.add_argument(
        "--folder", metavar="DIR", help="where to put the files (default: data/CORPUS)"
    )


def execute(args: Namespace) -> None:
    folder = Path("data", args.corpus) if args.folder is None else Path(args.folder)
    if args.corpus not in CORPORA:
        path = PRETRAINED[args.corpus](folder, report)
        print(
            f"{path}: intact, licence Apache-2.0\n"
            f"make a run of it: minitransformer import {quote_path(path)} --run runs/{args.corpus}"
        )
        return
    download(args.corpus, folder, report)
    corpus = CORPORA[args.corpus]
    train, valid = (
        " ".join(quote_path(folder / name) for name in files)
        for files in (corpus.train, corpus.valid)
    )
    preset = f" --preset {args.corpus}" if args.corpus in TASKS[corpus.task].presets else ""
    print(
        f"{args.corpus}: intact, in {folder}\n{corpus.terms}\n"
        f"train on it: minitransformer train {corpus.task}{preset} --train {train} --valid {valid} --run runs/{args.corpus}"
    )


def report(line: str) -> None:
    print(line, file=sys.stderr)
