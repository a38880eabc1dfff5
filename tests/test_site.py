"""The built site, as a reader without a network sees it: every page, on a desktop and a phone, in
light and dark mode.
"""

import base64
import hashlib
import json
import re
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from minitransformer_course.judge.course import chapters
from tests import ROOT
from tests.helpers.browser import Browser

SITE = ROOT / "docs" / "_build" / "html"
SCREENS = [
    (1366, 768, "light"),
    (390, 844, "dark"),
    (768, 1024, "light"),
    (1920, 1080, "dark"),
]  # of every page
EVERY_SCREEN = [
    (width, 900, scheme)
    for width in (320, 390, 768, 1024, 1280, 1366, 1440, 1536, 1920, 2560)
    for scheme in ("light", "dark")
]
OF_EACH_KIND = (
    "docs/index.html README.html docs/speed.html docs/train.html "
    "tutorials/05_attention/chapter.html tutorials/one_file.html search.html"
).split()
WIDE = 1366  # pixels from which no line of code is cut
KOREAN = SITE / "ko"
PAGES = [
    path
    for path in sorted(SITE.rglob("*.html"))
    if path.name != "index.html" or path.parent.name == "docs"
]
PAGES = [
    path
    for path in PAGES
    if KOREAN not in path.parents  # of the Korean ones those with a translation
    or re.match(r"docs/(index|learn)|tutorials/0[0-8]", path.relative_to(KOREAN).as_posix())
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PAGES, reason="the site is not built: python -m sphinx -W -c docs . docs/_build/html"
    ),
]

LOOK = """(() => {
    const article = document.querySelector("[role=main]").cloneNode(true);
    article.querySelectorAll("pre, code, math, script").forEach(element => element.remove());
    const size = element => element.getBoundingClientRect();
    const light = colour => colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0) / 765;
    const style = getComputedStyle(document.body), main = document.querySelector("[role=main]");
    const scrolls = element => element !== main &&
        (["auto", "scroll"].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    const edge = document.documentElement.clientWidth + 1;
    const wide = [...main.querySelectorAll("*")].filter(one => size(one).right > edge && !scrolls(one));
    const code = [...main.querySelectorAll("pre, table")].filter(one => size(one).width && one.scrollWidth > one.clientWidth + 1);
    return {
        cut: code.filter(one => !scrolls(one)).map(one => one.textContent.slice(0, 80)),
        scrolled: code.filter(one => one.matches(".highlight pre")).map(one => one.textContent.slice(0, 80)),
        text: article.textContent,
        formulas: document.querySelectorAll("span.math, div.math").length,
        drawn: [...document.querySelectorAll(".math > math")].filter(one => size(one).width > 2 && size(one).height > 2).length,
        unknown: document.querySelectorAll("merror").length,
        pictures: [...document.images].filter(image => size(image).width && !image.naturalWidth).map(image => image.src),
        wide: wide.map(one => one.outerHTML.slice(0, 80)),
        width: document.documentElement.scrollWidth,
        links: [...document.querySelectorAll("a[href]")].map(link => link.href),
        ids: [...document.querySelectorAll("[id]")].map(element => element.id),
        background: light(style.backgroundColor), foreground: light(style.color),
    };
})()"""


PALE = """(() => {    // texts with less contrast than WCAG's AA asks for
    const rgba = colour => { const found = colour.match(/[0-9.]+/g).map(Number); return found.length > 3 ? found : [...found, 1]; };
    const part = value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const light = ([red, green, blue]) => 0.2126 * part(red / 255) + 0.7152 * part(green / 255) + 0.0722 * part(blue / 255);
    const behind = element => {
        for (; element; element = element.parentElement) {
            const colour = rgba(getComputedStyle(element).backgroundColor);
            if (colour[3] > 0.5) return colour;
        }
        return [255, 255, 255];
    };
    const pale = element => {
        const style = getComputedStyle(element), points = parseFloat(style.fontSize) * 0.75;
        const [darker, lighter] = [light(rgba(style.color)), light(behind(element))].sort((a, b) => a - b);
        return (lighter + 0.05) / (darker + 0.05) < (points >= 18 || (points >= 14 && style.fontWeight >= 700) ? 3 : 4.5);
    };
    const written = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    return [...document.querySelectorAll("body *")].filter(one => written(one) && one.getBoundingClientRect().width && pale(one))
        .map(one => one.outerHTML.slice(0, 80));
})()"""


@pytest.fixture(scope="module")
def browser():
    browser = Browser(SITE)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def seen(browser):
    """{path: (what the console said, which requests left the folder, {screen: what is seen on it})}"""
    found = {}
    for path in PAGES:
        browser.complaints.clear()
        browser.refused.clear()
        browser.open(path.as_uri())
        screens = {}
        for screen in dict.fromkeys(
            [*SCREENS, *(EVERY_SCREEN if path.relative_to(SITE).as_posix() in OF_EACH_KIND else [])]
        ):
            browser.screen(*screen)
            screens[screen] = browser.run(LOOK)
            if screen in SCREENS[:2]:
                assert not browser.run(PALE), path
        found[path] = ([*browser.complaints], [*browser.refused], screens)
    return found


@pytest.fixture(scope="module")
def looks(seen):
    """[(path, screen, what is seen on it)]"""
    return [
        (path, screen, look)
        for path, (_said, _left, screens) in seen.items()
        for screen, look in screens.items()
    ]


def test_nothing_is_loaded_from_elsewhere_and_the_console_is_silent(seen):
    assert not [(path, said, left) for path, (said, left, _screens) in seen.items() if said or left]


def test_every_formula_and_picture_is_drawn(looks):
    for path, screen, look in looks:
        assert look["formulas"] == look["drawn"] and not look["unknown"] and not look["pictures"], (
            path,
            screen,
        )
        raw = re.search(r".{0,20}(\$|\\[a-z]{2,}).{0,20}", look["text"])
        assert not raw, (path, screen, raw)
    assert sum(look["formulas"] for _path, screen, look in looks if screen == SCREENS[0]) > 300


def test_nothing_is_wider_than_the_screen(looks):
    """Except for code, tables and formulas, which scroll on their own."""
    assert not [
        (path, screen, look["wide"])
        for path, screen, look in looks
        if look["width"] > screen[0] or look["wide"]
    ]


def test_no_code_or_table_is_cut(looks):
    """On a small screen it scrolls; a laptop shows each line of code whole."""
    assert not [(path, screen, look["cut"]) for path, screen, look in looks if look["cut"]]
    assert not [
        (path, screen, look["scrolled"])
        for path, screen, look in looks
        if screen[0] >= WIDE and look["scrolled"]
    ]


def test_the_page_is_as_light_or_dark_as_asked(looks):
    for path, screen, look in looks:
        lighter, darker = sorted((look["background"], look["foreground"]), reverse=True)
        assert lighter - darker > 0.5 and (look["background"] == lighter) == (
            screen[2] == "light"
        ), (path, screen)


def test_every_link_within_the_site_resolves(looks):
    pages = {path: look for path, screen, look in looks if screen == SCREENS[0]}
    ids = {path.as_uri(): {*look["ids"]} for path, look in pages.items()}
    for path, look in pages.items():
        for link in look["links"]:
            address, _hash, fragment = link.partition("#")
            if address.startswith("file:"):
                assert address.startswith(SITE.as_uri()), (path, link)
                assert Path(unquote(address.removeprefix("file://"))).is_file(), (path, link)
                assert not fragment or address not in ids or unquote(fragment) in ids[address], (
                    f"{path}: nowhere: {link}"
                )
            else:
                assert address.startswith("https://"), (path, link)


def test_the_front_page_leads_to_every_chapter_and_guide(browser):
    browser.open((SITE / "docs" / "index.html").as_uri())
    links = {link.partition("#")[0] for link in browser.run(LOOK)["links"]}
    for folder, pattern, page in (
        ("tutorials", "*/chapter.py", ".html"),
        ("docs", "*.md", ".html"),
        ("docs", "api/*.md", ".html"),
    ):
        for source in (SITE.parents[2] / folder).glob(pattern):
            assert (SITE / source.relative_to(SITE.parents[2])).with_suffix(
                page
            ).as_uri() in links, source


def test_an_api_page_begins_with_its_names(browser):
    for page in (SITE.parents[2] / "docs" / "api").glob("*.md"):
        browser.open((SITE / "docs" / "api" / page.name).with_suffix(".html").as_uri())
        first = browser.run(
            "[...document.querySelector('table.names').querySelectorAll('a')].map(one => one.innerText)"
        )
        entries = browser.run(
            "[...document.querySelectorAll('dl.py > dt')].map(one => one.id.split('.').at(-1))"
        )
        assert len(first) > 20 and {*first} <= {
            *entries,
            "Layer",
            "cross_entropy_forward",
            "cross_entropy_backward",
        }, page
        assert "Alias for" not in browser.run(LOOK)["text"], page


def test_a_short_fraction_is_drawn_as_it_is_meant(browser):
    """\\frac12 v is one half times v, which the converter alone would draw as 12 over v."""
    browser.open((SITE / "tutorials" / "08_residual_layer_norm" / "chapter.html").as_uri())
    fractions = browser.run(
        "[...document.querySelectorAll('mfrac')].map(one => [...one.children].map(part => part.textContent))"
    )
    assert ["1", "2"] in fractions and ["1", "D"] in fractions


def test_figure_1_on_the_first_page_leads_to_the_chapters(browser):
    browser.open((SITE / "docs" / "index.html").as_uri())
    found = dict(
        browser.run(
            "[...document.querySelectorAll('.map a')].map(one => [one.getAttribute('aria-label'), one.href])"
        )
    )
    for label, chapter in (
        ("Masked self-attention", "07_"),
        ("LayerNorm", "08_"),
        ("Loss", "10_"),
        ("Adam", "11_"),
    ):
        assert f"/{chapter}" in found[label], label


def test_the_first_page_is_light_and_shows_the_program_at_work(browser):
    browser.open((SITE / "docs" / "index.html").as_uri())
    files = browser.run(
        "[document.URL, ...[...document.querySelectorAll('script[src], link[rel=stylesheet]')]"
        ".map(one => (one.src || one.href).replace(/[?].*/, ''))]"
    )
    assert sum(Path(unquote(one.removeprefix("file://"))).stat().st_size for one in files) < 300_000
    screen = "document.querySelector('.hero .terminal pre').textContent"
    early = browser.run(f"new Promise(done => setTimeout(() => done({screen}), 1500))")
    later = browser.run(f"new Promise(done => setTimeout(() => done({screen}), 1500))")
    assert "/350 [" in early and early != later
    verdict = browser.run("[...document.querySelectorAll('.terminal pre')].at(-1).textContent")
    assert "LIKELY" in verdict and "only the diagonal" in verdict


def test_what_the_doctor_says_breaks_at_the_edge_of_a_phone(browser):
    browser.screen(*SCREENS[1])
    for chapter in chapters()[5:]:
        browser.open((SITE / "tutorials" / chapter.name / "chapter.html").as_uri())
        widths = browser.run(
            "[...document.querySelectorAll('.sentences pre')].map(one => one.scrollWidth - one.clientWidth)"
        )
        assert max(widths, default=0) <= 1 and (widths or ".findings" not in chapter.text), (
            chapter.name,
            widths,
        )


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_a_chapter_shows_its_results_and_its_exercises(chapter, browser):
    browser.open((SITE / "tutorials" / chapter.name / "chapter.html").as_uri())
    text = browser.run("document.querySelector('[role=main]').innerText")
    assert f"minitransformer learn start {chapter.number}" in text
    assert all(
        f"minitransformer learn check {exercise.name}" in text for exercise in chapter.exercises
    )
    assert browser.run("document.querySelectorAll('.cell_output').length") > (
        5 if chapter.exercises else 4
    )
    pictures = len(
        re.findall(r"plt\.subplots\(|lab\.you_are_here\(", chapter.text)
    )  # the lab draws some by itself
    assert browser.run("document.querySelectorAll('.cell_output img').length") >= max(3, pictures)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_a_chapter_can_be_run_where_it_is_served(chapter, browser):
    """Each exercise is an editor then. From the disk the press says what is missing, and loads
    nothing.
    """
    browser.open((SITE / "tutorials" / chapter.name / "chapter.html").as_uri())
    places = "[...document.querySelectorAll('.live-exercise')].map(one => one.dataset.name)"
    assert sorted(browser.run(places)) == sorted(one.name for one in chapter.exercises)
    browser.run("document.querySelector('.live-press').click()")
    assert "Serve it" in browser.run("document.querySelector('.live-status').textContent")
    policy = browser.run("document.querySelector('meta[http-equiv]').content")
    assert "connect-src 'self'" in policy and "'unsafe-eval'" not in policy
    assert not browser.refused


def test_the_still_on_the_first_page_loads_the_explorer(browser):
    """On click, in its place: a frame, whose document no script of the page may read, loads it."""
    browser.open((SITE / "docs" / "index.html").as_uri())
    assert not browser.run("document.querySelectorAll('iframe').length")
    browser.run("document.querySelector('a[href*=\"explorer.html\"]').click()")
    browser.run("new Promise(done => document.querySelector('iframe').onload = done).then(() => 0)")
    _, frame = browser.page.frames
    assert frame.url.partition("#")[0] == (SITE / "explorer.html").as_uri()
    assert not browser.run("document.querySelectorAll('a img').length")


def test_chapters_open_their_box_in_the_explorer(browser):
    linked = set()
    for chapter in chapters():
        browser.open((SITE / "tutorials" / chapter.name / "chapter.html").as_uri())
        for link in browser.run(
            "[...document.querySelectorAll('a[href*=\"explorer.html\"]')].map(link => link.href)"
        ):
            browser.open("about:blank")  # another fragment of the same page would not load it again
            browser.open(link)
            assert (
                browser.run("document.querySelector('.box.open').id") == link.partition("#")[2]
            ), link
            linked.add(chapter.number)
    assert {"4", "5", "6", "7", "8", "8b", "9"} <= linked


@pytest.mark.parametrize(
    "query, page",
    [
        ("label smoothing", "tutorials/10_loss"),
        ("beam search", "tutorials/12_writing"),
        ("layer norm", "tutorials/08_residual"),
        ("positional encoding", "tutorials/03_positions"),
        ("adam", "tutorials/11_learning"),
        ("bleu", "tutorials/14_evaluation"),
        ("install", "README"),
        ("own text", "docs/train"),
        ("add a layer", "docs/add_a_layer"),
        ("pytorch", "docs/interchange"),
        ("gradient check", "tutorials/01b_checking"),
        ("어텐션", "docs/glossary"),
        ("교차 엔트로피", "docs/glossary"),
    ],
)
def test_the_search_finds_the_right_page_first_without_a_network(browser, query, page):
    browser.open((SITE / "search.html").as_uri() + f"?q={quote(query)}")
    link = browser.run("""new Promise(done => {
        const results = document.querySelector("#search-results");
        const look = () => results.innerText.includes("finished")
            ? done(results.querySelector("li a").getAttribute("href")) : setTimeout(look, 50);
        setTimeout(() => done("nothing"), 10000);
        look();
    })""")
    assert link.startswith(page)
    browser.complaints.clear()  # a page from the disk cannot fetch the others, to quote them


@pytest.mark.parametrize("site", [SITE, KOREAN], ids=["English", "Korean"])
def test_the_pages_have_the_wheel_that_they_run(site):
    live = site / "_static" / "live"
    wheel = json.loads((live / "settings.json").read_text(encoding="utf-8"))["wheel"]
    found = hashlib.sha384((live / wheel["name"]).read_bytes()).digest()
    assert base64.b64encode(found).decode() == wheel["sha384"]


def test_comments_in_the_cells_of_the_korean_pages_are_korean_and_coloured():
    if not KOREAN.is_dir():
        pytest.skip("the Korean site is not built")
    page = (KOREAN / "tutorials" / "01_linear" / "chapter.html").read_text(encoding="utf-8")
    assert re.search(r'<span class="c1"># [^<]*[가-힣]', page)


def test_a_request_that_leaves_the_folder_is_refused(browser):
    """The browser of these tests refuses what it should: a script from elsewhere, and a file beside
    the site.
    """
    browser.open((SITE / "docs" / "index.html").as_uri())
    browser.refused.clear()
    for address in ("https://example.org/x.js", SITE.parents[2].joinpath("README.md").as_uri()):
        browser.run(f"""new Promise(done => {{
            const script = Object.assign(document.createElement("script"), {{src: "{address}", onerror: done, onload: done}});
            document.head.append(script);
        }}).then(() => 0)""")
        assert browser.refused.pop() == address
    browser.complaints.clear()
