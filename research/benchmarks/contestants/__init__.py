"""What takes turns: each module makes the same training step, or the same search, with one library.
worker.py runs them.
"""
