"""Measure training steps and beam search, alone and beside other libraries: `python -m
research.benchmarks`, in a clone.
"""
