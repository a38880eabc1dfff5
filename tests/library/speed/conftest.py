"""In these tests kernels run, as inside `with fast():`."""

from tests.helpers.kernels import with_kernels  # noqa: F401 - a fixture
