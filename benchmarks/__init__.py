"""Measure training steps and beam search, alone and beside other libraries: `python -m benchmarks`, in a clone."""
