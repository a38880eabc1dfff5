"""Curves, attention maps and other figures."""
