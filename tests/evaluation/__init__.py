"""Measures of the diagnosis on runs whose truth is known."""
