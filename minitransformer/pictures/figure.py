"""The figure that the plots draw on: a notebook shows it, a page can embed it, and it has a font
for Hangul.
"""

import io
import warnings
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from typing import Any, Literal

from matplotlib import font_manager, rc_context
from matplotlib.figure import Figure as MatplotlibFigure

from minitransformer.stderr import stderr

DPI = 120
Layout = Literal["constrained", "compressed"]
HANGUL_FONTS = (
    "NanumGothic",
    "Noto Sans CJK KR",
    "Noto Sans KR",
    "Malgun Gothic",
    "Apple SD Gothic Neo",
    "AppleGothic",
)


class Figure(MatplotlibFigure):
    """A figure of `width` by `height` inches. A notebook shows it, with or without %matplotlib."""

    def __init__(self, width: float, height: float, layout: Layout | None = "constrained"):
        super().__init__(figsize=(width, height), layout=layout)

    def savefig(self, file: Any, **options: Any) -> None:
        with warnings.catch_warnings():
            # a warning for each character without a font; the box is visible
            warnings.filterwarnings("ignore", "Glyph")
            super().savefig(file, **{"dpi": DPI, "bbox_inches": "tight", **options})

    def as_bytes(self, format: str = "png") -> bytes:
        file = io.BytesIO()
        self.savefig(file, format=format)
        return file.getvalue()

    def as_html(self, description: str) -> str:
        """An <img> that contains the picture itself, at its original size."""
        png = self.as_bytes()
        # from the PNG's header; a page has 96 dots per inch
        width = int.from_bytes(png[16:20], "big") * 96 // DPI
        return f'<img width="{width}" src="data:image/png;base64,{b64encode(png).decode()}" alt="{escape(description)}">'

    def _repr_png_(self) -> bytes:
        return self.as_bytes()


@contextmanager
def fonts_for(texts: Iterable[str]) -> Iterator[None]:
    """Within the block, figures also use a font for Hangul if `texts` need one; warns if none is
    installed.
    """
    if not any("가" <= character <= "힣" for text in texts for character in text):
        yield
        return
    installed = hangul_fonts()
    if not installed:
        print(
            f"no font with Hangul is installed, so it is drawn as boxes; install one of {', '.join(HANGUL_FONTS)}",
            file=stderr,
        )
    with rc_context({"font.family": ["DejaVu Sans", *installed[:1]]}):
        yield


def hangul_fonts() -> list[str]:
    """Those of HANGUL_FONTS that are installed, if need be since Matplotlib made its list."""
    if not _installed():
        _look_again()
    return _installed()


def _installed() -> list[str]:
    return [font for font in HANGUL_FONTS if font in font_manager.get_font_names()]


def _look_again() -> None:
    """Add the fonts that were installed after Matplotlib made its list of them."""
    known = {font.fname for font in font_manager.fontManager.ttflist}
    for path in sorted(set(font_manager.findSystemFonts()) - known):
        with suppress(OSError, RuntimeError):  # not a font, or a broken one
            font_manager.fontManager.addfont(path)
