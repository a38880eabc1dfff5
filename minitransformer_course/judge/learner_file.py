"""The learner's file of a chapter, made from the chapter and its exercises.

texts: what the learner wrote elsewhere, {name of an exercise: its code}.
"""

import re
from collections.abc import Mapping

from minitransformer_course.judge import cells
from minitransformer_course.judge.exercise import skeleton
from minitransformer_course.messages import _
from minitransformer_course.judge.pages import translated, translated_code


NOTHING: Mapping[str, str] = {}


def learner_cells(chapter, texts=NOTHING) -> list[cells.Cell]:
    """The chapter with a blank in each exercise's place, without the derivations."""
    made, named = [], {exercise.name: exercise for exercise in chapter.exercises}
    for cell in cells.parse(chapter.text):
        if cell.kind == "exercise":
            exercise = named[cell.name]
            made.append(cells.Cell("markdown", task_of(exercise)))
            code = texts.get(exercise.name, blank_of(exercise)).rstrip("\n") + "\n"
            made.append(cells.Cell("code", code + page_line(exercise.name)))
        elif cell.kind == "markdown":
            made.append(cell._replace(source=translated(cell.source)))
        elif cell.kind == "code":
            made.append(cell._replace(source=translated_code(cell.source)))
    return made


def task_of(exercise) -> str:
    """The title, how hard and how long it is, and what to do, in Markdown."""
    title = f"### {_('Exercise')}: {_(exercise.title)}"
    return f"{title}\n\n{exercise.effort}\n\n{translated(exercise.task)}"


def blank_of(exercise) -> str:
    """What the learner begins with."""
    return translated_code(skeleton(exercise.source, exercise.name))


def page_line(name) -> str:
    """What follows a blank, so that it does not stop the page."""
    return f"\n\n{name} = yours({name})    # {_('the page uses yours once it passes, and the reference until then')}"


def percent_page(chapter, texts=NOTHING) -> str:
    """The learner's file as a script in cells."""
    return cells.percent(learner_cells(chapter, texts))


def notebook_page(chapter, texts=NOTHING) -> str:
    """The same as a notebook, in which a cell after each exercise asks the judge."""
    made = []
    for cell in learner_cells(chapter, texts):
        made.append(cell)
        name = re.search(r"^(\w+) = yours\(\1\)", cell.source, re.MULTILINE)
        if name:
            made.append(
                cells.Cell(
                    "code",
                    f'from minitransformer_course import check\n\ncheck("{name[1]}", {name[1]})',
                )
            )
    return cells.notebook(made)
