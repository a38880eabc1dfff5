"""Download a corpus from its publisher and check each file against its sha256. Intact files are kept, so an interrupted
download resumes.
"""

import sys
from pathlib import Path
from shlex import quote

from minitransformer.data.download import download
from minitransformer.data.registry import CORPORA
from minitransformer.tasks import TASKS


def add_arguments(parser) -> None:
    parser.add_argument("corpus", choices=CORPORA, metavar="CORPUS", help=", ".join(CORPORA))
    parser.add_argument("--folder", metavar="DIR", help="where to put the files (default: data/CORPUS)")


def execute(args) -> None:
    folder = Path("data", args.corpus) if args.folder is None else Path(args.folder)
    download(args.corpus, folder, lambda line: print(line, file=sys.stderr))
    corpus = CORPORA[args.corpus]
    train, valid = (" ".join(quote(str(folder / name)) for name in names) for names in (corpus.train, corpus.valid))
    preset = f" --preset {args.corpus}" if args.corpus in TASKS[corpus.task].presets else ""
    print(f"{args.corpus}: {len(corpus.files)} files in {folder}, all intact\n{corpus.terms}\n"
          f"train on it: minitransformer train {corpus.task}{preset} --train {train} --valid {valid} --run runs/{args.corpus}")
