"""Weights in files, and models to and from PyTorch."""
