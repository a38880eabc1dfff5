"""The still of the site's first page: the explorer, by headless Chromium.

python docs/pictures/explorer.py docs/_build/html/explorer.html docs/pictures/explorer.png
"""

import io
import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.helpers.browser import Browser


def draw(page, path) -> None:
    browser = Browser(Path(page).parent)
    browser.screen(1366, 800, "light")
    browser.open(
        Path(page).resolve().as_uri() + "#box-cross_attention"
    )  # without the tour of a first visit
    picture = browser.page.screenshot()
    browser.close()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(128).save(path, "PNG", optimize=True)


if __name__ == "__main__":
    draw(*sys.argv[1:])
