"""The site in another language: `-D language=ko` takes each text from the course's catalogue, and
each page links to its twin.
"""

import re

from docutils.nodes import document
from myst_parser.slugs import github_slugify
from sphinx.search import SearchLanguage, languages

from minitransformer_course import messages
from minitransformer_course.judge.pages import translated
from minitransformer_course.messages import _

TWIN = {
    "en": ("ko", "한국어", "ko/{page}.html"),
    "ko": ("en", "English", "../{page}.html"),
}  # where a page's twin lies
PARTICLES = (
    "으로부터",
    "에서부터",
    "이라는",
    "이므로",
    "에서는",
    "으로는",
    "입니다",
    "이라",
    "에서",
    "에게",
    "으로",
    "부터",
    "까지",
    "처럼",
    "보다",
    "마다",
    "만큼",
    "라는",
    "이나",
    "에는",
    "와는",
    "과는",
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "의",
    "에",
    "로",
    "와",
    "과",
    "도",
    "만",
    "나",
)  # the longest first


README = {  # what a page takes from it, in Korean
    "../README.md": "../README.ko.md",
    ':start-after: "## How fast and how good"': ':start-after: "## 얼마나 빠르고 얼마나 좋은가"',
    ':end-before: "## Where to go next"': ':end-before: "## 더 나아가기"',
}
HEADING = "Link to this heading"  # Sphinx knows no Korean for it


class Korean(SearchLanguage):
    """Words without the particle at their end: who looks for 기울기 finds 기울기는, too."""

    lang, language_name = "ko", "Korean"
    ending = f"(?<=[가-힣]{{2}})(?:{'|'.join(PARTICLES)})$"
    js_stemmer_code = (
        f"var Stemmer = function () {{ this.stemWord = word => word.replace(/{ending}/, ''); }};"
    )

    def stem(self, word) -> str:
        return re.sub(self.ending, "", word.lower())


def english_slug(title) -> str:
    """The anchor of a heading: that of its English one, so that a link into a page is the same in
    each language.
    """
    return github_slugify(_english().get(title, title))


def _english() -> dict[str, str]:
    found = messages.catalogue(messages.language())
    return {translation: text for text, translation in found.items()}


def choose(app, config) -> None:
    messages.choose(config.language or "en")


def translate(app, docname, content) -> None:
    """A page of Markdown; chapters.py translates a chapter."""
    if not docname.startswith("tutorials/"):
        content[0] = translated(content[0]) + "\n"
    if docname == "docs/index" and messages.language() == "ko":
        for english, korean in README.items():
            content[0] = content[0].replace(english, korean)


def link_twin(app, pagename, templatename, context, doctree: document | None) -> None:
    if doctree is not None:
        other, name, place = TWIN[app.config.language or "en"]
        target = "../" * pagename.count("/") + place.format(page=pagename)
        body = context["body"].replace(HEADING, _("Link to this heading"))
        context["body"] = (
            f'<a class="twin" lang="{other}" hreflang="{other}" href="{target}">{name}</a>{body}'
        )


def setup(app) -> dict:
    languages["ko"] = Korean
    app.connect("config-inited", choose)
    app.connect("source-read", translate, priority=400)  # before others put HTML into the page
    app.connect("html-page-context", link_twin)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
