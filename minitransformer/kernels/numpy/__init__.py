"""Kernels for NumPy: temporaries are reused, sums are products with a vector (BLAS), large work goes by blocks."""
