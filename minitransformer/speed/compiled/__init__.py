"""Kernels of plain loops, which Numba compiles: each number is read and written once, and no other
thread waits.
"""
