"""Pretrained models: which architectures are known, in which files they are found, and how they
become a run.
"""
