"""The explorer: one page that shows what a model computes, and every gradient of it, live."""
