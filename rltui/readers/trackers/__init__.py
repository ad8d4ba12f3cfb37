"""Trackers that keep runs in a database or a folder of files: trackio, MLflow, SwanLab."""
