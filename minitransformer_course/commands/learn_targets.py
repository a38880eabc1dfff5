"""Which exercise, and which of the reader's files, an action of `minitransformer learn` applies to."""

from pathlib import Path

from minitransformer.errors import InputError
from minitransformer_course.judge import my_transformer
from minitransformer_course.judge.course import SHORT, exercises, find_chapter, find_exercise
from minitransformer_course.judge.exercise import Exercise
from minitransformer_course.judge.learner_progress import PASSED, learner_file, started
from minitransformer_course.messages import _

NOT_DONE = 1  # the exit code if something does not pass; 2, cannot be judged, is InputError's


def targets(args, progress) -> list[tuple[Path, list[str] | None]]:
    """[(file, names of exercises, or None for all in it)] to check."""
    if args.all:
        if args.target:
            raise InputError(
                _("--all checks all that you started; leave {target} out").format(
                    target=args.target
                )
            )
        _check_started()
        return _by_file([one for chapter, _path in started(".") for one in chapter.exercises])
    if args.target and Path(args.target).name == my_transformer.MODEL_FILE:
        raise InputError(
            _("{path} is a whole model: minitransformer learn plug proves it").format(
                path=args.target
            )
        )
    file_or_number = args.target if args.target not in exercises() else ""
    if file_or_number and (
        Path(file_or_number).suffix in (".py", ".ipynb") or Path(file_or_number).exists()
    ):
        return [(Path(file_or_number), None)]
    if file_or_number and file_or_number[0].isdecimal():
        chapter = find_chapter(file_or_number)
        chapters_file(chapter)
        if not chapter.exercises:
            raise InputError(
                _("{name} has no exercises; what comes next: minitransformer learn").format(
                    name=chapter.name
                )
            )
        return _by_file(chapter.exercises)
    return _by_file([find_exercise(args.target) if args.target else first_to_solve(progress)])


def _by_file(wanted) -> list[tuple[Path, list[str] | None]]:
    """[(file, names)] of these exercises."""
    found: dict[Path, list[str] | None] = {}
    for one in wanted:
        found.setdefault(chapters_file(one.chapter), []).append(one.name)  # type: ignore[union-attr]
    return list(found.items())


def chapters_file(chapter) -> Path:
    path = learner_file(".", chapter)
    if path is None:
        raise InputError(
            _("{name} was not started in this folder: minitransformer learn start {number}").format(
                name=chapter.name, number=chapter.number
            )
        )
    return path


def first_to_solve(progress) -> Exercise:
    """What a command applies to if no exercise is named. Raises InputError if nothing is left, or
    nothing was started.
    """
    _check_started()
    exercise = next_exercise(progress)
    if exercise is None and progress.short:
        raise InputError(
            _("every function of the short path passes; its end: minitransformer learn plug")
        )
    if exercise is None:
        raise InputError(
            _(
                "every exercise that you started passes; name one, or see what comes next: minitransformer learn"
            )
        )
    return exercise


def _check_started() -> None:
    if not any(chapter.exercises for chapter, _path in started(".")):
        raise InputError(
            _(
                "no exercise was started in this folder: minitransformer learn start {number}"
            ).format(number=1)
        )


def next_exercise(progress) -> Exercise | None:
    """The first exercise that does not pass, of the short path or of the chapters that were started;
    None if all do.
    """
    wanted = [one for chapter, _path in started(".") for one in chapter.exercises]
    if progress.short:
        wanted = [find_exercise(name) for name in SHORT]
    return next((one for one in wanted if progress.state(one) != PASSED), None)
