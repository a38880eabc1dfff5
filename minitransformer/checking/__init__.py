"""The gradient checker, its report, and the doctor that names a proven mistake."""

from minitransformer.diagnosis.finding import Finding
from minitransformer.checking.gradcheck import gradcheck
from minitransformer.diagnosis.judge import Verdict, judge
from minitransformer.diagnosis.mistakes import mistake
from minitransformer.checking.own_layer import check_contract
from minitransformer.checking.report import BOUNDS, Report, Result
