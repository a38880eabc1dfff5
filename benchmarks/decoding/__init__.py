"""Compare beam search on real sentences with other libraries that have the same weights."""
