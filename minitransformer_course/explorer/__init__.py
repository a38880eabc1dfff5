"""The explorer: one page that shows what a model computes and the gradient of every number in it,
live.
"""

from minitransformer_course.explorer.page import explore
