"""Constituency trees: read, written as brackets with labels, scored and drawn."""
