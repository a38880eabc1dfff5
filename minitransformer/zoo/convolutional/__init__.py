"""Convolutions over time, which see a window of positions at a time."""
