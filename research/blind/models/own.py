"""All classes that users write, under one name."""

from own_blocks import *  # noqa: F403
from own_ends import *  # noqa: F403
from own_parts import *  # noqa: F403
