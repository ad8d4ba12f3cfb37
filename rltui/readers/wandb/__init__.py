"""Weights & Biases: the log on disk, and the history of the service."""
