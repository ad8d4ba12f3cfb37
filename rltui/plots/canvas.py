"""The one place that talks to plotext: points and lines on a grid of dots in, cells of (character, role) out.

plotext keeps one global figure, so a call clears it, draws and clears it again under a lock. Roles travel through it
as colour numbers and are read back from the colours it writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Any

_LOCK = Lock()
_ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")

Cell = tuple[str, str]
BLANK: Cell = (" ", "")


@dataclass(frozen=True, slots=True)
class Layer:
    """Dots, or a line through them, in dot coordinates from the lower left; a later layer covers an earlier one."""

    xs: Sequence[int]
    ys: Sequence[int]
    role: str
    joined: bool
    marker: str  # "braille", or the one character to draw with


def dots(width: int, height: int, braille: bool) -> tuple[int, int]:
    """Dots across and up of a canvas of so many cells: two by four a cell in braille."""
    return (2 * width, 4 * height) if braille else (width, height)


def rasterise(layers: Sequence[Layer], width: int, height: int, braille: bool) -> list[list[Cell]]:
    """`height` rows of `width` cells, the top row first."""
    layers = [layer for layer in layers if len(layer.xs)]
    if not layers or width <= 0 or height <= 0:
        return [[BLANK] * width for _ in range(height)]
    plt: Any = import_module("plotext")  # late: only a chart needs it; untyped
    roles = sorted({layer.role for layer in layers})
    across, up = dots(width, height, braille)
    with _LOCK:
        plt.clear_figure()
        plt.theme("clear")  # no background: only what is drawn carries a colour
        plt.limit_size(False, False)
        plt.plotsize(width, height)
        plt.frame(False)
        plt.xticks([])
        plt.yticks([])
        # a range of one dot would have no length
        plt.xlim(0, max(1, across - 1))
        plt.ylim(0, max(1, up - 1))
        for layer in layers:
            draw = plt.plot if layer.joined else plt.scatter
            draw(list(layer.xs), list(layer.ys), marker=layer.marker, color=1 + roles.index(layer.role))
        text = plt.build()
        plt.clear_figure()
    rows = [_cells(line, roles, width) for line in text.split("\n")[:height]]
    return rows + [[BLANK] * width for _ in range(height - len(rows))]


def _cells(line: str, roles: Sequence[str], width: int) -> list[Cell]:
    """One written line back into cells: colour number n is role n - 1, no colour is blank."""
    cells: list[Cell] = []
    role = ""
    pieces = _ESCAPE.split(line)  # text, codes, text, codes, ...
    for i, piece in enumerate(pieces):
        if i % 2:
            codes = piece.split(";")
            if codes[:2] == ["38", "5"]:
                role = roles[int(codes[2]) - 1]
            elif piece in ("", "0"):
                role = ""
        else:
            cells += [(ch, role) if ch != " " else BLANK for ch in piece]
    return (cells + [BLANK] * width)[:width]
