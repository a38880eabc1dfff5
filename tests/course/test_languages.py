"""The course in other languages: every text is looked up, what is missing or broken is shown in
English, English stays as it is.
"""

import ast
import io
import json
import re
import shutil
import sys
import unicodedata
from collections import Counter
from functools import cache

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from minitransformer.cli import main
from minitransformer.errors import InputError
from minitransformer_course import messages
from minitransformer_course.judge import cells
from minitransformer_course.judge.course import chapters, find_exercise
from minitransformer_course.judge.exercise import skeleton
from minitransformer_course.judge.judgement import check_function
from minitransformer_course.judge.learner_file import percent_page
from minitransformer_course.judge.submission import read
from minitransformer_course.judge.pages import translated, translated_code
from tests import ROOT

PAGE = """# A heading

A sentence with $a + b$
on two lines:

$$
x = y
$$

- first *item*
  goes on
- second item

| a word | `code` | $x$ and y |
|---|---|---|
| 1 | not \\| split | |

> quoted words
> go on

```python
stays = "as it is"
```
"""
MESSAGES = [
    "A heading",
    "A sentence with $a + b$ on two lines:",
    "first *item* goes on",
    "second item",
    "a word",
    "$x$ and y",
    "not \\| split",
    "quoted words go on",
]
sys.path.append(str(ROOT / "minitransformer_course" / "locale"))
import catalogue  # noqa: E402

COMPLETE = (  # at least 95 % of these texts are translated
    "00_before 01_linear 01b_checking 02_embedding 03_positions 04_softmax 05_attention 06_masks "
    "07_heads 08_residual_layer_norm 08b_block 09_transformer 10_loss 11_learning "
    "12_writing 12b_text 13_after_2017 13b_inside 13c_teaching 14_evaluation 14b_translation "
    "15_before_attention 16_why_self_attention 17_reading_again judge site one_file my_model explorer commands"
).split()
CHANGED: list[str] = []  # since they were translated
WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
KOREAN = r"(?:(\d+)억 )?(\d[\d,]*)만(?: (\d,\d{3}))?"  # 1억 3,500만 is 135 million
CATALOGUES = sorted((ROOT / "minitransformer_course" / "locale").glob("*/*.po"))


@cache
def entries(path):
    """The messages of a .po file."""
    return [message for message in read_po(io.BytesIO(path.read_bytes())) if message.id]


def int_of(korean) -> int:
    """A match of KOREAN as a number."""
    parts = [int((part or "0").replace(",", "")) for part in korean.groups()]
    return 100_000_000 * parts[0] + 10_000 * parts[1] + parts[2]


@pytest.fixture(scope="module")
def marked():
    """The file of a catalogue in which each text is marked with 글."""
    catalogue, file = Catalog("ko"), io.BytesIO()
    for path in CATALOGUES:
        for message in entries(path):
            catalogue.add(message.id, f"글 {message.id}")
    write_po(file, catalogue)
    return file.getvalue()


@pytest.fixture
def korean(marked, tmp_path, monkeypatch):
    """The path of that file, in which the course looks every text up."""
    (tmp_path / "ko").mkdir()
    (tmp_path / "ko" / "all.po").write_bytes(marked)
    monkeypatch.setattr(messages, "LOCALE", tmp_path)
    monkeypatch.setattr(messages, "_chosen", ["ko"])
    messages.catalogue.cache_clear(), messages._found.cache_clear()
    yield tmp_path / "ko" / "all.po"
    messages.catalogue.cache_clear(), messages._found.cache_clear()


def test_the_course_reads_the_files_as_their_library_does():
    translated = {}
    for path in CATALOGUES:
        for message in entries(path):
            if message.string and not message.fuzzy:
                translated[message.id] = message.string
    assert messages.catalogue("ko") == translated
    assert messages._("") == ""  # not the header of a file


def test_a_text_of_several_lines_with_every_escape_is_read(korean):
    catalogue = Catalog("ko")
    catalogue.add(
        'a "quoted"\n\\line\tof {it}' + 200 * " and", '글 "a"\n\\b\t{it}', flags=["python-format"]
    )
    catalogue.add("one", "changed", flags=["fuzzy"])
    catalogue.add("two", "changed", flags=["fuzzy", "python-format"])
    catalogue.add("three")
    catalogue.add("four", "넷")
    with korean.open("wb") as file:
        write_po(file, catalogue, width=60)
    assert messages.catalogue("ko") == {
        'a "quoted"\n\\line\tof {it}' + 200 * " and": '글 "a"\n\\b\t{it}',
        "four": "넷",
    }


def test_a_page_is_looked_up_piece_by_piece():
    found = []
    assert translated(PAGE, lambda text: found.append(text) or text) == PAGE.rstrip("\n")
    assert found == MESSAGES
    shouted = translated(PAGE, str.upper)
    assert (
        "- FIRST *ITEM* GOES ON\n- SECOND" in shouted
        and 'stays = "as it is"' in shouted
        and "x = y" in shouted
    )
    assert "> QUOTED WORDS GO ON" in shouted and "| `code` |" in shouted


def test_a_translated_line_never_begins_like_an_item_and_no_formula_is_cut():
    for n in range(40, 80):
        lines = translated(
            "text", lambda text: f"{'x' * n} - y + z 1. w # v $a - b + c$ `d - e`"
        ).splitlines()
        assert not any(re.match(r"[-+*#>] |\d+\. ", line) for line in lines)
        assert all(line.count("$") % 2 == 0 and line.count("`") % 2 == 0 for line in lines)


def test_a_translated_line_is_wrapped_by_columns_and_no_shape_is_cut():
    """A Korean letter is two columns wide, in a docstring of an exercise, too."""
    for n in range(1, 30):
        text = n * "x" + " " + 20 * "가중치 (B, T_q, D)와 (N, d_in). "
        lines = translated("English text", lambda _: text).splitlines()
        assert " ".join(lines) == text.strip() and len(lines) > 5
        columns = [
            sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in line)
            for line in lines
        ]
        assert 60 < max(columns) <= 96
        assert all(line.count("(") == line.count(")") for line in lines)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_without_a_translation_a_chapter_stays_as_it_is(chapter):
    for cell in cells.parse(chapter.text):
        if cell.kind != "exercise" and cells.is_text(cell.kind, cell.name):
            assert translated(cell.source, str) == cell.source
        elif cell.kind == "code":
            assert translated_code(cell.source, str) == cell.source
    for exercise in chapter.exercises:
        blank = skeleton(exercise.source, exercise.name)
        assert translated_code(blank, str) == blank


def test_every_text_of_a_chapter_can_be_translated(korean):
    chapter = next(chapter for chapter in chapters() if chapter.name == "04_softmax")
    page = percent_page(chapter)
    for cell in cells.parse(page):
        if cell.kind == "markdown":
            for message in re.split(r"\n\n|\n(?=- )", cell.source):
                if not re.match(r"[$|★`]", message):
                    assert message.lstrip("#- *").startswith("글"), message
    assert '"""글' in page and "# your code: 글" in page and "# end of your code" in page
    code = [cell.source for cell in cells.parse(page) if cell.kind == "code"]
    assert all("# 글" in one for one in code if "    # " in one)
    for cell in cells.parse(chapter.text):  # what runs is the same in each language
        if cell.kind == "code":
            assert any(what_runs(one) == what_runs(cell.source) for one in code)


@pytest.mark.parametrize("name", catalogue.PROGRAMS)
def test_a_program_is_read_in_korean_and_runs_as_in_english(name):
    english = (ROOT / "tutorials" / f"{name}.py").read_text(encoding="utf-8")
    assert translated_code(english, str) == english
    korean = translated_code(english, messages.catalogue("ko").get)
    assert what_runs(korean) == what_runs(english)
    assert not re.search(r"# [A-Z]?[a-z]+ [a-z]+ [a-z]+", korean)


def what_runs(code):
    """The syntax tree without docstrings."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        kinds = ast.Module, ast.ClassDef, ast.FunctionDef
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.dump(tree)


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_a_translation_has_the_numbers_formulas_and_code_of_its_text(path):
    for message in entries(path):
        if message.string and not message.fuzzy:
            for kind in (r"`[^`]*`", r"\$[^$]*\$", r"\{\w*\}", r"\]\([^)]*\)"):
                assert Counter(re.findall(kind, message.string)) == Counter(
                    re.findall(kind, message.id)
                ), message.id
            other = re.sub(r"[\d,]+분의 \d+", "", message.string)
            for unit, size in (("million", 1_000_000), ("thousand", 1000)):
                if re.search(rf"{unit}\b", message.id):
                    other = re.sub(KOREAN, lambda one: f"{int_of(one) / size:g}", other)
            english, other = (
                Counter(re.findall(r"\d[\d,.]*\d|\d", text)) for text in (message.id, other)
            )
            words = [word.rstrip("s") for word in re.findall(r"[a-z]+", message.id.lower())]
            in_words = {
                str(number) for number, word in enumerate(WORDS) if word in words
            }  # "two sentences" may be 문장 2개
            assert not english - other and set(other - english) <= in_words, message.id


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_a_link_to_an_english_page_says_so(path):
    known = {page.stem for one in catalogue.PAGES for page in (ROOT / "docs").glob(one)}
    for message in entries(path):
        for page, after in re.findall(r"\]\(([^():#]+)\.md[^()]*\)(.{,5})", message.string):
            assert page.rpartition("/")[2] in known or "영어" in after, message.id


def test_what_is_declared_complete_is_translated():
    """A text that changed is English until it is translated again, but not so many of them that a
    page speaks two languages.
    """
    for part, texts in catalogue.texts().items():
        if part in COMPLETE:
            done = {
                message.id
                for message in entries(
                    ROOT / "minitransformer_course" / "locale" / "ko" / f"{part}.po"
                )
                if message.string and not message.fuzzy
            }
            assert len(done & set(texts)) >= 0.95 * len(texts), part
    assert {*COMPLETE, *CHANGED} <= {*catalogue.texts()} and not {*COMPLETE} & {*CHANGED}


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """What the catalogue finds, in a folder of its own with the language ko."""
    monkeypatch.setattr(catalogue, "HERE", tmp_path)
    found = {"page": {}, "other": {}}
    monkeypatch.setattr(catalogue, "texts", lambda: found)
    (tmp_path / "ko").mkdir()
    (tmp_path / "ko" / "page.po").touch()
    return found


def test_a_changed_text_keeps_the_english_of_its_translation(parts, tmp_path, monkeypatch):
    """... however often it changes, as gettext's `#| msgid`, which goes once it is translated."""
    path, place = (
        tmp_path / "ko" / "page.po",
        catalogue.Place(ROOT / "docs" / "learn.md", "a title"),
    )
    first = 'The judge\'s "first" sentence, ' + 30 * "which is long, "
    parts["page"] = {first + "ends.": place}
    assert [*catalogue.update("ko")] == [
        f"ko page {'':21}    0 of    1 texts,   0%",
        f"ko other {'':20}    0 of    0 texts,   0%",
    ]
    text = path.read_text(encoding="utf-8")
    assert "#. a title\n#: docs/learn.md\nmsgid" in text  # its place, and what it is
    path.write_text(text.replace('msgstr ""\n\n', 'msgstr "번역"\n\n'), encoding="utf-8")
    for end in ("stops.", "is over."):
        parts["page"] = {first + end: place}
        list(catalogue.update("ko"))
        text = path.read_text(encoding="utf-8")
        previous = "".join(re.findall(r'^#\| (?:msgid )?"(.*)"$', text, re.MULTILINE))
        assert previous == first.replace('"', '\\"') + "ends." and "#, fuzzy" in text
        monkeypatch.setattr(messages, "LOCALE", tmp_path)
        messages.catalogue.cache_clear()
        assert messages.catalogue("ko") == {}
    path.write_text(text.replace("#, fuzzy\n", ""), encoding="utf-8")
    list(catalogue.update("ko"))
    assert "#|" not in path.read_text(encoding="utf-8")
    messages.catalogue.cache_clear()
    assert messages.catalogue("ko") == {first + "is over.": "번역"}
    messages.catalogue.cache_clear()


def test_a_part_without_a_translation_gets_no_file_until_it_is_begun(parts, tmp_path):
    parts["other"] = {"text": catalogue.Place(ROOT / "README.md")}
    list(catalogue.update("ko"))
    assert not (tmp_path / "ko" / "other.po").exists()
    (tmp_path / "ko" / "other.po").touch()
    list(catalogue.update("ko"))
    assert 'msgid "text"' in (tmp_path / "ko" / "other.po").read_text(encoding="utf-8")


def test_an_error_in_a_chapter_loses_no_translation(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "HERE", tmp_path)
    monkeypatch.setattr(catalogue, "texts", lambda: {}["a chapter with an error"])
    (tmp_path / "ko").mkdir()
    shutil.copy(CATALOGUES[0], tmp_path / "ko")
    with pytest.raises(KeyError):
        list(catalogue.update("ko"))
    assert (tmp_path / "ko" / CATALOGUES[0].name).read_bytes() == CATALOGUES[0].read_bytes()


def code_of(text):
    """What a page asks its reader to type: its shell blocks, indented lines and code in a line."""
    blocks = re.findall(r"^```(?:bash|powershell)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [*blocks, *re.findall(r"(?m)^    [.\w].*$", text), *re.findall(r"`([^`\n]+)`", text)]


def commands_of(text):
    command = r"(?:minitransformer|python -m|pip install)(?: [^\s&#]+)+"
    return {found for code in code_of(text) for found in re.findall(command, code)}


def test_the_korean_readme_has_the_commands_numbers_and_links_of_the_english_one():
    """It learns in Korean, builds both halves of the site, and has PowerShell's commands."""
    english, korean = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.ko.md")
    )
    here = {command.replace("start 1", "start 1 --language ko") for command in commands_of(english)}
    assert commands_of(korean) == here | {
        "python -m sphinx -c docs . docs/_build/html/ko -D language=ko",
        "minitransformer train numbers --language korean",
    }
    assert "&&" not in korean and r".venv\Scripts\Activate.ps1" in korean
    programs, texts = zip(*(split_off(r"^```python\n.*?^```", text) for text in (english, korean)))
    assert programs[0] == programs[1]
    links, texts = zip(*(split_off(r"\]\([^)]*\)", text) for text in texts))
    other = {"](README.md)": "](README.ko.md)"}
    assert sorted([*links[0], "](docs/glossary.md)"]) == sorted(
        other.get(link, link) for link in links[1]
    )
    _, texts = zip(*(split_off(r"^```.*?^```|`[^`\n]+`|^    .*?$", text) for text in texts))
    numbers = [Counter(re.findall(r"\d[\d,.]*\d|\d", text)) for text in texts]
    in_words = {"1", "2", "3", "4", "5", "10"}  # parts one to three, five minutes, ten minutes
    chapters_and_volume = {"0", "8", "2"}  # in sentences that only a Korean needs
    assert not numbers[0] - numbers[1]
    assert set(numbers[1] - numbers[0]) <= in_words | chapters_and_volume


def split_off(pattern, text):
    """What matches, and the rest."""
    pattern = re.compile(pattern, re.DOTALL | re.MULTILINE)
    return pattern.findall(text), pattern.sub("", text)


@pytest.fixture
def learn(run_cli, tmp_path, monkeypatch):
    """learn(words, NAME=value) -> (exit code, stdout, stderr) of the command as a new process would
    run it: in the folder and with such an environment, and in no language yet.
    """
    monkeypatch.chdir(tmp_path)

    def run(words="", **environment):
        messages._found.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(messages, "_chosen", [])
            for name, value in environment.items():
                patch.setenv(name, value)
            return run_cli(f"learn {words}")

    return run


def test_the_language_is_kept_in_the_folder(learn, tmp_path):
    assert learn("start 4 --language ko")[0] == 0
    assert json.loads((tmp_path / messages.FILE).read_text())["language"] == "ko"
    code, out, err = learn("start 5 --language kr")
    assert code == 2 and err.startswith("minitransformer: 'kr': ") and err.endswith(": en, ko\n")
    code, out, err = learn(MINITRANSFORMER_LANGUAGE="xx")
    assert code == 0 and err == "there is no language 'xx'; choose from en, ko\n"
    assert "hint 1 of 4" in learn("hint", MINITRANSFORMER_LANGUAGE="en")[1]  # for once
    assert json.loads((tmp_path / messages.FILE).read_text())["language"] == "ko"
    assert learn("start 6 --language en")[0] == 0  # nothing is lost
    assert (
        json.loads((tmp_path / messages.FILE).read_text())["language"] == "en"
        and (tmp_path / "04_softmax.py").exists()
    )


def test_a_page_that_was_begun_in_english_can_be_had_in_korean(learn, tmp_path):
    assert learn("start 4")[0] == 0
    english = (tmp_path / "04_softmax.py").read_bytes()
    code, out, err = learn("start 4 --language ko")
    assert code == 2 and "이제부터 채점기는 한국어로 답합니다" in err and not out
    assert json.loads((tmp_path / messages.FILE).read_text())["language"] == "ko"
    assert (tmp_path / "04_softmax.py").read_bytes() == english
    (tmp_path / "04_softmax.py").rename(tmp_path / "english.py")
    assert learn("start 4 --language ko")[0] == 0
    assert "소프트맥스" in (tmp_path / "04_softmax.py").read_text(encoding="utf-8")
    assert "nothing was changed" in learn("start 4", MINITRANSFORMER_LANGUAGE="en")[2]


def test_where_the_system_speaks_korean_learn_says_how_to_choose_it(korean, monkeypatch):
    monkeypatch.setattr(messages, "_chosen", ["en"])
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert "--language ko" in messages.how_to_choose()
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert messages.how_to_choose() == ""


def test_the_first_screen_says_how_to_choose_a_language(learn):
    for words in "", "start 1":
        assert learn(words, LC_ALL="ko_KR.UTF-8")[1].startswith(messages.HOW_TO_CHOOSE["ko"])
    assert "--language ko" not in learn(LC_ALL="ko_KR.UTF-8")[1]


def test_a_verdict_translates_the_names_of_cases_terms_and_parts(korean):
    """... and finds the first wrong part, as in English."""
    one = find_exercise("multi_head_attention")
    answer = check_function(
        one, lambda *given: one.reference(*given[:2], 0.9 * given[2], *given[3:]) + 0, watched=False
    )
    assert "wrong already with 글 one head: look at 글 the projections, and what" in answer.likely
    one = find_exercise("residual_backward")
    answer = check_function(
        one, lambda dy, x, W: (2 * dy + dy @ W.T, *one.reference(dy, x, W)[1:]), watched=False
    )
    assert "(글 dy, around the layer)" in answer.why


@pytest.mark.parametrize(
    "words, said",
    [
        ("chek", "글 argument ACTION: invalid choice: 'chek'; did you mean check?"),
        ("zzz", "글 argument ACTION: invalid choice: 'zzz'; choose from list, start, "),
        ("solution", "글 the following arguments are required: NAME"),
        ("check --foo", "글 unrecognized arguments: --foo"),
        ("grade . --jsn", "글 unrecognized arguments: --jsn; did you mean --json?"),
        ("grade --seed x .", "글 argument --seed: invalid int value: 'x'"),
        ("start --language", "글 argument --language: expected"),
        (
            "--give-up",
            "글 --give-up belongs after ACTION: minitransformer learn ACTION --give-up ...",
        ),
    ],
)
def test_what_argparse_says_is_translated(korean, monkeypatch, capsys, words, said):
    def complaint() -> str:
        with pytest.raises(SystemExit):
            main(["learn", *words.split()])
        return capsys.readouterr().err

    assert f": {said}" in (translated := complaint())
    monkeypatch.setattr(messages, "_chosen", ["en"])
    assert translated.removeprefix("글 ").replace("글 ", "") == complaint()


def test_what_python_says_of_a_file_is_translated(tmp_path, monkeypatch):
    """The character of a Korean keyboard is shown, with the one that was meant."""
    monkeypatch.setattr(messages, "_chosen", ["ko"])
    path = tmp_path / "mine.py"
    for code, said in (
        ("x = (1\uff0c2)", 'U+FF0C). 한/영 키를 눌러 영문으로 바꾼 다음 "," 문자로 고쳐 쓰세요'),
        ("x = (1", "1번째 줄: x = (1: '(' 괄호를 닫지 않았습니다"),
        ("def f()\n    pass", "':'이 있어야 합니다"),
        ("if True:\nx = 1", "1번째 줄의 'if' 다음에는 들여 쓴 줄이 있어야 합니다"),
    ):
        path.write_text(code, encoding="utf-8")
        with pytest.raises(InputError) as error:
            read(path)
        assert said in str(error.value)


def test_a_broken_catalogue_gives_english_and_one_line(korean, capsys):
    korean.write_bytes(b"\xde\x12\x04\x95" + 40 * b"\xff")
    messages.catalogue.cache_clear()
    assert [messages._("minutes"), messages._("minutes")] == ["minutes", "minutes"]
    assert (
        messages.spoken() == "en" and messages.language() == "ko"
    )  # the judge's process says nothing more
    assert capsys.readouterr().err.count("\n") == 1
