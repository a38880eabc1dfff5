"""Weights in files, and models to and from PyTorch."""

from minitransformer.moved import say_new_names

__getattr__ = say_new_names(__name__, "interchange.pytorch")
