"""minitransformer data: download a corpus to train on."""

import sys
from pathlib import Path
from shlex import quote

from minitransformer.cli.train_options import PRESETS
from minitransformer.data.download import download
from minitransformer.data.registry import CORPORA


def add_parser(commands):
    parser = commands.add_parser(
        "data", help="download a corpus to train on",
        description="Download a corpus from its publisher and check each file by its sha256. Files that are there and "
                    "whole are kept: a download that was broken off goes on.")
    parser.add_argument("corpus", choices=CORPORA, metavar="CORPUS", help=", ".join(CORPORA))
    parser.add_argument("--folder", metavar="DIR", help="where to put the files (default: data/CORPUS)")
    parser.set_defaults(execute=execute)


def execute(args):
    folder = Path("data", args.corpus) if args.folder is None else Path(args.folder)
    download(args.corpus, folder, lambda line: print(line, file=sys.stderr))
    corpus = CORPORA[args.corpus]
    train, valid = (" ".join(quote(str(folder / name)) for name in names) for names in (corpus.train, corpus.valid))
    preset = f" --preset {args.corpus}" if args.corpus in PRESETS else ""
    print(f"{args.corpus}: {len(corpus.sha256)} files in {folder}, all whole\n{corpus.terms}\n"
          f"train on it: minitransformer train translate{preset} --train {train} --valid {valid} --run runs/{args.corpus}")
