"""What each action of `minitransformer learn` does; some return an exit code."""

import csv
import hashlib
import json
import sys
from pathlib import Path

from minitransformer.cli.output import write_new
from minitransformer.errors import InputError
from minitransformer.files import free_name
from minitransformer_course.commands.learn_targets import (
    NOT_DONE,
    chapters_file,
    first_to_solve,
    next_exercise,
    targets,
)
from minitransformer_course.judge import my_transformer, own_text
from minitransformer_course.judge.cells import is_text
from minitransformer_course.judge.course import (
    HOURS,
    PARTS_OF_THE_BOOK,
    SHORT,
    chapters,
    exercises,
    find_chapter,
    find_exercise,
    folder_of_chapters,
)
from minitransformer_course.judge.hints import STEPS, hint
from minitransformer_course.judge.learner_file import notebook_page, percent_page
from minitransformer_course.judge.learner_progress import (
    NOT_STARTED,
    NOT_YET,
    PASSED,
    Progress,
    learner_file,
    started,
)
from minitransformer_course.messages import _, choose, columns, how_to_choose, padded
from minitransformer_course.judge.pages import plain, translated, translated_code


def status(args) -> None:
    progress, begun = Progress("."), started(".")
    if not begun:
        _say_how_to_choose()
    known = [find_exercise(name) for name in SHORT] if progress.short else exercises().values()
    done = sum(progress.state(one) == PASSED for one in known)
    said = (
        _("{done} of the {n} functions of the short path pass.")
        if progress.short
        else _("{done} of {n} exercises pass.")
    )
    print(said.format(done=done, n=len(known)))
    if not progress.short and all(progress.state(find_exercise(name)) == PASSED for name in SHORT):
        print(
            _(
                "The short path is done: minitransformer learn plug runs its {n} functions in a new model."
            ).format(n=len(SHORT))
        )
    if not begun:
        before, first = chapters()[0], next(chapter for chapter in chapters() if chapter.exercises)
        print(
            _(
                "Begin:  minitransformer learn start {before}       ten minutes to read, and nothing to write; then\n"
                "        minitransformer learn start {number}       the book from its first chapter, or\n"
                "        minitransformer learn start path    its short path: {n} functions in {hours} hours\n"
                "It writes {name}.py: read it from the top in an editor, fill its blanks as you come to them, then\n"
                "        minitransformer learn check\n"
                "An unsolved exercise fails; that is where you begin. All commands:  minitransformer learn --help"
            ).format(
                before=before.number,
                number=first.number,
                name=first.name,
                n=len(SHORT),
                hours=HOURS,
            )
        )
        return
    one = next_exercise(progress)
    if one and learner_file(".", one.chapter):
        print(
            _(
                "Next:   {name} ({title}), in {file}\n        minitransformer learn check {name}"
            ).format(name=one.name, title=_(one.title), file=chapters_file(one.chapter).name)
        )
        _say_where_to_read(progress, one)
        return
    if progress.short:
        command = f"start {one.chapter.number}" if one else "plug"
        print(_("Next:   minitransformer learn {command}").format(command=command))
        return
    rest = [
        chapter
        for chapter in chapters()
        if chapter.exercises and chapter not in [begun for begun, _path in begun]
    ]
    if rest:
        print(_("Next:   minitransformer learn start {number}").format(number=rest[0].number))
        return
    print(_("That was the last chapter."))
    if progress.of(my_transformer.MODEL)["state"] != PASSED:
        print(
            _("Now write the whole model from a blank file:  minitransformer learn start my_model")
        )
    print(
        _("Read the whole paper in one file: {path}").format(
            path=folder_of_chapters() / "one_file.py"
        )
    )


def _say_where_to_read(progress, exercise) -> None:
    if progress.short:
        heading = SHORT[exercise.name]
        print(
            _('        run the import cells, then read from "{heading}" to its blank').format(
                heading=_(heading)
            )
            if heading
            else _("        read from the top of the page to its blank")
        )


def show_list(args) -> None:
    progress = Progress(".")
    states = {NOT_STARTED: _("not started"), NOT_YET: _("not yet"), PASSED: _("passed")}
    part = ""
    for chapter in chapters():
        if chapter.part != part:
            part = chapter.part
            print(f"\n{_(part)}\n")
        print(chapter.title)
        for one in chapter.exercises:
            mark = ">" if one.name in SHORT else " "
            print(
                f"{mark} {padded(states[progress.state(one)], 11)}  {one.effort:>16}  {one.name:26}  {_(one.title)}"
            )
    model = progress.of(my_transformer.MODEL)
    state = (
        NOT_YET
        if model["state"] == NOT_STARTED and Path(my_transformer.MODEL_FILE).exists()
        else model["state"]
    )
    said = _("The whole model from a blank file: {n} of {all} functions are yours").format(
        n=model.get("own", 0), all=len(my_transformer.FUNCTIONS)
    )
    effort = f"★★★ {_('{n} minutes').format(n=my_transformer.MODEL_MINUTES)}"
    print(f"\n  {padded(states[state], 11)}  {effort:>16}  {my_transformer.MODEL:26}  {said}")
    hours = sum(one.minutes for one in exercises().values()) / 60
    print(
        _(
            "\n> the short path, about {short} hours: these {n}, then minitransformer learn plug\n"
            "All {all} exercises take about {hours:.0f} hours; with the reading, count on 35 to 45."
        ).format(short=HOURS, n=len(SHORT), all=len(exercises()), hours=hours)
    )


def start(args) -> None:
    if bool(args.file) == bool(args.chapter):
        raise InputError(_("expected a chapter, or --from FILE: minitransformer learn start 1"))
    if args.language:
        choose(args.language)
        progress = Progress(".")
        progress.language = args.language
        progress.save()
    elif not started("."):
        _say_how_to_choose()
    if args.file:
        from minitransformer_course.commands.learn_take_up import take_up

        return take_up(args.file, args.notebook)
    model = Path(my_transformer.MODEL_FILE)
    if args.chapter in (model.name, model.stem):
        return _start_model(model)
    if args.chapter == "path":
        progress = Progress(".")
        progress.short = True
        progress.save()
        one = next_exercise(progress)
        if one is None or learner_file(".", one.chapter):
            return status(args)
        chapter = one.chapter
    else:
        chapter = find_chapter(args.chapter)
    return _start_chapter(chapter, args.notebook, args.language)


def _start_model(path) -> None:
    if path.exists():
        raise InputError(_("{path} is there already, and nothing was changed").format(path=path))
    text = (folder_of_chapters() / path.name).read_text(encoding="utf-8")
    write_new(path, translated_code(text).encode())
    said = _("{path}: write its six functions, then\n        minitransformer learn plug")
    print(said.format(path=path))


def _start_chapter(chapter, notebook, language) -> None:
    existing = learner_file(".", chapter)
    if existing and language:
        raise InputError(
            _(
                "{path} is there already and stays as it is, but from now on the judge answers in the language that "
                "you chose; for a page in it, rename this file, then type the same command again"
            ).format(path=existing)
        )
    if existing:
        raise InputError(
            _(
                "{path} is there already, and nothing was changed; to begin again, move it away first"
            ).format(path=existing)
        )
    path = Path(chapter.name + (".ipynb" if notebook else ".py"))
    write_new(path, (notebook_page(chapter) if notebook else percent_page(chapter)).encode())
    if not chapter.exercises:
        print(
            _(
                "{path}: read it from the top and run its cells. There is nothing to write yet. What comes next:\n"
                "        minitransformer learn"
            ).format(path=path)
        )
        return
    progress = Progress(".")
    if progress.short and (one := next_exercise(progress)) and one.chapter is chapter:
        print(_("{path}: on the short path, write {name} in it.").format(path=path, name=one.name))
        _say_where_to_read(progress, one)
        return
    said = (
        _("{path}: read it from the top. It has 1 blank to fill as you go.")
        if len(chapter.exercises) == 1
        else _("{path}: read it from the top. It has {n} blanks to fill as you go.")
    )
    print(said.format(path=path, n=len(chapter.exercises)))
    if notebook:
        print(
            _(
                "Run its cells in order: the cell below each function asks the judge. Save, and a terminal can ask, too."
            )
        )
    print(
        _(
            "An unsolved exercise fails; that is where you begin:  minitransformer learn check {name}"
        ).format(name=chapter.exercises[0].name)
    )


def _say_how_to_choose() -> None:
    if line := how_to_choose():
        print(line)


def check(args) -> int:
    from minitransformer_course.judge.judge_file import check_file

    progress = Progress(".")
    answers = []
    for path, names in targets(args, progress):
        checked = check_file(path, names)
        for text in filter(
            None, [checked.printed, *(answer.printed for answer in checked.answers)]
        ):
            print("\n".join(f"  | {line}" for line in text.splitlines()))
        for answer in checked.answers:
            _keep_likely(answer, checked, progress, args.likely)
            print(answer)
            progress.update(answer.exercise, state=PASSED if answer.passed else NOT_YET)
        _keep(checked)
        answers += checked.answers
    progress.save()
    return 0 if all(answer.passed for answer in answers) else NOT_DONE


def _keep_likely(answer, checked, progress, at_once) -> None:
    """From part two on, what is likely wrong is said with the second failed check of changed code,
    or with a hint: the reader looks for it first.
    """
    from minitransformer_course.judge.judge_file import code_of

    code = code_of(answer.exercise, "\n".join(checked.sources.values()))
    digest = hashlib.sha256(code.encode()).hexdigest()[:16]
    known = progress.of(answer.exercise)
    shown = at_once or known["hint"] or known.get("code", digest) != digest
    first_part = find_exercise(answer.exercise).chapter.part == next(iter(PARTS_OF_THE_BOOK))
    if not (answer.passed or first_part or shown or answer.blank):
        progress.update(answer.exercise, code=digest, likely=answer.likely)
        answer.likely = ""


def _keep(checked) -> None:
    """Add the functions that pass to my_transformer.py."""
    passed = [answer.exercise for answer in checked.answers if answer.passed]
    try:
        if passed:
            my_transformer.add(".", checked.sources, passed)
    except InputError as error:
        print(error, file=sys.stderr)


def show_hint(args) -> None:
    progress = Progress(".")
    exercise = find_exercise(args.name) if args.name else first_to_solve(progress)
    given = progress.of(exercise.name)["hint"]
    if given == STEPS:
        print(
            _("{name}: those were all the hints. Here they are again:").format(name=exercise.name)
        )
    for step in range(1, STEPS + 1) if given == STEPS else [given + 1]:
        print(
            _("{name}, hint {step} of {n}:").format(name=exercise.name, step=step, n=STEPS),
            hint(exercise, step),
        )
    if likely := progress.of(exercise.name).get("likely"):
        print(_("Likely: {what}").format(what=likely))
    progress.update(exercise.name, hint=min(given + 1, STEPS))
    progress.save()


def plug(args) -> int:
    from minitransformer_course.judge import capstone
    from minitransformer_course.judge.capstone_report import (
        is_page,
        own_functions,
        proof_page,
        report,
    )
    from minitransformer_course.judge.plug import in_the_paper
    from minitransformer_course.judge.run_file import run_capstone

    places = in_the_paper()  # the exercises that have a place in it
    names, model = (
        [name for name in my_transformer.names_in(".") if name in places],
        Path(my_transformer.MODEL_FILE),
    )
    if not names and not model.exists():
        raise InputError(
            _(
                "nothing that passes so far has a place of its own in the model; these have: {names}"
            ).format(names=", ".join(places))
        )
    if Path(own_text.FILE).exists():  # what is wrong with it is said before any training
        for remark in own_text.own_text(own_text.FILE).remarks:
            print(remark, file=sys.stderr)
    result = run_capstone(Path(my_transformer.FILE), model, names, capstone.STEPS)
    print(report(result, names, places))
    if "errors" in result:
        page = Path(my_transformer.FILE).with_suffix(".html")
        page = page if is_page(page) else free_name(page)
        page.write_bytes(proof_page(result, names, places).encode())
        print(
            _("{path} shows this on the map of the model: open it in a browser").format(path=page)
        )
    done, progress = result.get("exact") == 1, Progress(".")
    if progress.short:
        have = [name for name in SHORT if name in names]
        print(
            _("the short path: {n} of {all} functions are yours").format(
                n=len(have), all=len(SHORT)
            )
        )
        progress.short = not done or len(have) < len(SHORT)
    if model.exists():
        own = len(own_functions(result, names))
        state = PASSED if done and own == len(my_transformer.FUNCTIONS) else NOT_YET
        progress.update(my_transformer.MODEL, state=state, own=own)
    progress.save()
    return 0 if done else NOT_DONE


def solution(args) -> int:
    progress = Progress(".")
    exercise = find_exercise(args.name)
    if progress.of(exercise.name)["state"] != PASSED:
        if not args.give_up:
            print(
                _(
                    "{name} does not pass yet. Ask for a hint: minitransformer learn hint {name}\n"
                    "To see the solution all the same: minitransformer learn solution {name} --give-up"
                ).format(name=exercise.name)
            )
            return NOT_DONE
        progress.update(exercise.name, gave_up=True)
        progress.save()
    derivation = [
        translated(cell.source) if is_text(cell.kind, cell.name) else cell.source
        for cell in exercise.chapter.derivation(exercise)
    ]
    print(plain("\n\n".join(derivation)) + "\n\n" + translated_code(exercise.source), end="")
    return 0


def grade(args) -> None:
    from minitransformer_course.judge.judge_file import grade as grade_folder, mistakes, table
    from minitransformer_course.limits import not_contained

    if args.seed < 0 or not 0 < args.timeout < 3600:
        raise InputError(_("expected --seed of 0 or more and --timeout between 0 and 3600 seconds"))
    print(not_contained(), file=sys.stderr, flush=True)  # before any of it runs
    students = grade_folder(args.folder, args.seed, args.timeout)
    if args.json:
        counted = [{"diagnosis": text, "students": n} for text, n in mistakes(students)]
        print(json.dumps({"students": students, "mistakes": counted}))
        return
    rows = table(students)
    if args.csv:
        with open(args.csv, "w", encoding="utf-8-sig", newline="") as file:  # as Excel wants it
            csv.writer(file).writerows(rows)
    widths = [max(columns(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(padded(cell, width) for cell, width in zip(row, widths)).rstrip())
    for text, n in mistakes(students):
        print(f"{n:4} x  {text}")
    for student in students:
        for error in student["errors"]:
            print(f"{student['student']}: {error}")
