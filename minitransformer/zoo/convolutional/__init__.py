"""Convolutional networks, which see a window of positions at a time."""
