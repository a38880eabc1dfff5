"""The training step: forward, loss, backward, Adam."""
