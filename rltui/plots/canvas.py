"""A canvas: turns points and lines on a grid of dots into cells of (character, role).

Dots are set array by array, because a chart must be drawn in a millisecond or two, between two key presses. A cell
belongs to the last layer that touches it. Plots that are only read, not moved through, are made by plotext
(`rltui.compare.plot`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_BRAILLE = 0x2800
_BITS = np.array([[0x40, 0x80], [0x04, 0x20], [0x02, 0x10], [0x01, 0x08]])  # dot of a cell: row from below, column

Cell = tuple[str, str]
BLANK: Cell = (" ", "")


class Layer(Struct, frozen=True):
    """Dots, or a line through them, in dot coordinates from the lower left. A later layer covers an earlier one."""

    xs: Ints
    ys: Ints
    role: str
    joined: bool
    marker: str  # "braille", or the one character to draw with


def dots(width: int, height: int, braille: bool) -> tuple[int, int]:
    """Dots across and up on a canvas of this many cells. A braille cell has two by four dots."""
    return (2 * width, 4 * height) if braille else (width, height)


def rasterise(layers: Sequence[Layer], width: int, height: int, braille: bool) -> list[list[Cell]]:
    """`height` rows of `width` cells, the top row first."""
    layers = [layer for layer in layers if len(layer.xs)]
    if not layers or width <= 0 or height <= 0:
        return [[BLANK] * width for _ in range(height)]
    dots_in, owner = _set(layers, width, height, braille)
    rows = []
    for masks, owners in zip(dots_in[::-1].tolist(), owner[::-1].tolist(), strict=True):
        cells: list[Cell] = []
        for mask, k in zip(masks, owners, strict=True):
            layer = layers[k]
            cells.append(BLANK if k < 0 else (chr(_BRAILLE + mask) if braille else layer.marker, layer.role))
        rows.append(cells)
    return rows


def _set(layers: Sequence[Layer], width: int, height: int, braille: bool) -> tuple[Ints, Ints]:
    """For each cell, lowest row first: the dots set in it, and the number of its layer (-1: none)."""
    dots_in = np.zeros((height, width), np.int64)
    owner = np.full((height, width), -1, np.int64)
    for k, layer in enumerate(layers):
        xs, ys = _joined(layer.xs, layer.ys) if layer.joined else (layer.xs, layer.ys)
        own = np.zeros((height, width), np.int64)
        if braille:
            np.bitwise_or.at(own, (ys // 4, xs // 2), _BITS[ys % 4, xs % 2])
        else:
            own[ys, xs] = 1
        hit = own > 0
        over = hit & (owner >= 0) & np.array([layer.joined and other.joined for other in layers] + [False])[owner]
        dots_in[hit] = own[hit] | np.where(over, dots_in, 0)[hit]  # lines keep each other's dots
        owner[hit] = k
    return dots_in, owner


def _joined(xs: Ints, ys: Ints) -> tuple[Ints, Ints]:
    """All dots of the lines from each point to the next."""
    steps = np.maximum(np.maximum(np.abs(np.diff(xs)), np.abs(np.diff(ys))), 1)
    start = np.repeat(np.arange(len(steps)), steps)
    share = (np.arange(len(start)) - np.repeat(np.cumsum(steps) - steps, steps)) / np.repeat(steps, steps)
    line_x = np.rint(xs[start] + share * np.diff(xs)[start]).astype(np.int64)
    line_y = np.rint(ys[start] + share * np.diff(ys)[start]).astype(np.int64)
    return np.append(line_x, xs[-1:]), np.append(line_y, ys[-1:])
