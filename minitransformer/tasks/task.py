"""What a task is: all that training, evaluation, the run folder, the report and the command ask of one."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from minitransformer.attention_map import Attended
from minitransformer.decoding import GREEDY
from minitransformer.errors import InputError
from minitransformer.tables import ShownAsTable

MAX_BATCH = 1_000_000


class Data(NamedTuple):
    """What a run is trained on and measured by: the same at its start and when it resumes."""

    batches: Any    # an endless iterator with a `position`
    valid: list     # batches for the validation loss
    measure: Any    # measure(model) -> {name: number}: how good its own outputs on the validation data are
    examples: list  # a few pairs (text, expected answer) for the report


@dataclass(frozen=True, kw_only=True)
class Task(ShownAsTable):
    """A task with its settings, the fields: they are typed, checked in __post_init__ and kept by the run folder."""

    name: ClassVar[str]                     # in TASKS
    description: ClassVar[str]              # of the one line in the help
    model: ClassVar[str] = "transformer"    # a name in MODELS
    command: ClassVar[str] = "translate"    # what uses its model: minitransformer translate, generate or classify
    search: ClassVar = GREEDY               # how outputs are usually looked for
    defaults: ClassVar[dict] = {}           # {option of train: value} where it differs from the option's own default
    presets: ClassVar[dict] = {}            # {name: such a dict}
    evaluate_options: ClassVar[tuple] = ()  # options of evaluate that mean something for it
    batch_unit: ClassVar[str] = "examples"

    batch: int = 64                         # in units of batch_unit

    def __post_init__(self) -> None:
        self.check_whole("batch", 1, MAX_BATCH)

    def check_whole(self, name, least, most) -> None:
        """Raise InputError unless a field is a whole number from `least` to `most`."""
        value = getattr(self, name)
        if type(value) is not int or not least <= value <= most:
            raise InputError(f"{name} is {value!r}, expected {least} to {most:,}")

    @classmethod
    def add_arguments(cls, parser, option) -> None:
        """Give the parser of `train TASK` this task's own options; option(field, type, help) adds a usual one."""

    def begin(self) -> "Task":
        """The task as a new run keeps it: one that reads files adds their checksums."""
        return self

    def make_vocabulary(self) -> Any:
        raise NotImplementedError

    def model_sizes(self, vocabulary) -> dict[str, Any]:
        """{field of the model's configuration: value} that follow from the task."""
        raise NotImplementedError

    def data(self, vocabulary, training) -> Data:
        """The Data; `training` is the run's TrainingConfig. Raises InputError where a file has changed."""
        raise NotImplementedError

    def answer(self, run, texts, search=None) -> list[str]:
        """The model's output text for each of `texts`; `search`: a Search other than the usual one.

        Raises InputError for a search where the task has none.
        """
        raise NotImplementedError

    def check_no_search(self, search) -> None:
        """Raise InputError for a Search: the outputs of this task are not searched for."""
        if search is not None:
            raise InputError(f"the task {self.name} does not search for its outputs; leave `search` out")

    def evaluate(self, run, search, **options) -> dict[str, Any]:
        """{name: value} of all that is measured; `options` are those of evaluate_options that were given."""
        raise NotImplementedError

    def attention(self, run, text) -> dict[str, Attended]:
        """{kind: an attention_map.Attended} for a text and a model that has attention_weights, the usual kind first."""
        return {}

    def summary(self, run) -> str | None:
        """One line for the end of a training run; None where there is nothing quick to say."""
        return None

    def test_pairs(self, files) -> list[tuple[str, str]]:
        """[(source, reference)] to decode in a benchmark: files, or the task's own. Raises InputError where it has none."""
        raise InputError(f"the task {self.name} has no text to decode; this needs a translation run")
