"""The learner's file of a chapter, made from the chapter and its exercises."""

import re

from minitransformer_course.judge import cells
from minitransformer_course.judge.exercise import skeleton
from minitransformer_course.judge.messages import _


def learner_cells(chapter) -> list[cells.Cell]:
    """The chapter with a blank in each exercise's place, without the derivations."""
    made, named = [], {exercise.name: exercise for exercise in chapter.exercises}
    for cell in cells.parse(chapter.text):
        if cell.kind == "exercise":
            exercise = named[cell.name]
            heading = f"### {_('Exercise')}: {_(exercise.title)}"
            made.append(cells.Cell("markdown", f"{heading}\n\n{exercise.effort}\n\n{_(exercise.task)}"))
            made.append(cells.Cell("code", skeleton(exercise.source, exercise.name) + page_line(exercise.name)))
        elif cell.kind in ("markdown", "code"):
            made.append(cell)
    return made


def page_line(name) -> str:
    """What follows a blank, so that it does not stop the page."""
    return f'\n\n{name} = yours({name})    # {_("the page uses yours once it passes, and the reference until then")}'


def percent_page(chapter) -> str:
    """The learner's file as a script in cells."""
    return cells.percent(learner_cells(chapter))


def notebook_page(chapter) -> str:
    """The same as a notebook, in which a cell after each exercise asks the judge."""
    made = []
    for cell in learner_cells(chapter):
        made.append(cell)
        name = re.search(r"^(\w+) = yours\(\1\)", cell.source, re.MULTILINE)
        if name:
            made.append(cells.Cell("code", f'from minitransformer_course import check\n\ncheck("{name[1]}", {name[1]})'))
    return cells.notebook(made)
