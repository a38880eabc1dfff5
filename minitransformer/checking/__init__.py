"""The gradient checker and its report; diagnosis/ names the mistake if a check fails."""

from minitransformer.checking.gradcheck import gradcheck
from minitransformer.checking.own_layer import check_contract
from minitransformer.checking.report import BOUNDS, Report, Result
