"""Training data: toy tasks, parallel text, vocabularies, batches."""
