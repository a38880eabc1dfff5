"""The translations (LANGUAGE/*.po), and the tool that keeps them (catalogue.py)."""
