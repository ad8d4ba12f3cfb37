"""Numbers as text: glyphs, number formats, sparklines, meters, charts. Pure functions; no textual, no rich."""
