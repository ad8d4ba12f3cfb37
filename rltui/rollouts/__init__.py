"""Samples: their formats, their index, the groups of a step, and statistics about them."""
