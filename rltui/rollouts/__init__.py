"""Samples: their formats, their index, a step's groups, and the numbers of them."""
