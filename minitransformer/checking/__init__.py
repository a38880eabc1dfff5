"""The gradient checker and its report. If a check fails, the course's doctor names the mistake; it
never decides.
"""

from minitransformer.checking.gradcheck import gradcheck
from minitransformer.checking.report import BOUNDS, Report, Result
