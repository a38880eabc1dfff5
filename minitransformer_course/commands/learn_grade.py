"""`minitransformer learn grade`: a folder of submissions, for a teacher."""

import json
import sys

from minitransformer.errors import InputError
from minitransformer_course.judge.messages import _, columns, padded


def grade(args) -> None:
    from minitransformer_course.judge.grade import grade as grade_folder, mistakes, table
    from minitransformer_course.judge.limits import not_contained

    if args.seed < 0 or not 0 < args.timeout < 3600:
        raise InputError(_("expected --seed of 0 or more and --timeout between 0 and 3600 seconds"))
    print(not_contained(), file=sys.stderr, flush=True)    # before any of it runs
    students = grade_folder(args.folder, args.seed, args.timeout)
    if args.json:
        counted = [{"diagnosis": text, "students": n} for text, n in mistakes(students)]
        print(json.dumps({"students": students, "mistakes": counted}))
        return
    rows = table(students)
    widths = [max(columns(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(padded(cell, width) for cell, width in zip(row, widths)).rstrip())
    for text, n in mistakes(students):
        print(f"{n:4} x  {text}")
    for student in students:
        for error in student["errors"]:
            print(f"{student['student']}: {error}")
