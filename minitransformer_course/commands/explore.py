"""Write one page that shows what the model of a RUN computes for TEXT, and every gradient of it,
live in any browser.
"""

from pathlib import Path

from minitransformer.cli.output import check_new, write_new
from minitransformer.errors import InputError
from minitransformer.files import free_name
from minitransformer.runs.run import Run
from minitransformer_course.explorer import explore
from minitransformer_course.messages import _


def add_arguments(parser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument(
        "text", metavar="TEXT", help="the source text, or the text of a language model"
    )
    parser.add_argument(
        "--target", metavar="TEXT", help="the target (default: what the model writes)"
    )
    parser.add_argument(
        "--output",
        metavar="FILE.html",
        help="page to write; it must not exist yet (default: explore.html, or explore-2.html and so on)",
    )


def execute(args) -> None:
    path = Path(args.output) if args.output else free_name("explore.html")
    check_new(path, "a page")
    page = explore(Run.load(args.run), args.text, args.target)
    try:
        write_new(path, page.html.encode())
    except OSError as error:
        raise InputError(f"--output {path}: {error.strerror}") from None
    said = _("written: {path} ({n:.1f} MB); open it in a browser")
    print(said.format(path=path, n=path.stat().st_size / 1e6))
