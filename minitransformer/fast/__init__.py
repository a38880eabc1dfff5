"""Faster twins of functions in `functional/`: the same file and function names, the same results."""
