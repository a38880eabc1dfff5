"""README's picture: the paper's base model, by the package.

python docs/pictures/architecture.py docs/pictures/architecture.png
"""

import io
import sys

from PIL import Image

from minitransformer.pictures.architecture import architecture


def draw(path) -> None:
    """The map at twice the size at which a page shows it; with 256 colours, a third of the bytes."""
    picture = io.BytesIO()
    architecture().savefig(
        picture, dpi=200, bbox_inches=None
    )  # the links on the first page follow its inches
    Image.open(picture).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(
        path, "PNG", optimize=True
    )


if __name__ == "__main__":
    draw(sys.argv[1])
