"""Rollout dumps, with one small module for each format. Numbers of all samples are cheap; texts come one sample at a
time."""
