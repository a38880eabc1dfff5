"""Weights as files, of this library and of PyTorch."""
