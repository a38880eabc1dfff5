"""Changes of a statement, each of which is run."""

import ast
from functools import partial

from minitransformer_course.diagnosis.changes import changes, of_statement


def test_what_a_comprehension_runs_over_is_not_changed():
    """range(n * n), of n = 3,000 and with k**i for each i, ran for hours."""
    (line,) = ast.parse("layers = sum(k**i < n for i in range(n))").body
    made = of_statement(line, partial(changes, names=["k", "n"], means={}))
    texts = [ast.unparse(one.node) for one in made]
    assert "layers = sum((k ** i < k for i in range(n)))" in texts
    assert all("for i in range(n)" in text for text in texts)
