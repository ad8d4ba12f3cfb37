"""Rollout dumps: one small module a format. A dump gives all its numbers cheaply and its texts one sample at a time."""
