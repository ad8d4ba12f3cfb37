"""Screens: which panes, where, and what their keys do."""
