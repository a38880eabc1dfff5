"""What `learn plug` says of the reader's whole model, in a few lines."""

from minitransformer_course.judge.capstone import BOUND, UNSEEN
from minitransformer_course.judge.messages import _
from minitransformer_course.judge.my_transformer import FILE, FUNCTIONS, MODEL_FILE


def report(result, names, places) -> str:
    """What `learn plug` prints. names: the exercises whose functions ran; places: all that have a place in the model."""
    if "error" in result:
        said, line = result["error"]
        return _("it stopped: {error}").format(error=f"{line}: {said}" if line else said)
    errors = result["errors"]
    in_training = result.get("train") and _("train: {what}").format(what=result["train"])
    same = _("the same as tutorials/one_file.py in {n} arrays, the largest error is {error:.0e}").format(
        n=len(errors), error=max(errors.values()))
    lines = [_wrong(result) or in_training or same]
    if result["not_passed"]:
        lines.append(_("these do not pass their checks: {names}").format(names=", ".join(result["not_passed"])))
    if "exact" in result:
        trained = _("after {steps:,} steps, {exact:.1%} of {n} words that it never saw are right, as in {word} -> {written}")
        word, written = result["example"]
        lines.append(trained.format(steps=result["steps"], exact=result["exact"], n=UNSEEN, word=word, written=written))
    for have, all_, where in ((names, places, FILE), (result["own"], FUNCTIONS, MODEL_FILE)):
        missing = [name for name in all_ if name not in have and (all_ is FUNCTIONS or len(result["own"]) < len(FUNCTIONS))]
        lines.append(_("{file}: {n} of {all} parts are yours").format(file=where, n=len(have), all=len(all_))
                     + (_("; the library's: {names}").format(names=", ".join(missing)) if missing else ""))
    if not result["own"]:
        lines.append(_("write its six functions to make them yours; the blank file:  minitransformer learn start my_model"))
    return "\n".join(lines)


def _wrong(result) -> str:
    """The first thing that is wrong, in the order of computation; "" if nothing is."""
    errors = result["errors"]
    wrong = [name for name, error in errors.items() if error > BOUND]
    if not wrong:
        return ""
    first, error = wrong[0], errors[wrong[0]]
    off = (_("is missing, has another shape, or is not finite") if error == float("inf")
           else _("is off by {error:.1e}").format(error=error))
    if first == "greedy":
        return _("greedy writes other tokens than tutorials/one_file.py")
    if first in ("logits", "loss", "dlogits", "adam_step"):
        said = _("{name} {off}, compared with tutorials/one_file.py").format(name=first, off=off)
        return "; ".join(filter(None, [said, _forward(result["first_wrong"]) if first == "logits" else result.get("likely")]))
    before = [name for name in list(errors)[:list(errors).index(first)] if not name.endswith("key.bias")][-1]    # 0 in any case
    said = _("backward: the gradient of {name} {off}; {before}, one step nearer to the loss, is right").format(
        name=first, off=off, before=before)
    return said + (_("; the matrix is used in three places, and each use adds to its gradient") if "embedding" in first else "")


def _forward(layer) -> str:
    """Where in the forward to look. layer: what `first_wrong` says."""
    if not layer:
        return _("with every sub-layer adding 0 it is wrong too: look at the embedding, the positions, LayerNorm and the logits")
    return _("with every sub-layer adding 0 it is right; turned on one by one, {layer} is the first to make it wrong").format(
        layer=layer)
