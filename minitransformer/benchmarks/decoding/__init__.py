"""Beam search of real sentences side by side with other libraries, which are given the same weights."""
