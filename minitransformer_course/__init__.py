"""The course: judge, doctor, lab, explorer and live pages. It imports the library, which never
imports it.
"""

from minitransformer_course.judge import check, yours
