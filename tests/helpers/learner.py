"""A learner's file."""

from minitransformer_course.judge.course import find_exercise


def solve(path, name, source=None):
    """Write the reference, or another source, over a blank function of a learner's file."""
    text = path.read_text(encoding="utf-8")
    start = text.rindex(f"def {name}(")
    end = text.index("# end of your code\n", start) + len("# end of your code\n")
    path.write_text(
        text[:start] + (source or find_exercise(name).source) + text[end:], encoding="utf-8"
    )
