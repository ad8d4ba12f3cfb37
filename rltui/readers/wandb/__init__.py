"""Weights & Biases: the log on disk, and the history from the service."""
