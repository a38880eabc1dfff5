"""Kernels for NumPy."""
