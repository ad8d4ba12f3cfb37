"""The screen. It draws a report, and everything it needs of textual is imported by its modules."""

SMALLEST = (60, 20)
"""Columns and rows that the screen needs."""
