"""The screen as an SVG picture: one text for each row, one class for each style, so that the picture is small and its
text can be searched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.terminal_theme import MONOKAI

if TYPE_CHECKING:
    from rich.color import Color
    from rich.segment import Segment
    from rich.style import Style

    from rltui.tui.theme import Theme

CELL_W, CELL_H, FONT = 8.4, 18, 14
BASELINE = 14
MARGIN = 12
PLAIN_GROUND, PLAIN_INK = "#111316", "#ccd2db"
"""Used in place of the terminal's own colours."""
DIM = 0.62
WORDS = re.compile(r"\S+(?: \S+)*")
"""Text without two blanks in a row. SVG viewers draw several blanks as one, so each piece is placed by itself."""


def svg(rows: Sequence[Sequence[Segment]], width: int, theme: Theme, title: str) -> str:
    """The SVG of the `rows` of a screen that is `width` cells wide."""
    ground = PLAIN_GROUND if theme.ansi else theme.background
    classes: dict[str, str] = {}
    behind: list[str] = []
    lines: list[str] = []
    for y, row in enumerate(rows):
        parts: list[str] = []
        x = 0
        for style, group in groupby(row, key=lambda segment: segment.style):
            text = "".join(segment.text for segment in group)
            size = cell_len(text)
            ink, back = _colours(style, ground)
            if back != ground:
                behind.append(
                    f'<rect x="{_n(x * CELL_W)}" y="{y * CELL_H}" width="{_n(size * CELL_W)}" height="{CELL_H}" '
                    f'fill="{back}"/>'
                )
            look = _css(style, ink)
            for found in WORDS.finditer(text):
                words = found.group()
                name = classes.setdefault(look, f"s{len(classes)}")
                start = x + cell_len(text[: found.start()])
                length = _n(cell_len(words) * CELL_W)
                parts.append(
                    f'<tspan x="{_n(start * CELL_W)}" textLength="{length}" class="{name}">{escape(words)}</tspan>'
                )
            x += size
        if parts:
            lines.append(f'<text y="{y * CELL_H + BASELINE}">{"".join(parts)}</text>')
    wide, high = width * CELL_W + 2 * MARGIN, len(rows) * CELL_H + 2 * MARGIN
    css = "".join(f".{name}{{{look}}}" for look, name in classes.items())
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(wide)} {high}">',
            f"<title>{escape(title)}</title>",
            f"<style>text{{font:{FONT}px 'DejaVu Sans Mono',Menlo,Consolas,monospace}}{css}</style>",
            f'<rect width="100%" height="100%" rx="6" fill="{ground}"/>',
            f'<g transform="translate({MARGIN} {MARGIN})">',
            *behind,
            *lines,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _colours(style: Style | None, ground: str) -> tuple[str, str]:
    """Text colour and background colour, as hex."""
    ink = _hex(style.color, PLAIN_INK, True) if style else PLAIN_INK
    back = _hex(style.bgcolor, ground, False) if style else ground
    if style is not None and style.reverse:
        ink, back = back, ink
    return ink, back


def _hex(color: Color | None, default: str, foreground: bool) -> str:
    if color is None or color.is_default:
        return default
    return color.get_truecolor(MONOKAI, foreground).hex


def _css(style: Style | None, ink: str) -> str:
    look = f"fill:{ink}"
    if style is not None and style.bold:
        look += ";font-weight:bold"
    if style is not None and style.dim:
        look += f";opacity:{DIM}"
    return look
