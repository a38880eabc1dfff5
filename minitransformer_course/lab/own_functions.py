"""What a reader has written so far: on the map that opens every chapter, in the running example,
and as tests.
"""

import re
import runpy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from minitransformer.checking.compare import relative_error
from minitransformer.pictures.boxes import LEFT, Map
from minitransformer_course.judge import my_transformer
from minitransformer_course.judge.course import PARTS, exercises, find_chapter, find_exercise
from minitransformer_course.judge.fixtures import VersionUnderTest, verdict
from minitransformer_course.judge.learner_progress import PASSED, Progress
from minitransformer_course.messages import _, padded
from minitransformer_course.judge.plug import in_the_paper, plugs
from minitransformer_course.lab.example import CONFIG, drawkcab, write
from minitransformer_course.lab.inside import add_gradients
from minitransformer_course.lab.pictures import show_model

GAINS = {  # {exercise: what the reader's model does once it passes}, after "Now your model"
    "linear_backward": "learns the weights of its linear layers",
    "numeric_gradient": "has a check for each of its gradients",
    "embedding_backward": "reads tokens and learns a vector for each",
    "sinusoids": "knows the order of its tokens",
    "softmax_backward": "turns scores into weights and learns through them",
    "attention": "lets each token look at the others",
    "attention_backward": "learns where to look",
    "next_block": "could attend to a long text without a table of all pairs",
    "causal_mask": "writes without a look at what comes next",
    "three_masks": "ignores padding",
    "merge_heads": "looks at several places at once, one for each head",
    "residual_backward": "passes its gradient around each sub-layer",
    "layer_norm_backward": "keeps its numbers in range, however deep it is",
    "feed_forward_backward": "works on each token alone, between two attentions",
    "dropouts_backward": "trains with dropout",
    "post_norm_backward": "has a whole sub-layer, with its gradient",
    "decoder_layer": "has a decoder that reads the encoder's memory",
    "memory_backward": "sends the gradient of every decoder layer into the encoder",
    "shared_backward": "learns one matrix from all three of its uses",
    "cross_entropy_backward": "has a loss, from which all gradients begin",
    "smoothed_targets": "is never asked to be certain",
    "adam_step": "moves each weight by a step of its own size",
    "clip": "survives a gradient that is far too long",
    "schedule": "warms up before it learns fast",
    "nucleus": "samples from the likely tokens only",
    "beam_step": "keeps several answers in mind while it writes",
    "ranked": "chooses between a short answer and a long one",
    "cached_step": "writes a token without computing the others again",
    "bits_per_character": "has a score on text that needs no reference",
    "copied": "can be asked how much of its text is new",
    "accuracies": "has an accuracy per token and one per sentence",
    "corpus_bleu": "is compared with other translators by BLEU",
    "merged": "cuts a rare word into subwords",
    "may_follow": "does not repeat itself for ever",
    "rms_norm": "can normalise without a mean, as SmolLM2 does",
    "rotary": "can turn its queries and keys instead of adding positions",
    "swiglu": "can gate its feed-forward network",
    "grouped_attention": "can share keys and values between heads, for a smaller cache",
    "prefix_score": "can be searched for heads that look something up",
    "lens": "says what it would write after each of its layers",
    "difference_backward": "tells with one backward what each of its heads has carried",
    "lora_backward": "learns a new task with a hundredth of its weights",
    "answer_targets": "learns from answers and not from questions",
    "reinforce_backward": "learns from a number that says how good its text was",
}


def you_are_here(*parts, shapes=True) -> None:
    """Draw the map with this chapter's parts outlined, and those filled whose exercises pass in the
    current folder.
    """
    progress = Progress(".")
    own = [
        part
        for part, names in PARTS.items()
        if all(progress.of(name)["state"] == PASSED for name in names)
    ]
    show_model(here=parts, own=own, shape=lambda box: box.shape if shapes else "")


def figure_1(filled=None) -> None:
    """Draw figure 1 with a name in each place whose shape is asked for; filled: {name: shape}, to
    be written there.
    """
    boxes = Map(CONFIG).boxes
    asked = {
        "memory": [box for box in boxes if (box.kind, box.x) == ("layer_norm", LEFT)][-1],
        **dict(zip(("query", "key"), [box for box in boxes if box.kind == "split"])),
        **{
            name: next(box for box in boxes if box.kind == kind)
            for name, kind in (
                ("scores", "scores"),
                ("answers", "weighted_sum"),
                ("merged", "merge"),
                ("logits", "output"),
            )
        },
    }
    texts = {
        box: f"{name} = ?" if filled is None else f"({', '.join(map(str, filled[name]))})"
        for name, box in asked.items()
    }
    texts |= {
        box: re.sub(r"^(\w+ =|.*?,.*?,) ", r"\1\n", text)
        for box, text in texts.items()
        if box.kind == "split"
    }  # narrow
    show_model(CONFIG, shape=lambda box: texts.get(box, ""))


def run_yours(chapter, word="backward") -> None:
    """Let the functions of the folder's my_transformer.py write a word backwards; compare their
    gradients with the library's.

    Before that, say which of them are this chapter's, and what the reader's model can do with them.
    """
    mine = my_transformer.names_in(".")
    new = [one.name for one in find_chapter(chapter).exercises if one.name in mine]
    model, vocabulary = drawkcab()
    model = model.astype("float64")
    expected = _gradients(model, vocabulary, word)
    with own_functions() as names:
        written, found = write(model, vocabulary, word), _gradients(model, vocabulary, word)
    print(f"{word} -> {written}")
    print(
        _("{n} of {all} functions are yours").format(n=len(mine), all=len(exercises()))
        + (_("; new in this chapter: {names}").format(names=", ".join(new)) if new else "")
    )
    gained = [_(GAINS[name]) for name in new if name in GAINS]
    if gained:
        print(_("Now your model {gains}.").format(gains=_("; it ").join(gained)))
    if names:
        print(
            _(
                "{n} of your functions ran in this model; the gradients of all parameters differ from the library's by {error:.0e}"
            ).format(n=len(names), error=relative_error(found, expected))
        )


@contextmanager
def own_functions() -> Iterator[list[str]]:
    """Within the block, the functions of the folder's my_transformer.py run in place of the
    library's; yields their names.
    """
    names = [name for name in my_transformer.names_in(".") if name in in_the_paper()]
    made = runpy.run_path(str(Path(my_transformer.FILE))) if names else {}
    with plugs({name: made[name] for name in names}):
        yield names


def own(name) -> Callable:
    """The function of that name of the folder's my_transformer.py, or the exercise's reference;
    says which of the two it is.
    """
    mine = name in my_transformer.names_in(".")
    print(f"{name}: {_('yours') if mine else _('the reference, until yours passes')}")
    return (
        runpy.run_path(str(Path(my_transformer.FILE)))[name]
        if mine
        else find_exercise(name).reference
    )


def verdicts(test) -> None:
    """Print whether each version of the exercise of the test's name passes it."""
    for one in find_exercise(test.__name__).versions:
        said = (
            _("passes")
            if np.ravel(verdict(test)(VersionUnderTest(one.function)))[0]
            else _("fails")
        )
        print(f"{padded(said, 6)}  {_(one.sentence)}")


def _gradients(model, vocabulary, word) -> list[np.ndarray]:
    """An array for each parameter."""
    model.zero_grad()
    add_gradients(model, vocabulary, word)
    return [parameter.grad.copy() for parameter in model.parameters().values()]
