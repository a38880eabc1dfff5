"""A training step of minitransformer side by side with those of other libraries."""
