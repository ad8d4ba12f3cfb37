"""Bars: a share of a whole, drawn to an eighth of a cell."""

from __future__ import annotations

from math import isfinite

from rltui.plots.glyphs import BLOCK, GlyphSet


def bar(share: float | None, width: int, glyphs: GlyphSet = BLOCK) -> str:
    """The filled part only, at most `width` cells; empty where the share is unknown or zero."""
    if share is None or not isfinite(share) or width <= 0:
        return ""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    if eighths == 0 and share > 0:
        eighths = 1  # something is told from nothing
    full, rest = divmod(eighths, 8)
    return glyphs.full * full + (glyphs.eighths[rest - 1] if rest else "")


def meter(share: float | None, width: int, glyphs: GlyphSet = BLOCK) -> tuple[str, str]:
    """(filled, track): two segments for two roles, together exactly `width` cells."""
    filled = bar(share, width, glyphs)
    return filled, glyphs.empty * max(0, width - len(filled))


def excess(share: float, usual: float | None, width: int, glyphs: GlyphSet = BLOCK) -> tuple[str, str]:
    """(usual part, excess) of one bar: only what exceeds the usual share is to be coloured."""
    whole = bar(share, width, glyphs)
    if usual is None or share <= usual:
        return whole, ""
    cut = min(len(whole), round(max(0.0, usual) * width))
    return whole[:cut], whole[cut:]
