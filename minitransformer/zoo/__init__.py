"""Models around the paper: what it is compared with, and what came after it."""
