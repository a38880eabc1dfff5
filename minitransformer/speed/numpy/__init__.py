"""Kernels for NumPy: temporary arrays are reused, sums are products with a vector (BLAS), large
arrays go in blocks.
"""
