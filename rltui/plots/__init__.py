"""Text pictures of numbers: glyphs, numbers, sparklines, meters, charts. Pure functions; no textual, no rich."""
