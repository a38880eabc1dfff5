"""The gradient checker and its report."""

from minitransformer.checking.doctor import diagnose
from minitransformer.checking.gradcheck import gradcheck
from minitransformer.checking.report import BOUNDS, Report, Result
