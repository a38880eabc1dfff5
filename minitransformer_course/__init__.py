"""The course: judge, doctor, lab and explorer. It imports the library; the library never imports
it.
"""

from minitransformer_course.judge import check, yours
