"""A run: its folder, settings, checkpoints, log, the training loop and its report."""
