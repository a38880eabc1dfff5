"""The gradient checker and its report; and, by name, the doctor and the judge, which stand on it (diagnosis/)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from minitransformer.checking.gradcheck import gradcheck
from minitransformer.checking.own_layer import check_contract
from minitransformer.checking.report import BOUNDS, Report, Result

if TYPE_CHECKING:
    from minitransformer.diagnosis.finding import Finding
    from minitransformer.diagnosis.judge import Verdict, judge
    from minitransformer.diagnosis.mistakes import mistake

_IN_DIAGNOSIS = {"Finding": "finding", "Verdict": "judge", "judge": "judge", "mistake": "mistakes"}


def __getattr__(name) -> Any:
    """Loaded when it is first asked for: those files import this package."""
    if name not in _IN_DIAGNOSIS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"minitransformer.diagnosis.{_IN_DIAGNOSIS[name]}"), name)
