"""Constituency parsing (section 6.3 of the paper): a task, a vocabulary and a corpus that are not
part of the package.
"""
