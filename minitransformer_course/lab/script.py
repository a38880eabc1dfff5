"""The figures of a page that runs as a script."""

import atexit
import sys
from pathlib import Path

import matplotlib.pyplot as plt

from minitransformer_course.messages import _


def show_figures(script) -> None:
    """At the end of a script: its figures in windows, or, if matplotlib has no windows, as files in
    the current folder.
    """
    figures = [plt.figure(number) for number in plt.get_fignums()]
    if any(figure.canvas.required_interactive_framework for figure in figures):
        plt.show()
        return
    for figure in figures:
        path = f"{script}-{figure.number}.png"
        try:
            figure.savefig(path, dpi=120)
            print(_("figure {number}: {path}").format(number=figure.number, path=path))
        except OSError as error:
            print(f"{path}: {error.strerror}", file=sys.stderr)


script = getattr(
    sys.modules["__main__"], "__file__", None
)  # a notebook has none, and shows figures by itself
if script:
    atexit.register(show_figures, Path(script).stem)
