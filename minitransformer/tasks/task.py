"""What a task is: the interface that training, evaluation, the run folder, the report and the
command use.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from minitransformer.data.vocabularies.vocabulary import Vocabulary
from minitransformer.decoding import GREEDY
from minitransformer.decoding.translation import Search
from minitransformer.errors import InputError
from minitransformer.tables import check_settings, setting

if TYPE_CHECKING:
    from minitransformer.runs.config import TrainingConfig
    from minitransformer.runs.run import Run

EXAMPLES = 8  # texts in a run's report
LIMITS = {
    "batch": (1, 1_000_000),
    "max_length": (1, 10**9),
    "vocab_size": (1, 1_000_000),
    "window": (1, 100_000),
}


class Data(NamedTuple):
    """The data that a run is trained and measured on; the same at the start and when the run
    resumes.
    """

    batches: Any  # an endless iterator with a `position`
    valid: list  # batches for the validation loss
    # measure(model) -> {name: number}: the quality of its own outputs on the validation data
    measure: Any
    examples: list  # a few pairs (text, expected answer) for the report


class Attended(NamedTuple):
    """One kind of attention while the model reads a text, as a task provides it."""

    weights: Any  # (B, H, T_q, T_k) of each layer
    queries: list  # tokens as text
    keys: list
    # for each query the token predicted at its position; None for an encoder, which predicts
    # nothing
    predicted: Any = None


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task. Its fields are its settings: checked in __post_init__ and stored in the run folder;
    each `setting` is an option.
    """

    name: ClassVar[str]  # in TASKS
    description: ClassVar[str]  # its line in the help
    model: ClassVar[str] = "transformer"  # a name in MODELS
    models: ClassVar[tuple] = ()  # names in MODELS to choose from; (): there is no other
    # the command that uses its model: translate, generate, classify
    command: ClassVar[str] = "translate"
    search: ClassVar = GREEDY  # the default search for outputs
    defaults: ClassVar[
        dict
    ] = {}  # {option of train: value} if it differs from the option's own default
    presets: ClassVar[dict] = {}  # {name: such a dict}
    evaluate_options: ClassVar[tuple] = ()  # the options of evaluate that apply to it

    batch: int = setting("examples in a batch", 64)

    def __post_init__(self) -> None:
        check_settings(self, LIMITS)

    @classmethod
    def add_arguments(cls, parser: ArgumentParser) -> None:
        """Add the options that are not a `setting` of this task to the parser of `train TASK`."""

    def settings(self) -> dict[str, Any]:
        """{name: value}: what the run folder keeps."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.compare}

    def sizes(self) -> dict[str, int]:
        """{name: size} of those settings whose product is the least number of tokens in a batch."""
        return {}

    def begin(self) -> "Task":
        """The task as a new run stores it: a task that reads files adds their checksums."""
        return self

    def read(self, places: Any) -> "Task":
        """The task of an opened run, which has read its files, wherever they are by now."""
        return self

    def make_vocabulary(self) -> Any:
        raise NotImplementedError

    def remarks(self, vocabulary: Vocabulary) -> list[str]:
        """Lines to say when a run begins: what was found in the files, if it may not be what was
        meant.
        """
        return []

    def model_sizes(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """{field of the model's configuration: value} for the fields that follow from the task."""
        raise NotImplementedError

    def data(self, vocabulary: Vocabulary, training: "TrainingConfig") -> Data:
        """The Data; `training` is the run's TrainingConfig. Raises InputError if a file has
        changed.
        """
        raise NotImplementedError

    def answer(self, run: "Run", texts: Sequence[str], search: Search | None = None) -> list[str]:
        """The model's output text for each of `texts`; `search`: a Search other than the default.

        Raises InputError for a search if the task does not use one.
        """
        raise NotImplementedError

    def check_no_search(self, search: Search | None) -> None:
        """Raise InputError for a Search: this task does not search for its outputs."""
        if search is not None:
            raise InputError(
                f"the task {self.name} does not search for its outputs; leave `search` out"
            )

    def evaluate(self, run: "Run", search: Search | None, **options: Any) -> dict[str, Any]:
        """{name: value} of everything that is measured; `options` are the given ones among
        evaluate_options.
        """
        raise NotImplementedError

    def attention(self, run: "Run", text: str) -> dict[str, Attended]:
        """{kind: Attended} for a text and a model that has attention_weights, the default kind
        first.
        """
        return {}

    def summary(self, run: "Run") -> str | None:
        """One line of results for the end of a training run; None if there is no quick measure."""
        return None
