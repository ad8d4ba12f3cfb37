"""The screen, which draws a report. Its modules import everything that they need from textual."""

SMALLEST = (60, 20)
"""Columns and rows that the screen needs."""
