"""`minitransformer learn plug`: the reader's functions at work in a model."""

from pathlib import Path

from minitransformer.errors import InputError
from minitransformer.files import free_name
from minitransformer_course.commands.learn_targets import NOT_DONE
from minitransformer_course.judge import my_transformer
from minitransformer_course.judge.learner_progress import NOT_YET, PASSED, Progress
from minitransformer_course.judge.messages import _


def plug(args) -> int:
    """Prove and train a model of all that is the reader's own."""
    from minitransformer_course.judge.capstone import STEPS
    from minitransformer_course.judge.capstone_report import is_page, proof_page, report
    from minitransformer_course.judge.plug import in_the_paper
    from minitransformer_course.judge.run_file import run_capstone

    places = in_the_paper()    # the exercises that have a place in it
    names, model = [name for name in my_transformer.names_in(".") if name in places], Path(my_transformer.MODEL_FILE)
    if not names and not model.exists():
        raise InputError(_("nothing that passes so far has a place of its own in the model; these have: {names}").format(
            names=", ".join(places)))
    result = run_capstone(Path(my_transformer.FILE), model, names, STEPS)
    print(report(result, names, places))
    if "errors" in result:
        page = Path(my_transformer.FILE).with_suffix(".html")
        page = page if is_page(page) else free_name(page)
        page.write_bytes(proof_page(result, names, places).encode())
        print(_("{path} shows this on the map of the model: open it in a browser").format(path=page))
    done = result.get("exact") == 1
    if model.exists():
        progress, own = Progress("."), len(result["own"])
        state = PASSED if done and own == len(my_transformer.FUNCTIONS) else NOT_YET
        progress.update(my_transformer.MODEL, state=state, own=own)
        progress.save()
    return 0 if done else NOT_DONE
