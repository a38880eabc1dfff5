"""Other kinds of attention: additive, without the scale, restricted to a neighbourhood."""
