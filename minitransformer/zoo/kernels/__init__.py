"""Kernels of the zoo's functions, in the folders of their kinds, as in the library's kernels/."""
