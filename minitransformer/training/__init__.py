"""The training step, the loop around it, and the run folder it fills."""
