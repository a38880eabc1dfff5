"""`minitransformer learn start --from FILE`: what was written on the site's pages, in a folder."""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from minitransformer.cli.output import write_new
from minitransformer.errors import InputError
from minitransformer.files import check_regular, reason
from minitransformer_course.judge import my_transformer
from minitransformer_course.judge.course import Chapter, chapters, exercises
from minitransformer_course.judge.judge_file import check_file
from minitransformer_course.judge.learner_file import notebook_page, percent_page
from minitransformer_course.judge.learner_progress import NOT_YET, PASSED, Progress, learner_file
from minitransformer_course.messages import _

# of a part of the file, as docs/live/keep.js writes it
HEAD = re.compile(r"^# ---- (\w+)(?: \(\w+\))?(, passed)? ----$", re.MULTILINE)


def take_up(name: str, notebook: bool) -> None:
    """Write the chapters of the file, and prove again what passed. A chapter that is in the folder
    already stays as it is, which is said, and so does a function in my_transformer.py.

    Raises InputError if the file holds no exercises, or if all of its chapters are there already.
    """
    passed, newest = _read(Path(name))
    begun = [one for one in chapters() if newest.keys() & _names(one)]
    old = {one: path for one in begun if (path := learner_file(".", one))}
    if len(old) == len(begun):
        raise InputError(
            _(
                "{paths}: already there, so nothing was changed; to take up {file}, move it away"
            ).format(paths=", ".join(map(str, old.values())), file=name)
        )
    for path in old.values():
        print(_("{path} is there already and stays as it is").format(path=path))
    for chapter in begun:
        if chapter not in old:
            _write(chapter, newest, notebook)
            try:
                _prove(chapter, {one: passed[one] for one in _names(chapter) if one in passed})
            except InputError as error:
                print(error, file=sys.stderr)
    if unknown := newest.keys() - exercises().keys():
        said = _("left out, because this version has no such exercise: {names}")
        print(said.format(names=", ".join(sorted(unknown))))
    print(_("What comes next:  minitransformer learn"))


def _read(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """({name of an exercise: what passed}, {name: what was written last})"""
    try:
        check_regular(path, expected=_("the file that a page wrote"))
        _head, *parts = HEAD.split(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(reason(error)) from None
    except UnicodeDecodeError:
        raise InputError(_("{path} is not text in UTF-8").format(path=path)) from None
    texts = [text.strip("\n") for text in parts[2::3]]
    passed = {name: text for name, how, text in zip(parts[::3], parts[1::3], texts) if how}
    newest = dict(zip(parts[::3], texts))
    if not newest.keys() & exercises().keys():
        raise InputError(
            _(
                '{path} holds no exercises; expected a file that "Take it with you" on a page wrote'
            ).format(path=path)
        )
    return passed, newest


def _names(chapter: Chapter) -> list[str]:
    return [one.name for one in chapter.exercises]


def _write(chapter: Chapter, texts: dict[str, str], notebook: bool) -> None:
    path = Path(chapter.name + (".ipynb" if notebook else ".py"))
    page = notebook_page if notebook else percent_page
    write_new(path, page(chapter, texts).encode())
    n = len(texts.keys() & _names(chapter))
    said = _("{path}: {n} of its {all} exercises are as you wrote them")
    print(said.format(path=path, n=n, all=len(chapter.exercises)))


def _prove(chapter: Chapter, texts: dict[str, str]) -> None:
    """Judge what passed on a page, and put what passes into my_transformer.py, as `check` does."""
    for name in texts.keys() & my_transformer.names_in("."):
        said = _("{name} is in {file} already and stays as it is there")
        print(said.format(name=name, file=my_transformer.FILE))
        del texts[name]
    if not texts:
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{chapter.name}.py")
        path.write_text(percent_page(chapter, texts), encoding="utf-8")
        checked = check_file(path, list(texts))
    progress = Progress(".")
    for answer in checked.answers:
        print(answer.title)
        progress.update(answer.exercise, state=PASSED if answer.passed else NOT_YET)
    progress.save()
    right = [one.exercise for one in checked.answers if one.passed]
    my_transformer.add(".", checked.sources, right)
