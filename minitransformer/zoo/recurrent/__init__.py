"""Recurrent networks, which read a sequence position by position, with and without attention."""
