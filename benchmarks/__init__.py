"""Compare a training step of minitransformer with those of other libraries."""
