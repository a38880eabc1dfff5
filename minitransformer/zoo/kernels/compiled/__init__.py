"""Loops that Numba compiles."""
