"""Twins for NumPy: temporaries are reused, sums are products with a vector (BLAS), large work goes by blocks."""

import minitransformer.functional    # which imports the twins: a twin imported first would import itself half made
