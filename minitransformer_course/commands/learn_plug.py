"""`minitransformer learn plug`: the reader's functions at work in a model."""

from pathlib import Path

from minitransformer.errors import InputError
from minitransformer_course.commands.learn_targets import NOT_DONE, chapters_file, first_to_solve
from minitransformer_course.judge import my_transformer
from minitransformer_course.judge.course import exercises, find_exercise
from minitransformer_course.judge.learner_progress import NOT_YET, PASSED, Progress
from minitransformer_course.judge.messages import _


def plug(args) -> int:
    from minitransformer_course.judge.plug import STEPS as TRAINING_STEPS, in_the_paper, report
    from minitransformer_course.judge.run_file import run_plug

    if args.all:
        if args.name:
            raise InputError(_("--all plugs in all that passes; leave {name} out").format(name=args.name))
        return _plug_all(in_the_paper())
    exercise = find_exercise(args.name or first_to_solve(Progress(".")).name)
    if not exercise.plug:
        raise InputError(_("{name} has no place of its own in the model; these have: {names}").format(
            name=exercise.name, names=", ".join(one.name for one in exercises().values() if one.plug)))
    result = run_plug(chapters_file(exercise.chapter), [exercise.name], TRAINING_STEPS)
    print(report(result))
    if result.get("not_passed", True):
        print(_("Next:   minitransformer learn check {name}").format(name=exercise.name))
        return NOT_DONE
    print(_("Next:   minitransformer learn"))
    return 0


def _plug_all(places) -> int:
    """Prove and train a model of all that is the reader's own. places: the exercises that have a place in it."""
    from minitransformer_course.judge.capstone import STEPS as WHOLE_STEPS
    from minitransformer_course.judge.capstone_report import report
    from minitransformer_course.judge.run_file import run_capstone

    names, model = [name for name in my_transformer.names_in(".") if name in places], Path(my_transformer.MODEL_FILE)
    if not names and not model.exists():
        raise InputError(_("nothing that passes so far has a place of its own in the model; these have: {names}").format(
            names=", ".join(places)))
    result = run_capstone(Path(my_transformer.FILE), model, names, WHOLE_STEPS)
    print(report(result, names, places))
    done = result.get("exact") == 1
    if model.exists():
        progress, own = Progress("."), len(result["own"])
        state = PASSED if done and own == len(my_transformer.FUNCTIONS) else NOT_YET
        progress.update(my_transformer.MODEL, state=state, own=own)
        progress.save()
    return 0 if done else NOT_DONE
