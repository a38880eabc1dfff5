"""What the pages of the site run: a reader's file with its gradient checks, the cells of a chapter,
and a training run. None of it knows that it is in a browser.
"""

from minitransformer_course.live import stand_ins

stand_ins.install()  # before a page's own module imports the library's
