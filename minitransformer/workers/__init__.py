"""What shares the work of a training step: threads of this process, and other processes."""
